#pragma once
//! @file
//! One measurement for several cells. A whole run of the report's algorithm takes minutes and times
//! all its kernels at once, while each kernel is a cell, a process of its own.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace retable::experiments::forests {

//! What `make` measures, or what a cell of the same run of the program measured before under this
//! identity. A cell takes each measurement once: asked again (--rounds, --budget) it makes a new
//! one, so that one measurement never counts as two samples. The last measurement is kept under
//! shared/ of the data cache, for the run that made it alone; where that cannot be written nothing
//! is shared. Processes that ask at once wait for the first. @param cell its name among those that
//! share
nlohmann::json SharedRun(const nlohmann::json& identity, const std::string& cell,
                         const std::function<nlohmann::json()>& make);

}  // namespace retable::experiments::forests

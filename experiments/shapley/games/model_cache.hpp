#pragma once
//! @file
//! Trained models are kept under models/ of the data cache, so that the cells of an experiment,
//! which are processes of their own, train each of them once.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace retable::experiments {

//! What was kept under this identity, or what `make` makes, which is kept. `identity` says
//! everything that fixes the result: data, settings, and the program's sources; a file of other
//! sources is made anew in place. A folder that cannot be written keeps nothing. Processes that ask
//! for the same wait for the first.
nlohmann::json KeptModel(const nlohmann::json& identity, const std::string& sources,
                         const std::function<nlohmann::json()>& make);

}  // namespace retable::experiments

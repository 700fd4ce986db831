#pragma once
//! @file
//! `retable datasets list|fetch|verify|path|mirror`.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::datasets {

//! Runs one command; `args` start with the verb. Results go to `out`, progress and errors to `err`.
//! @return 0 done; 1 wrong usage; 2 some data set failed or is not to be had
int DatasetsMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

//! The help text.
std::string DatasetsHelp();

}  // namespace retable::datasets

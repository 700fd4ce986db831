#pragma once
//! @file
//! `retable forest fit|predict`: train a forest on ARFF, CSV, a NumPy array or a catalogued data
//! set, keep it as JSON or in the compact form, and use it.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::experiments::forests {

//! Runs one command; `args` start with the verb. Results go to `out`, progress and errors to `err`.
//! @return 0 done; 1 wrong usage; 2 it failed
int ForestMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace retable::experiments::forests

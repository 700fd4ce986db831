#pragma once
//! @file
//! `retable coalitions`: the game of explaining one row, as a table of all coalitions with the
//! exact Shapley values, for other programs to be measured on.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::experiments {

//! @return 0 done; 1 wrong usage; 2 it failed
int CoalitionsMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace retable::experiments

#pragma once
//! @file
//! `retable permutations`: any sampler's permutations as CSV, for functions of permutations other
//! than Shapley values too, with their discrepancy.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::experiments {

//! @return 0 done; 1 wrong usage; 2 it failed
int PermutationsMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace retable::experiments

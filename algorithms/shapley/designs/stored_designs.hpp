#pragma once
//! @file
//! Fold-over designs that were descended once and for all, for the sizes of the discrepancy table:
//! drawing one is a relabelling. Text of designs/designs.inc, written by write_designs.py.

#include <cstdint>
#include <vector>

namespace retable::shapley {

//! The n / 2 base orders of the stored design of n permutations of d players, row-major; empty
//! where none is stored. The other half are their reverses.
std::vector<std::int32_t> StoredDesign(std::size_t n, int d);

}  // namespace retable::shapley

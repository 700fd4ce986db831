#pragma once
//! @file
//! Shufflers with a known fault, to find out what a test can see. Each fault was shipped somewhere.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/shuffle/quality/statistics.hpp"

namespace retable::shuffle {

//! A way to draw an order of n from a seed.
struct OrderSource {
  std::string name;
  std::string fault;  //!< empty when none is known
  std::function<Permutation(std::uint32_t n, std::uint64_t seed)> draw;
};

//! Sattolo (cyclic orders only), naive swaps with any place, the LCG, VariablePhilox with few
//! rounds and at the paper's 24 (even orders only at powers of two), cycle walking, a stable sort
//! by short keys, modulo bias, and a swap index that is always 0; and without fault Fisher-Yates
//! and the methods of this family.
std::vector<OrderSource> OrderSources();

}  // namespace retable::shuffle

#pragma once
//! @file
//! Fisher and Yates' shuffle in place: item i swaps with a uniform one of the i + 1 so far.
//! Exactly uniform for ideal bits; O(n), sequential. Source: Knuth, TAOCP 2, algorithm 3.4.2P.

#include <cstdint>
#include <utility>

#include "algorithms/shuffle/philox/engine.hpp"

namespace retable::shuffle {

template <class Item>
void FisherYates(Item* items, std::uint64_t n, PhiloxEngine& random) {
  for (std::uint64_t i = 1; i < n; ++i) std::swap(items[i], items[random.Below(i + 1)]);
}

}  // namespace retable::shuffle

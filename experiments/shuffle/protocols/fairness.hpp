#pragma once
//! @file
//! What the battery says of a shuffler: the quality beside its speed.

#include <cstdint>
#include <string>

#include "algorithms/shuffle/shuffler.hpp"

namespace retable::experiments {

struct Fairness {
  double p = 1;        //!< the smallest of all tests, corrected for their number
  std::string lowest;  //!< the test that gave it: "parity, n = 64"
};

//! Draws `orders` orders of 5 items (all 120 are counted) and as many of 64 (a power of two) from
//! successive seeds and tests them. O(orders).
Fairness JudgeOrders(shuffle::Shuffler& shuffler, std::uint64_t orders, std::uint64_t seed);

}  // namespace retable::experiments

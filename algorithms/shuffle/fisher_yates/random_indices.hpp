#pragma once
//! @file
//! The targets of Fisher and Yates' swaps, many at a time.
//!
//! Problem: in the cache a swap takes less than a nanosecond, and what draws its target takes more.
//! Approach: four xoshiro256++ generators side by side in one vector give two targets each a step.
//! A target below `bound` is the high half of a 32-bit word times bound; where the low half is
//! below 2^32 mod bound another word takes its place, so that all targets are equally likely given
//! ideal bits. Time O(1) a target. Sources: Blackman, Vigna, "Scrambled linear pseudorandom number
//! generators", ACM TOMS 47(4), 2021; Lemire, "Fast random integer generation in an interval", ACM
//! TOMACS 29(1), 2019.

#include <cstdint>

#include "algorithms/common/philox.hpp"

namespace retable::shuffle {

class RandomIndices {
 public:
  static constexpr std::uint32_t kCount = 128;  //!< a call draws; 512 bytes stay in the cache

  //! Starts sub-stream `stream` of a key; the same indices on every machine.
  RandomIndices(const Philox4x32& random, std::uint64_t stream);

  //! index[k] is uniform on [0, bound - k) for k < min(bound, kCount), nothing of use above.
  void Draw(std::uint32_t bound, std::uint32_t index[kCount]);

 private:
  static constexpr int kLanes = 4;

  Philox4x32 random_;
  std::uint64_t stream_;
  std::uint64_t redrawn_ = 0;
  alignas(32) std::uint64_t state_[4][kLanes];
};

}  // namespace retable::shuffle

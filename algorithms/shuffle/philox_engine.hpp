#pragma once
//! @file
//! A C++ uniform random bit generator over counter-based bits, for the sequential methods: block
//! after block of one sub-stream of a seed. Any number of engines over different streams are
//! independent.

#include <cstdint>
#include <limits>

#include "algorithms/common/philox.hpp"

namespace retable::shuffle {

class PhiloxEngine {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  PhiloxEngine(std::uint64_t seed, std::uint64_t stream)
      : random_(Philox4x32::FromSeed(seed)), stream_(stream) {}

  result_type operator()() {
    if (have_second_) {
      have_second_ = false;
      return second_;
    }
    const PhiloxBlock block = random_.Block(index_++, stream_);
    second_ = block.half(1);
    have_second_ = true;
    return block.half(0);
  }

  //! An integer in [0, bound), exactly uniform: the multiplication with rejection of Lemire 2019.
  std::uint64_t Below(std::uint64_t bound) {
    std::uint64_t bits = (*this)();
    if (bits * bound < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (bits * bound < threshold) bits = (*this)();
    }
    return MultiplyHigh64(bits, bound);
  }

 private:
  Philox4x32 random_;
  std::uint64_t stream_;
  std::uint64_t index_ = 0;
  std::uint64_t second_ = 0;
  bool have_second_ = false;
};

}  // namespace retable::shuffle

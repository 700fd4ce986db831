#pragma once
//! @file
//! A C++ uniform random bit generator over counter-based bits, for the sequential methods: block
//! after block of one sub-stream of a seed. Any number of engines over different streams are
//! independent.

#include <cstdint>
#include <limits>

#include "algorithms/common/bulk_random.hpp"
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
    if (next_ == have_) Refill();
    return values_[next_++];
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
  // The first blocks one by one, so that a short use stays cheap; then 32 at a time.
  void Refill() {
    next_ = 0;
    if (index_ < 32) {
      const PhiloxBlock block = random_.Block(index_++, stream_);
      values_[0] = block.half(0);
      values_[1] = block.half(1);
      have_ = 2;
      return;
    }
    std::uint32_t words[128];
    FillBlocks<32>(random_, index_, stream_, words);
    for (int l = 0; l < 32; ++l) {
      values_[2 * l] = PhiloxBlock{{words[l], words[32 + l], 0, 0}}.half(0);
      values_[2 * l + 1] = PhiloxBlock{{words[64 + l], words[96 + l], 0, 0}}.half(0);
    }
    index_ += 32;
    have_ = 64;
  }

  Philox4x32 random_;
  std::uint64_t stream_;
  std::uint64_t index_ = 0;
  std::uint64_t values_[64];
  int next_ = 0, have_ = 0;
};

}  // namespace retable::shuffle

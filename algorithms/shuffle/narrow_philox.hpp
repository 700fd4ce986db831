#pragma once
//! @file
//! VariablePhilox and its mended form as a GPU evaluates them: fewer instructions, the same values.
//!
//! Where every other value is evaluated in vain (n = 2^k + 1), the rounds are what a shuffle costs
//! beyond its gather. Here both halves lie at the top of their words, so that cutting a product to
//! its width is free and whatever is below the halves does no harm; the number of rounds and
//! whether the width is odd are known at compile time. A round is two multiplications and two
//! logical instructions; in an odd width, where one bit of the wider right half moves from its top
//! to its end, one of each more. As the cipher is written down (bijection.hpp) it is two and five.
//! Widths of 8 to 32 bits. Memory: none.

#include <cstdint>

#include "algorithms/shuffle/bijection.hpp"

namespace retable::shuffle {

template <int kRounds, bool kOdd>
struct NarrowPhilox {
  std::uint32_t add = 0, mask = 0;
  std::uint32_t left_bits = 0, unused_bits = 0;  //!< of the left half; of a word, by both
  std::uint32_t key[kRounds] = {};

  NarrowPhilox() = default;
  //! Of a cipher of kRounds rounds, its width odd or even as kOdd says, after the addition of
  //! `added`.
  explicit NarrowPhilox(const VariablePhilox& cipher, std::uint64_t added = 0)
      : add(static_cast<std::uint32_t>(added)),
        mask(~0u << (32 - cipher.left_bits)),
        left_bits(cipher.left_bits),
        unused_bits(32 - cipher.left_bits - cipher.right_bits) {
    for (int r = 0; r < kRounds; ++r) key[r] = cipher.key[r] << (32 - cipher.left_bits);
  }

  //! x below the size of the domain.
  RETABLE_HD std::uint32_t operator()(std::uint32_t x) const {
    constexpr std::uint32_t kLow = 0xB1CE6E93u, kHigh = 0xD2B74407u;
    const std::uint32_t sum = x + add;
    std::uint32_t left = (sum << unused_bits) & mask;
    std::uint32_t right = sum << (32 - left_bits);  // but for the top bit of an odd width's,
    std::uint32_t top = sum << (31 - left_bits);    // which is this word's
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int r = 0; r < kRounds; ++r) {
      const std::uint64_t product = static_cast<std::uint64_t>(kLow) * left;
      const std::uint32_t high = static_cast<std::uint32_t>(product >> 32) + kHigh * left;
      const std::uint32_t low = static_cast<std::uint32_t>(product);
      left = (high ^ right ^ key[r]) & mask;
      right = kOdd ? 2 * low + (top >> (left_bits - 1)) : low;
      top = low;
    }
    const std::uint32_t bits = right >> (32 - left_bits);
    return (left >> unused_bits) | (kOdd ? bits | ((top >> 31) << left_bits) : bits);
  }
};

}  // namespace retable::shuffle

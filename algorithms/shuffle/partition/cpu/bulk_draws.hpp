#pragma once
//! @file
//! Random words of the partition shuffle in bulk for the CPU: whole groups at a time, in loops
//! which the compiler turns into vector code.

#include <algorithm>
#include <cstdint>

#include "algorithms/shuffle/partition/partition.hpp"

namespace retable::shuffle {

//! Digits of slots [256 group, 256 group + 256) of a sub-stream, of {0..digits-1}, in slot order;
//! digits < 2^16.
void FillDigits(const Philox4x32& random, std::uint64_t stream, std::uint64_t group,
                std::uint32_t digits, std::uint16_t digit[256]);

//! The swap words of bins 4 block[l] + w of an in-memory bucket at words[32 w + l], for any 32
//! blocks.
void FillSwapBlocks(const Philox4x32& random, std::uint64_t bucket, const std::uint32_t block[32],
                    std::uint32_t words[128]);

//! Calls visit(slot, digit) for the slots [begin, end) of a sub-stream; begin is a multiple of 256.
template <class Visit>
void ForEachDigit(const Philox4x32& random, std::uint64_t stream, std::uint32_t digits,
                  std::uint64_t begin, std::uint64_t end, Visit&& visit) {
  alignas(64) std::uint16_t digit[256];
  for (std::uint64_t s = begin; s < end; s += 256) {
    FillDigits(random, stream, s >> 8, digits, digit);
    const std::uint64_t count = std::min<std::uint64_t>(256, end - s);
    for (std::uint64_t k = 0; k < count; ++k) visit(s + k, digit[k]);
  }
}

}  // namespace retable::shuffle

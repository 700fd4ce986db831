#pragma once
//! @file
//! Random words of the partition shuffle in bulk for the CPU: whole groups at a time, in slot
//! order, in loops which the compiler turns into vector code.

#include <cstdint>

#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

//! Digits of slots [256 group, 256 group + 256) of a sub-stream, of {0..digits-1}.
void FillDigits(const Philox4x32& random, std::uint64_t stream, std::uint64_t group,
                std::uint32_t digits, std::uint16_t digit[256]);

//! The swap words of bins [128 group, 128 group + 128) of a leaf.
void FillSwapWords(const Philox4x32& random, std::uint64_t leaf, std::uint32_t group,
                   std::uint32_t words[128]);

//! The orders of 128 bins, bin b at start[b] .. start[b + 1]: of those with up to eight slots the
//! nibbles of SmallOrders, where places past the bin keep their own number, and what is left of the
//! word. Nothing useful for larger ones.
void FillSmallOrders(const std::uint32_t words[128], const std::uint32_t start[129],
                     std::uint32_t left[128], std::uint32_t orders[128]);

}  // namespace retable::shuffle

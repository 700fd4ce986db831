#pragma once
//! @file
//! Random words of the partition shuffle in bulk for the CPU: whole groups at a time, in slot
//! order, in loops which the compiler turns into vector code.

#include <cstdint>

#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

//! Digits of slots [8192 group, 8192 group + 8192) of a sub-stream, reduced to `bits`.
void FillDigits(const Philox4x32& random, std::uint64_t stream, std::uint64_t group, int bits,
                std::uint16_t digits[8192]);
//! Leaf keys of slots [128 group, 128 group + 128) of a leaf.
void FillLeafKeys(const Philox4x32& random, std::uint64_t leaf, std::uint32_t group,
                  std::uint32_t keys[128]);

}  // namespace retable::shuffle

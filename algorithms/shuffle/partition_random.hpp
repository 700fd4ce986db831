#pragma once
//! @file
//! Random words of the partition shuffle in bulk for the CPU: whole groups at a time, in slot
//! order, in loops which the compiler turns into vector code.

#include <cstdint>

#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

//! First digits of slots [8192 group, 8192 group + 8192), reduced to `bits`.
void FillFirstDigits(const Philox4x32& random, std::uint64_t group, int bits,
                     std::uint16_t digits[8192]);
//! Second digits of slots [256 group, 256 group + 256) of a bucket.
void FillSecondDigits(const Philox4x32& random, std::uint64_t bucket, std::uint32_t group, int bits,
                      std::uint16_t digits[256]);
//! Leaf keys of slots [128 group, 128 group + 128) of a leaf.
void FillLeafKeys(const Philox4x32& random, std::uint64_t leaf, std::uint32_t group,
                  std::uint32_t keys[128]);

}  // namespace retable::shuffle

#pragma once
//! @file
//! The index of the random gather: cheap, and random enough that no cache line is read twice soon.

#include <cstdint>
#include <stdexcept>
#include <string>

#include "algorithms/common/philox.hpp"
#include "algorithms/shuffle/items.hpp"

namespace retable::shuffle {

//! j -> a hash of j folded into [0, n) by multiplication: two multiplications a value.
struct GatherIndex {
  std::uint64_t n = 1;
  std::uint32_t key = 0;

  RETABLE_HD std::uint64_t operator()(std::uint64_t j) const {
    std::uint32_t h = static_cast<std::uint32_t>(j) ^ key;
    h *= 0x85EBCA6Bu;
    h ^= h >> 15;
    h *= 0xC2B2AE35u;
    return (static_cast<std::uint64_t>(h) * n) >> 32;
  }
};

//! @throws std::invalid_argument for n > 2^32: the hash has 32 bits.
inline GatherIndex MakeGatherIndex(std::uint64_t n, std::uint64_t seed) {
  if (n > std::uint64_t{1} << 32) {
    throw std::invalid_argument("the random gather takes up to 2^32 items, not " +
                                std::to_string(n));
  }
  return {n, Philox4x32::FromSeed(seed).Block(0, 0).word[0]};
}

}  // namespace retable::shuffle

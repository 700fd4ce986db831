#pragma once
//! @file
//! Words compared and their differing bits counted, as fast as the processor can: what methods that
//! hold relations as bits do (distances of permutations).

#include <cstddef>
#include <cstdint>

namespace retable {

struct BitCounter {
  const char* name;  //!< "AVX-512 VPOPCNTDQ", "popcnt", "portable"
  //! Differing bits of two arrays of words.
  std::int64_t (*count)(const std::uint64_t* a, const std::uint64_t* b, std::size_t words);
};

//! Chosen by what the processor says it has.
const BitCounter& BestBitCounter();

}  // namespace retable

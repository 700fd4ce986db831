#pragma once
//! @file
//! Philox blocks 8 or 32 at a time, by the processor's widest multiplications.

#include <cstdint>

#include "algorithms/common/philox.hpp"

namespace retable {

//! Blocks of kCount (8 or 32) indices, given by their low words and the one high word, of a
//! sub-stream: word w of block l at words[kCount w + l].
template <int kCount>
void FillBlocksOf(const Philox4x32& random, const std::uint32_t* low, std::uint32_t high,
                  std::uint64_t stream, std::uint32_t* words);

//! Blocks first, ..., first + kCount - 1. `first` is a multiple of kCount.
template <int kCount>
void FillBlocks(const Philox4x32& random, std::uint64_t first, std::uint64_t stream,
                std::uint32_t* words) {
  std::uint32_t low[kCount];
  for (std::uint32_t l = 0; l < kCount; ++l) low[l] = static_cast<std::uint32_t>(first) + l;
  FillBlocksOf<kCount>(random, low, static_cast<std::uint32_t>(first >> 32), stream, words);
}

}  // namespace retable

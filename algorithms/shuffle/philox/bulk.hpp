#pragma once
//! @file
//! Philox blocks 32 at a time, by the processor's widest multiplications.

#include <cstdint>

#include "algorithms/common/philox.hpp"

namespace retable::shuffle {

//! Blocks first, ..., first + 31 of a sub-stream: word w of block l at words[32 w + l]. `first` is
//! a multiple of 32.
void FillBlocks32(const Philox4x32& random, std::uint64_t first, std::uint64_t stream,
                  std::uint32_t words[128]);

//! The same of any 32 blocks, given by the low words of their indices and the one high word.
void FillBlocksOf(const Philox4x32& random, const std::uint32_t low[32], std::uint32_t high,
                  std::uint64_t stream, std::uint32_t words[128]);

}  // namespace retable::shuffle

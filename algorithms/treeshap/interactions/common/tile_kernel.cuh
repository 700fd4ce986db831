#pragma once
//! @file
//! What the kernels of both forms of interaction values (interactions/ancestor/kernel.cu,
//! interactions/derivative/kernel.cu) share: waiting for parts below, lists and sets of categories,
//! and the shape of a launch.

#include <algorithm>
#include <cstdint>

#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

inline constexpr std::size_t kMultiprocessorBytes = 227 * 1024;
inline constexpr std::uint32_t kMostWarps = 8;  //!< of a block

//! A number of a list that is packed into groups of four.
__device__ __forceinline__ std::uint32_t Listed(const Float4* list, std::uint32_t i) {
  return reinterpret_cast<const std::uint32_t*>(list)[i];
}

//! Whether a value is of the set at an offset, which begins with its number of words and whether it
//! has all other categories.
__device__ __forceinline__ bool InCategories(const std::uint32_t* sets, std::uint32_t offset,
                                             float value) {
  const std::uint32_t head = __ldg(sets + offset);
  if (!(value >= 0) || value >= static_cast<float>((head & 0x7fffffffu) * 32)) {
    return (head >> 31) != 0;
  }
  const auto category = static_cast<std::uint32_t>(value);
  return ((__ldg(sets + offset + 1 + category / 32) >> (category % 32)) & 1u) != 0;
}

//! How many parts have ended, with what they wrote.
__device__ __forceinline__ std::uint32_t Acquired(const std::uint32_t* at) {
  std::uint32_t value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

__device__ __forceinline__ void ReleaseOne(std::uint32_t* at) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
}

struct PartShape {
  std::uint32_t warps = 1;   //!< of a block
  std::uint32_t slots = 0;   //!< of the stack, in shared memory
  std::size_t resident = 0;  //!< warps on a multiprocessor
};

//! The shape that puts most of at most `most` warps on a multiprocessor; bytes(warps) of a block.
template <class Bytes>
PartShape MostResident(std::uint32_t most, Bytes bytes) {
  PartShape best;
  for (std::uint32_t warps = 1; warps <= std::min(most, kMostWarps); ++warps) {
    const std::size_t blocks = kMultiprocessorBytes / (bytes(warps) + 1024);
    // Blocks that do not end in a short one.
    const std::size_t used = blocks * most * warps / ((most + warps - 1) / warps * warps);
    if (used > best.resident) best = {warps, 0, used};
  }
  return best;
}

}  // namespace retable::treeshap

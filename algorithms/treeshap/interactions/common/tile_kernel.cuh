#pragma once
//! @file
//! Common to the kernels of both forms of interaction values (interactions/ancestor/kernel.cu,
//! interactions/derivative/kernel.cu): waiting for tiles below, lists, and the shape of a block.

#include <algorithm>
#include <cstdint>

#include "algorithms/treeshap/interactions/common/tuning.hpp"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"
#include "base/cuda/memory.hpp"

namespace retable::treeshap {

//! Number i of a list that is packed into groups of four.
__device__ __forceinline__ std::uint32_t Listed(const Float4* list, std::uint32_t i) {
  return reinterpret_cast<const std::uint32_t*>(list)[i];
}

//! The number of tiles that have ended; what they wrote is visible.
__device__ __forceinline__ std::uint32_t Acquired(const std::uint32_t* at) {
  std::uint32_t value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

__device__ __forceinline__ void ReleaseOne(std::uint32_t* at) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
}

struct BlockShape {
  std::uint32_t warps = 1;         //!< warps of a block
  std::uint32_t shared_slots = 0;  //!< stack slots in shared memory
  std::size_t resident = 0;        //!< warps on a multiprocessor
};

//! The shape with most resident warps, of at most `most`, on a multiprocessor with `limit` bytes of
//! shared memory; a block takes bytes(warps).
template <class Bytes>
BlockShape MostResident(std::uint32_t most, std::size_t limit, Bytes bytes) {
  BlockShape found;
  for (std::uint32_t warps = 1; warps <= std::min(most, tuning::kMostWarps); ++warps) {
    const std::size_t blocks = limit / (bytes(warps) + 1024);
    // Counts no idle warps of a last, short block.
    const std::size_t used = blocks * most * warps / ((most + warps - 1) / warps * warps);
    if (used > found.resident) found = {warps, 0, used};
  }
  return found;
}

//! Launches as many blocks as are resident, or fewer that suffice; no result depends on it.
template <class Launch>
void LaunchTiles(void (*kernel)(Launch), const Launch& launch, std::uint32_t warps,
                 std::size_t bytes, cudaStream_t stream) {
  AllowSharedMemory(kernel, bytes);
  const std::uint32_t row_blocks = (launch.rows.stride / 32 + warps - 1) / warps;
  const int resident = BlocksOnMultiprocessor(kernel, static_cast<int>(32 * warps), bytes);
  const auto blocks = static_cast<std::uint32_t>(resident * MultiprocessorCount());
  kernel<<<std::min(launch.tape.tile_count * row_blocks, blocks), 32 * warps, bytes, stream>>>(
      launch);
  CheckCuda(cudaGetLastError(), "interaction kernel");
}

}  // namespace retable::treeshap

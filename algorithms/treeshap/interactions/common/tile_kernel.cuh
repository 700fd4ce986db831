#pragma once
//! @file
//! Common to the kernels of both forms of interaction values (interactions/ancestor/kernel.cu,
//! interactions/derivative/kernel.cu): their arguments, waiting for tiles below, lists, and the
//! shape of a block.

#include <algorithm>
#include <cstdint>

#include "algorithms/treeshap/interactions/common/tuning.hpp"
#include "algorithms/treeshap/quadrature/tape/format.hpp"
#include "base/cuda/memory.hpp"

namespace retable::treeshap {

//! Arguments of a tile kernel.
template <class Tile, class Sizes>
struct TileLaunch {
  bool general = true;  //!< missing values or categories
  struct Tape {
    const Tile* tiles = nullptr;
    std::uint32_t tile_count = 0;
    Sizes sizes;
    const Float4* words = nullptr;
    const std::uint32_t* sets = nullptr;
  } tape;
  struct Rows {
    const float* x = nullptr;  //!< features x stride
    std::uint32_t stride = 0;  //!< padded row count: a multiple of 32
    float scale = 1;           //!< fixed-point units in one
  } rows;
  struct Output {
    unsigned long long* sums = nullptr;  //!< the tape set's sums x stride, fixed point
    //! What tiles leave for those above. Ancestor form: K, tiles x points x stride. Derivative
    //! form: vectors x stride / 32 x 32 points.
    float* below = nullptr;
    //! Zero before: the next ticket, then for each tile and block of rows the number of tiles
    //! below that have ended; 1 + tiles x stride / 32.
    std::uint32_t* progress = nullptr;
  } output;
};

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

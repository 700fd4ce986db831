#pragma once
//! @file
//! The bijective shuffle in one pass where most values are dropped: fusion 3, beyond the paper.
//!
//! Problem: blocks that look back (fusion 2) wait for a chain of reads through as many tiles as are
//! under way, several round trips of a memory that their own random loads keep busy; more than half
//! of a block's life. Approach: one block does nothing but sum. It reads the counts of the next 256
//! tiles, takes those that have come, and tells each tile its place, which a tile reads when its
//! items are on their way. That is one round trip for all, and one word to wait for. Valid values
//! are brought together in shared memory first, so that loads and stores are of whole warps and as
//! many as there are items.

#include <cstdint>

#include "algorithms/shuffle/bijective_kernels.cuh"

namespace retable::shuffle {

//! Domains up to this size are 32 tiles, which one look back sees at once: there fusion 2 is taken,
//! which needs no second round trip.
inline constexpr std::uint64_t kLookBackDomain = 32 * kBijectThreads;

//! By one block, which must be started before all others: sums the tiles' counts in their order, as
//! far as they have come, and tells each tile how many values lie before it.
template <int kWarps>
__device__ void SumCounts(const LookBack& counts, const LookBack& places, std::uint32_t tiles) {
  __shared__ std::uint32_t totals[kWarps], runs[kWarps];
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  std::uint32_t first = 0, before_all = 0;
  while (first < tiles) {
    const std::uint32_t tile = first + threadIdx.x;
    std::uint64_t count = 0;
    const bool come = tile < tiles && counts.Read(tile, count) != 0;
    const std::uint32_t missing = ~__ballot_sync(0xFFFFFFFFu, come);
    const std::uint32_t run = missing == 0 ? 32 : __ffs(static_cast<int>(missing)) - 1;
    const std::uint32_t own = lane < run ? static_cast<std::uint32_t>(count) : 0;
    std::uint32_t sum = own;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const std::uint32_t other = __shfl_up_sync(0xFFFFFFFFu, sum, d);
      if (lane >= d) sum += other;
    }
    if (lane == 31) {
      totals[warp] = sum;
      runs[warp] = run;
    }
    __syncthreads();
    std::uint32_t before = 0, taken = 0;
    bool whole = true, reached = false;  // no count is missing so far; up to this warp
#pragma unroll
    for (std::uint32_t w = 0; w < kWarps; ++w) {
      if (w == warp) {
        before = before_all;
        reached = whole;
      }
      if (whole) {
        before_all += totals[w];
        taken += runs[w];
      }
      whole = whole && runs[w] == 32;
    }
    if (reached && lane < run) places.Publish(tile, 1, before + sum - own);
    first += taken;
    __syncthreads();
  }
}

//! Values a thread, and blocks an SM for which registers are kept free: short tiles and many of
//! them, so that a few always have their loads under way.
inline constexpr int kSummedEach = 4, kSummedBlocks = 8;

//! One block more than tiles; all tiles lie within the domain of F, which is at most 2^31.
template <int kEach, class F, class Item>
__global__ void __launch_bounds__(kBijectThreads, kSummedBlocks)
    ShuffleSummed(const Item* __restrict__ in, Item* __restrict__ out, std::uint32_t n,
                  const __grid_constant__ LookBack counts, const __grid_constant__ LookBack places,
                  const __grid_constant__ F f) {
  constexpr int kWarps = kBijectThreads / 32;
  if (blockIdx.x == 0) return SumCounts<kWarps>(counts, places, gridDim.x - 1);
  __shared__ std::uint32_t warps[kWarps];
  __shared__ std::uint32_t index[kBijectThreads * kEach];
  __shared__ std::uint32_t tile_place;
  const std::uint32_t tile = blockIdx.x - 1, thread = threadIdx.x, lane = thread & 31;
  const std::uint32_t first = (tile * kBijectThreads + (thread & ~31u)) * kEach + lane;
  std::uint32_t source[kEach], valid[kEach], count = 0, total;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    source[e] = static_cast<std::uint32_t>(f(first + e * 32));
    valid[e] = __ballot_sync(0xFFFFFFFFu, source[e] < n);
    count += __popc(valid[e]);
  }
  std::uint32_t place = WarpsBefore(count, warps, total);
  if (thread == 0) counts.Publish(tile, 1, total);
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if (source[e] < n) index[place + __popc(valid[e] & ((1u << lane) - 1))] = source[e];
    place += __popc(valid[e]);
  }
  __syncthreads();
  Item value[kEach];
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint32_t at = e * kBijectThreads + thread;
    if (at < total) value[e] = in[index[at]];
  }
  if (thread == 0) {
    std::uint64_t before = 0;
    while (places.Read(tile, before) == 0) {
    }
    tile_place = static_cast<std::uint32_t>(before);
  }
  __syncthreads();
  out += tile_place;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint32_t at = e * kBijectThreads + thread;
    if (at < total) out[at] = value[e];
  }
}

}  // namespace retable::shuffle

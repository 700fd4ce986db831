#pragma once
//! @file
//! First pass of the partition shuffle on the GPU: count digits, scan, scatter stably.
//!
//! The input is cut into ranges, one a block, and ranges into tiles that fit in shared memory.
//! Counting recomputes digits and reads no data. Scattering sorts a tile by digit in shared memory
//! and writes runs: the place of a slot within its (tile, digit) run comes from a shared atomic
//! counter, in whatever order the threads come; rows of 1024 slots are separated by barriers, so
//! only slots of one row can stand in the wrong order, and each then looks at its few neighbours of
//! the same row and digit to find its true place. That makes the result a stable partition, the
//! same on any grid, without a match between lanes. The next tile is loaded by the copy engine
//! while digits of this one are computed. Bytes an item: sizeof(Item) read, sizeof(Item) written. A
//! block of 1024 threads an SM.

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

//! Ranges are divided once more for counting, so that two blocks an SM count.
inline constexpr std::uint32_t kCountParts = 2;
inline constexpr std::uint32_t kGroup =
    8192;  //!< slots whose digits one block of threads computes at once

struct ScatterShape {
  std::uint64_t n;
  std::uint32_t ranges;  //!< blocks of the scatter
  std::uint32_t tiles_a_range;
  std::uint32_t tile;  //!< slots a tile: kGroup or 2 kGroup
  std::int32_t bits;   //!< of the first digit
};

//! counts[part][digit] of the digits in each part of each range.
__global__ void __launch_bounds__(1024)
    CountDigits(Philox4x32 random, ScatterShape shape, std::uint32_t* counts) {
  extern __shared__ std::uint32_t count[];
  const std::uint32_t digits = 1u << shape.bits;
  for (std::uint32_t d = threadIdx.x; d < digits; d += 1024) count[d] = 0;
  __syncthreads();
  const std::uint64_t part = std::uint64_t{shape.tiles_a_range} * shape.tile / kCountParts;
  const std::uint64_t begin = blockIdx.x * part;
  const std::uint64_t end = begin + part < shape.n ? begin + part : shape.n;
  // A part is a multiple of half a tile, so a tile of one group is cut within a group: rows decide.
  for (std::uint64_t g = begin / kGroup; g * kGroup < end; ++g) {
    const PhiloxBlock block = FirstDigitBlock(random, g, threadIdx.x);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::uint64_t i = g * kGroup + j * 1024 + threadIdx.x;
      if (i >= begin && i < end) atomicAdd(&count[Digit(block, j, shape.bits)], 1u);
    }
  }
  __syncthreads();
  for (std::uint32_t d = threadIdx.x; d < digits; d += 1024) {
    counts[std::uint64_t{blockIdx.x} * digits + d] = count[d];
  }
}

//! Turns the counts of each digit into exclusive sums over the parts, and gives each digit's total.
//! A block of 32 x 32 threads does 32 digits.
__global__ void __launch_bounds__(1024) ScanParts(std::uint32_t* counts, std::uint32_t parts,
                                                  std::uint32_t digits, std::uint32_t* totals) {
  __shared__ std::uint32_t sums[32][33];
  const std::uint32_t lane = threadIdx.x & 31, slice = threadIdx.x >> 5;
  const std::uint32_t digit = blockIdx.x * 32 + lane;
  const std::uint32_t each = (parts + 31) / 32;
  const std::uint32_t first = slice * each;
  const std::uint32_t last = first + each < parts ? first + each : parts;
  std::uint32_t sum = 0;
  if (digit < digits) {
#pragma unroll 4
    for (std::uint32_t p = first; p < last; ++p) sum += counts[std::uint64_t{p} * digits + digit];
  }
  sums[slice][lane] = sum;
  __syncthreads();
  std::uint32_t running = 0;
  for (std::uint32_t s = 0; s < slice; ++s) running += sums[s][lane];
  if (digit >= digits) return;
  if (slice == 31) totals[digit] = running + sum;
#pragma unroll 4
  for (std::uint32_t p = first; p < last; ++p) {
    std::uint32_t& count = counts[std::uint64_t{p} * digits + digit];
    const std::uint32_t own = count;
    count = running;
    running += own;
  }
}

//! Starts of the buckets: exclusive sum of the totals, starts[digits] = n. One block.
__global__ void __launch_bounds__(1024)
    ScanTotals(const std::uint32_t* totals, std::uint32_t digits, std::uint32_t* starts) {
  __shared__ std::uint32_t warps[33];
  const std::uint32_t each = (digits + 1023) / 1024;
  const std::uint32_t first = threadIdx.x * each;
  std::uint32_t sum = 0;
  for (std::uint32_t d = first; d < first + each && d < digits; ++d) sum += totals[d];
  std::uint32_t running = ExclusiveSum1024(sum, warps);
  for (std::uint32_t d = first; d < first + each && d < digits; ++d) {
    starts[d] = running;
    running += totals[d];
  }
  if (threadIdx.x == 1023) starts[digits] = warps[32];
}

//! Bytes of shared memory of ScatterTiles.
template <class Item>
constexpr std::size_t ScatterBytes(std::uint32_t tile, int bits) {
  return 256 + tile * sizeof(Item) + 32 + (tile + 8) * 4 + (std::size_t{1} << bits) * 6 + 16;
}

//! Scatters every tile of a range. kGroups = tile / kGroup. kIota: the items are their own indices
//! and nothing is read.
template <class Item, int kGroups, bool kIota>
__global__ void __launch_bounds__(1024, 1)
    ScatterTiles(Philox4x32 random, ScatterShape shape, const Item* __restrict__ in,
                 Item* __restrict__ out, const std::uint32_t* __restrict__ parts,
                 const std::uint32_t* __restrict__ starts) {
  constexpr std::uint32_t kTile = kGroups * kGroup;
  constexpr int kRows = kGroups * 8;
  constexpr int kMaxOwn = 8;  // digits a thread accounts for: 2^13 / 1024
  extern __shared__ __align__(128) unsigned char shared[];
  auto* warps = reinterpret_cast<std::uint32_t*>(shared);  // 33 words
  auto* barrier = reinterpret_cast<std::uint64_t*>(shared + 192);
  auto* items = reinterpret_cast<Item*>(shared + 256);
  auto* order =
      reinterpret_cast<std::uint32_t*>(shared + 256 + (kIota ? 0 : kTile * sizeof(Item) + 32)) +
      4;  // order[-1..tile]
  const std::uint32_t digits = 1u << shape.bits;
  auto* target = order + kTile + 4;  // place of slot 0 of each digit
  auto* count = target + digits;     // two digits a word

  const std::uint32_t own =
      digits >= 2048 ? digits / 1024 : 2;  // consecutive digits of a thread, even
  const std::uint32_t own_first = threadIdx.x * own;
  const bool has_own = own_first < digits;
  std::uint32_t place[kMaxOwn];
  if (has_own) {
    const std::uint64_t row = std::uint64_t{blockIdx.x} * kCountParts * digits;
#pragma unroll
    for (int d = 0; d < kMaxOwn; ++d) {
      if (d < own) place[d] = starts[own_first + d] + parts[row + own_first + d];
    }
  }
  BulkLoad<Item> load{barrier};
  if (!kIota) load.Init();
  for (std::uint32_t w = threadIdx.x; w < digits / 2; w += 1024) count[w] = 0;
  if (threadIdx.x == 0) order[-1] = 0xFFFFFFFFu;
  __syncthreads();

  const std::uint64_t range_begin = std::uint64_t{blockIdx.x} * shape.tiles_a_range * kTile;
  const auto slots = [&](std::uint64_t begin) {
    return begin >= shape.n
               ? 0u
               : static_cast<std::uint32_t>(shape.n - begin < kTile ? shape.n - begin : kTile);
  };
  if (!kIota && slots(range_begin) > 0) load.Start(in + range_begin, slots(range_begin), items);

  for (std::uint32_t t = 0; t < shape.tiles_a_range; ++t) {
    const std::uint64_t begin = range_begin + std::uint64_t{t} * kTile;
    const std::uint32_t m = slots(begin);
    if (m == 0) break;

    // Count. A slot's arrival number within its digit; rows are kept in order by the barriers.
    std::uint32_t arrived[kRows];  // digit in the high half, arrival number in the low
#pragma unroll
    for (int h = 0; h < kGroups; ++h) {
      const PhiloxBlock block = FirstDigitBlock(random, begin / kGroup + h, threadIdx.x);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int r = h * 8 + j;
        const std::uint32_t digit = Digit(block, j, shape.bits);
        arrived[r] = digit << 16;
        if (r * 1024 + threadIdx.x < m) {
          const std::uint32_t half = (digit & 1) * 16;
          arrived[r] |= (atomicAdd(&count[digit >> 1], 1u << half) >> half) & 0xFFFFu;
        }
        __syncthreads();
      }
    }
    // Scan: counts become places in the tile, and each digit learns where its run goes.
    std::uint32_t sum = 0;
    std::uint32_t words[kMaxOwn / 2];
    if (has_own) {
#pragma unroll
      for (int w = 0; w < kMaxOwn / 2; ++w) {
        if (2 * w < own) {
          words[w] = count[own_first / 2 + w];
          sum += (words[w] & 0xFFFFu) + (words[w] >> 16);
        }
      }
    }
    std::uint32_t running = ExclusiveSum1024(sum, warps);
    if (has_own) {
#pragma unroll
      for (int w = 0; w < kMaxOwn / 2; ++w) {
        if (2 * w < own) {
          const std::uint32_t low = words[w] & 0xFFFFu, high = words[w] >> 16;
          count[own_first / 2 + w] = running | ((running + low) << 16);
          target[own_first + 2 * w] = place[2 * w] - running;
          target[own_first + 2 * w + 1] = place[2 * w + 1] - running - low;
          place[2 * w] += low;
          place[2 * w + 1] += high;
          running += low + high;
        }
      }
    }
    if (threadIdx.x == 0) order[m] = 0xFFFFFFFFu;
    __syncthreads();
    // Order: slots by digit, nearly stable.
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::uint32_t slot = r * 1024 + threadIdx.x;
      if (slot < m) {
        const std::uint32_t digit = arrived[r] >> 16;
        const std::uint32_t first = (count[digit >> 1] >> ((digit & 1) * 16)) & 0xFFFFu;
        order[first + (arrived[r] & 0xFFFFu)] = (digit << 15) | slot;
      }
    }
    __syncthreads();
    for (std::uint32_t w = threadIdx.x; w < digits / 2; w += 1024) count[w] = 0;
    if (!kIota) load.Wait();
    // Write runs. Neighbours of the same digit and row (bits 10 up) are put in order of their
    // slots.
    constexpr std::uint32_t kSame = ~1023u;
#pragma unroll 4
    for (int r = 0; r < kRows; ++r) {
      const std::int32_t p = r * 1024 + static_cast<std::int32_t>(threadIdx.x);
      if (p < static_cast<std::int32_t>(m)) {
        const std::uint32_t mine = order[p];
        std::uint32_t to = p;
        std::uint32_t other;
        for (std::int32_t q = p - 1; (((other = order[q]) ^ mine) & kSame) == 0; --q)
          to -= other > mine;
        for (std::int32_t q = p + 1; (((other = order[q]) ^ mine) & kSame) == 0; ++q)
          to += other < mine;
        const std::uint32_t slot = mine & 0x7FFFu;
        to += target[mine >> 15];
        if constexpr (kIota) {
          out[to] = static_cast<Item>(begin + slot);
        } else {
          out[to] = items[load.shift + slot];
        }
      }
    }
    __syncthreads();
    const std::uint64_t next = begin + kTile;
    if (!kIota && t + 1 < shape.tiles_a_range && slots(next) > 0) {
      load.Start(in + next, slots(next), items);
    }
  }
}

}  // namespace retable::shuffle

#pragma once
//! @file
//! A level of the partition shuffle on the GPU: count digits, scan, scatter stably.
//!
//! A segment (the input, or a bucket of the first level) is cut into ranges, and these into tiles.
//! Counting recomputes digits and reads no data. Scattering sorts a tile by digit in shared memory
//! and writes runs: each warp has its own counter a digit and takes its slots row by row, so that
//! one addition gives a slot's intra-warp rank (split/warp_rank.cuh), without a match between
//! lanes, a search or a barrier a row. The result is a stable partition, the same on any grid. The
//! tile is loaded by the copy engine while its digits are drawn. A block does one tile: blocks that
//! run together then write neighbouring runs at the same time, and the cache puts their ends
//! together before memory sees them. Bytes an item: sizeof(Item) read, sizeof(Item) written. About
//! 50 instructions an item.

#include <cuda_pipeline.h>

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition/partition.hpp"
#include "algorithms/shuffle/philox/rounds.hpp"
#include "algorithms/shuffle/split/tile.cuh"
#include "algorithms/shuffle/split/warp_rank.cuh"

namespace retable::shuffle {

//! One level over all of its segments. Segment s is [starts[s], starts[s + 1]) of the source; when
//! starts == nullptr there is one segment, all n slots.
struct LevelShape {
  std::uint64_t n = 0;
  std::uint32_t segments = 1;
  std::uint32_t ranges = 1;  //!< ranges a segment
  std::uint32_t tiles = 1;   //!< tiles a range, at most
  std::uint32_t digits = 1;
  std::uint32_t tile = 0;  //!< slots of a tile
  const std::uint32_t* starts = nullptr;
  // For one segment: the sub-stream of its digits, and the group of 256 that holds slot 0.
  std::uint64_t stream = kFirstStream;
  std::uint64_t first_group = 0;

  //! Counters come in pairs of digits.
  RETABLE_HD std::uint32_t stride() const { return (digits + 1) & ~1u; }

  //! Tiles at most, over all segments and ranges.
  RETABLE_HD std::uint64_t AllTiles() const { return std::uint64_t{segments} * ranges * tiles; }

  RETABLE_HD std::uint64_t Begin(std::uint32_t segment) const {
    if (starts != nullptr) return starts[segment];
    return segment == 0 ? 0 : n;
  }
};

//! A range of slots, relative to its segment.
struct Range {
  std::uint64_t segment_begin;
  std::uint64_t stream, first_group;
  std::uint32_t begin, end;  //!< multiples of the tile but for the segment's end

  __device__ Range(const LevelShape& shape, std::uint32_t segment, std::uint32_t range) {
    segment_begin = shape.Begin(segment);
    const auto size = static_cast<std::uint32_t>(shape.Begin(segment + 1) - segment_begin);
    const bool first_level = shape.starts == nullptr;
    stream = first_level ? shape.stream : SecondStream(segment);
    first_group = first_level ? shape.first_group : 0;
    const std::uint32_t tiles = (size + shape.tile - 1) / shape.tile;
    const std::uint32_t each = (tiles + shape.ranges - 1) / shape.ranges * shape.tile;
    const std::uint32_t first = range * each, last = first + each;
    begin = first < size ? first : size;
    end = last < size ? last : size;
  }
};

//! counts[segment][range][digit], and before[segment][range][tile][digit]: the slots of the range's
//! earlier tiles, in rows of an even length. Blocks: segments x ranges, of a 32nd of a tile
//! threads.
__global__ void __launch_bounds__(256) CountDigits(const __grid_constant__ PhiloxRounds random,
                                                   const __grid_constant__ LevelShape shape,
                                                   std::uint32_t* counts, std::uint16_t* before) {
  extern __shared__ std::uint32_t count[];
  const Range range(shape, blockIdx.x / shape.ranges, blockIdx.x % shape.ranges);
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, threads = blockDim.x;
  for (std::uint32_t d = threadIdx.x; d < shape.stride(); d += threads) count[d] = 0;
  before += std::uint64_t{blockIdx.x} * shape.tiles * shape.stride();
  // A segment 16 standard deviations over its mean: an error, once in 10^57 shuffles.
  if (range.end - range.begin > std::uint64_t{shape.tiles} * shape.tile) __trap();
  for (std::uint32_t at = range.begin; at < range.end; at += shape.tile) {
    __syncthreads();
    for (std::uint32_t d = threadIdx.x; d < shape.stride(); d += threads) {
      before[d] = static_cast<std::uint16_t>(count[d]);
    }
    before += shape.stride();
    __syncthreads();
    const std::uint32_t left = range.end - at;
    const std::uint32_t end = at + (left < shape.tile ? left : shape.tile);
    for (std::uint32_t slot = at + warp * 256; slot < end; slot += threads * 8) {
      const PhiloxBlock block =
          DigitBlock(random, range.stream, range.first_group + (slot >> 8), lane);
      if (slot + 256 <= end) {
#pragma unroll
        for (int j = 0; j < 8; ++j) atomicAdd(&count[Digit(block, j, shape.digits)], 1u);
      } else {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          if (slot + j * 32 + lane < end) atomicAdd(&count[Digit(block, j, shape.digits)], 1u);
        }
      }
    }
  }
  __syncthreads();
  for (std::uint32_t d = threadIdx.x; d < shape.digits; d += threads) {
    counts[std::uint64_t{blockIdx.x} * shape.digits + d] = count[d];
  }
}

//! Turns the counts of each digit of a segment into exclusive sums over its ranges, and gives each
//! digit's total. A block of 1024 threads does kDigits <= 32 digits of one segment: few digits for
//! few segments of many ranges.
template <std::uint32_t kDigits>
__global__ void __launch_bounds__(1024) ScanRanges(std::uint32_t* counts, std::uint32_t ranges,
                                                   std::uint32_t digits, std::uint32_t* totals) {
  constexpr std::uint32_t kSlices = 1024 / kDigits, kEach = kSlices / 32;
  __shared__ std::uint32_t sums[kSlices][kDigits + 1];
  const std::uint32_t column = threadIdx.x % kDigits, slice = threadIdx.x / kDigits;
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const std::uint32_t first_digit = blockIdx.x * kDigits, digit = first_digit + column;
  const std::uint32_t segment = blockIdx.y;
  counts += std::uint64_t{segment} * ranges * digits;
  const std::uint32_t each = (ranges + kSlices - 1) / kSlices;
  const std::uint32_t first = min(slice * each, ranges), last = min(first + each, ranges);
  std::uint32_t sum = 0;
  if (digit < digits) {
#pragma unroll 4
    for (std::uint32_t r = first; r < last; ++r) sum += counts[std::uint64_t{r} * digits + digit];
  }
  sums[slice][column] = sum;
  __syncthreads();
  if (warp < kDigits) {  // a warp sums up the slices of a digit
    std::uint32_t of_slice[kEach], own = 0;
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) {
      of_slice[e] = sums[lane * kEach + e][warp];
      own += of_slice[e];
    }
    std::uint32_t running = InclusiveSumOfWarp(own);
    if (lane == 31 && first_digit + warp < digits) {
      totals[segment * digits + first_digit + warp] = running;
    }
    running -= own;
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) {
      sums[lane * kEach + e][warp] = running;
      running += of_slice[e];
    }
  }
  __syncthreads();
  if (digit >= digits) return;
  std::uint32_t running = sums[slice][column];
#pragma unroll 4
  for (std::uint32_t r = first; r < last; ++r) {
    std::uint32_t& count = counts[std::uint64_t{r} * digits + digit];
    const std::uint32_t own = count;
    count = running;
    running += own;
  }
}

//! starts[s * digits + d] of every digit of every segment, and starts[segments * digits] = n: an
//! exclusive sum of the totals within each segment, from its begin. One block a segment.
__global__ void __launch_bounds__(1024)
    ScanTotals(const std::uint32_t* totals, LevelShape shape, std::uint32_t* starts) {
  __shared__ std::uint32_t warps[33];
  const std::uint32_t segment = blockIdx.x, digit = threadIdx.x;
  const std::uint32_t total = digit < shape.digits ? totals[segment * shape.digits + digit] : 0;
  const auto begin = static_cast<std::uint32_t>(shape.Begin(segment));
  const std::uint32_t before = ExclusiveSum<32>(total, warps);
  if (digit < shape.digits) starts[segment * shape.digits + digit] = begin + before;
  if (segment + 1 == shape.segments && digit == 1023)
    starts[shape.segments * shape.digits] = begin + warps[32];
}

//! Bytes of shared memory of ScatterTiles: items where they are loaded, order, and for each digit a
//! target and a counter of 16 bits a warp.
template <class Item, int kWarps, ItemsFrom kFrom>
constexpr std::size_t ScatterBytes(std::uint32_t stride) {
  return 256 + LoadedBytes<Item, kFrom>(TileOf(kWarps)) + TileOf(kWarps) * 4 +
         std::size_t{stride} * 4 * (kWarps / 2 + 1);
}

//! Arrays of a level: `counts` are scanned over ranges, `before` counts of a range's earlier tiles,
//! `starts` the begins of the new segments.
template <class Item>
struct ScatterArrays {
  const Item* in;
  Item* out;
  const std::uint32_t* counts;
  const std::uint16_t* before;
  const std::uint32_t* starts;
};

//! Requests where the slots of earlier tiles end. Thread t accounts for digits 2 t and 2 t + 1.
template <class Item>
__device__ __forceinline__ void FetchEnds(const LevelShape& shape,
                                          const ScatterArrays<Item>& arrays, std::uint32_t number,
                                          std::uint32_t segment, std::uint32_t segment_range,
                                          std::uint32_t* fetched) {
  const std::uint32_t own = 2 * threadIdx.x, digits = shape.digits, stride = shape.stride();
  if (own < stride) {
    const std::uint32_t* start = arrays.starts + segment * digits + own;
    const std::uint32_t* in_range = arrays.counts + std::uint64_t{segment_range} * digits + own;
    __pipeline_memcpy_async(fetched, start, 4);
    __pipeline_memcpy_async(fetched + 2, in_range, 4);
    if (own + 1 < digits) {
      __pipeline_memcpy_async(fetched + 1, start + 1, 4);
      __pipeline_memcpy_async(fetched + 3, in_range + 1, 4);
    }
    __pipeline_memcpy_async(fetched + 4, arrays.before + std::uint64_t{number} * stride + own, 4);
  }
  __pipeline_commit();
}

//! Step 2. Each counter becomes its first place in the tile; each digit gets its run's target.
template <int kWarps>
__device__ __forceinline__ void ScanTile(std::uint32_t digits, std::uint32_t stride,
                                         std::uint32_t own, const std::uint32_t* fetched,
                                         std::uint32_t* count, std::uint32_t* target,
                                         std::uint32_t* warps) {
  constexpr int kPairs = kWarps / 2;
  std::uint32_t total[2] = {0, 0};
  auto* own_counts = reinterpret_cast<uint2*>(count + own);
  if (own < stride) {
#pragma unroll
    for (int k = 0; k < kPairs; ++k) AddCounts(own_counts[k * (stride / 2)], total);
  }
  const std::uint32_t first = ExclusiveSum<kWarps>(total[0] + total[1], warps);
  if (own < stride) {
    std::uint32_t running[2] = {first, first + total[0]};
    __pipeline_wait_prior(0);
    const uint4 ends = *reinterpret_cast<const uint4*>(fetched);
    const std::uint32_t tiles_before = fetched[4];
    target[own] = ends.x + ends.z + (tiles_before & 0xFFFFu) - running[0];
    if (own + 1 < digits) target[own + 1] = ends.y + ends.w + (tiles_before >> 16) - running[1];
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      uint2& counted = own_counts[k * (stride / 2)];
      counted = CountsToPlaces(counted, running);
    }
  }
}

//! The item so many bytes after the tile's first.
template <class Item, ItemsFrom kFrom>
__device__ __forceinline__ Item ItemAt(const Item* loaded, const Item* in, std::uint64_t first_item,
                                       std::uint32_t offset) {
  if constexpr (kFrom == ItemsFrom::kIndex) {
    return static_cast<Item>(first_item + offset / sizeof(Item));
  } else {
    const Item* from = kFrom == ItemsFrom::kTile ? loaded : in + first_item;
    return *reinterpret_cast<const Item*>(reinterpret_cast<const unsigned char*>(from) + offset);
  }
}

//! Scatters a tile, by a block of kWarps warps. Blocks: segments x ranges x tiles.
template <class Item, int kWarps, ItemsFrom kFrom, bool kLanesInOrder>
__global__ void __launch_bounds__(kScatterWarps * 32, 2)
    ScatterTiles(const __grid_constant__ PhiloxRounds random,
                 const __grid_constant__ LevelShape shape,
                 const __grid_constant__ ScatterArrays<Item> arrays) {
  constexpr std::uint32_t kThreads = kWarps * 32, kTile = TileOf(kWarps);
  constexpr int kEach = kScatterEach, kPairs = kWarps / 2;
  constexpr bool kLoads = kFrom == ItemsFrom::kTile;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* warps = reinterpret_cast<std::uint32_t*>(shared);  // kWarps + 1 words
  auto* barrier = reinterpret_cast<std::uint64_t*>(shared + 128);
  auto* items = reinterpret_cast<Item*>(shared + 256);
  auto* order = reinterpret_cast<std::uint32_t*>(shared + 256 + LoadedBytes<Item, kFrom>(kTile));
  const std::uint32_t digits = shape.digits, stride = shape.stride();
  auto* count = order + kTile;             // [pair of warps][digit]: a half-word for each warp
  auto* target = count + kPairs * stride;  // place of slot 0 of each digit
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  auto* my_count = count + (warp >> 1) * stride;
  const std::uint32_t half_shift = (warp & 1) * 16;
  const auto* my_places = reinterpret_cast<const std::uint16_t*>(my_count) + (warp & 1);
  const std::uint32_t number = blockIdx.x, segment_range = number / shape.tiles;
  const std::uint32_t segment = segment_range / shape.ranges;
  const Range range(shape, segment, segment_range % shape.ranges);
  const std::uint32_t at = range.begin + number % shape.tiles * kTile;
  if (at >= range.end) return;
  const std::uint32_t m = range.end - at < kTile ? range.end - at : kTile;
  BulkLoad<Item> load{barrier};
  if (kLoads) load.Init();
  for (std::uint32_t c = threadIdx.x; c < kPairs * stride; c += kThreads) count[c] = 0;
  __syncthreads();
  const std::uint64_t first_item = range.segment_begin + at;
  if (kLoads) load.Start(arrays.in + first_item, m, items);
  std::uint32_t* fetched = order + 8 * threadIdx.x;  // of each own digit: start, counts, before
  FetchEnds(shape, arrays, number, segment, segment_range, fetched);
  const auto scatter = [&]<bool kFull>() {
    const std::uint32_t first_slot = warp * (kEach * 32) + lane;
    // Step 1. Count the tile's digits and rank each slot in its warp.
    std::uint32_t word[kEach];  // digit in the low half, intra-warp rank in the high half
#pragma unroll
    for (int h = 0; h < kEach / 8; ++h) {
      const PhiloxBlock block = DigitBlock(
          random, range.stream, range.first_group + (at >> 8) + warp * (kEach / 8) + h, lane);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const std::uint32_t digit = Digit(block, j, digits);
        const bool valid = kFull || first_slot + (h * 8 + j) * 32 < m;
        const std::uint32_t old =
            RankInWarp<kLanesInOrder>(&my_count[digit], 1u << half_shift, valid);
        word[h * 8 + j] = digit | ((old >> half_shift) << 16);
      }
    }
    __syncthreads();
    ScanTile<kWarps>(digits, stride, 2 * threadIdx.x, fetched, count, target, warps);
    __syncthreads();
    // Step 3. Order the slots by digit.
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t slot = first_slot + e * 32, digit = word[e] & 0xFFFFu;
      if (!kFull && slot >= m) continue;
      order[my_places[2 * digit] + (word[e] >> 16)] =
          (digit << kDigitShift) | ((slot + load.shift) * static_cast<std::uint32_t>(sizeof(Item)));
    }
    if (kLoads) load.Wait();
    __syncthreads();
    // Step 4. Write runs of items.
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t p = e * kThreads + threadIdx.x;
      if (kFull || p < m) {
        const std::uint32_t mine = order[p];
        const std::uint32_t to = target[mine >> kDigitShift] + p;
        const std::uint32_t offset = mine & ((1u << kDigitShift) - 1);
        arrays.out[to] = ItemAt<Item, kFrom>(items, arrays.in, first_item, offset);
      }
    }
  };
  m == kTile ? scatter.template operator()<true>() : scatter.template operator()<false>();
}

}  // namespace retable::shuffle

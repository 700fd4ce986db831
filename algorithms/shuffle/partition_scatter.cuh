#pragma once
//! @file
//! A level of the partition shuffle on the GPU: count digits, scan, scatter stably.
//!
//! A segment (the input, or a bucket of the first level) is cut into ranges, and these into tiles.
//! Counting recomputes digits and reads no data. Scattering sorts a tile by digit in shared memory
//! and writes runs: each warp has a counter a digit of its own, takes its slots row by row, and so
//! a slot's arrival number is its rank (arrival.cuh), without a match between lanes, a search or a
//! barrier a row. The result is a stable partition, the same on any grid. The tile is loaded by the
//! copy engine while its digits are drawn. A block does one tile: blocks that run together then
//! write neighbouring runs at the same time, and the cache puts their ends together before memory
//! sees them. Bytes an item: sizeof(Item) read, sizeof(Item) written. About 50 instructions an
//! item.

#include "algorithms/shuffle/arrival.cuh"
#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

inline constexpr int kScatterWarps = 14;
inline constexpr int kScatterThreads = kScatterWarps * 32;
inline constexpr int kScatterEach = 16;  //!< slots a thread
inline constexpr std::uint32_t kTile = kScatterThreads * kScatterEach;

//! One level over all of its segments. Segment s is [starts[s], starts[s + 1]) of the source, or
//! [0, n) when there is but one (starts == nullptr).
struct LevelShape {
  std::uint64_t n = 0;
  std::uint32_t segments = 1;
  std::uint32_t ranges = 1;  //!< a segment
  std::uint32_t tiles = 1;   //!< a range, at most
  std::uint32_t digits = 1;
  const std::uint32_t* starts = nullptr;
  // When there is but one segment: the sub-stream of its digits, and its first slot's group of 256.
  std::uint64_t stream = kFirstStream;
  std::uint64_t first_group = 0;

  //! Counters come in pairs of digits.
  RETABLE_HD std::uint32_t stride() const { return (digits + 1) & ~1u; }
};

//! A range of slots, relative to its segment.
struct Range {
  std::uint64_t segment_begin;
  std::uint64_t stream, first_group;
  std::uint32_t begin, end;  //!< multiples of the tile but for the segment's end

  __device__ Range(const LevelShape& shape, std::uint32_t segment, std::uint32_t range) {
    const bool whole = shape.starts == nullptr;
    segment_begin = whole ? 0 : shape.starts[segment];
    const std::uint64_t size = whole ? shape.n : shape.starts[segment + 1] - segment_begin;
    stream = whole ? shape.stream : SecondStream(segment);
    first_group = whole ? shape.first_group : 0;
    const std::uint64_t tiles = (size + kTile - 1) / kTile;
    const std::uint64_t each = (tiles + shape.ranges - 1) / shape.ranges;
    const std::uint64_t first = range * each * kTile;
    const std::uint64_t last = first + each * kTile;
    begin = static_cast<std::uint32_t>(first < size ? first : size);
    end = static_cast<std::uint32_t>(last < size ? last : size);
  }
};

inline constexpr int kCountThreads = 256;

//! counts[segment][range][digit], and before[segment][range][tile][digit]: the slots of the range's
//! earlier tiles. Blocks: segments x ranges.
__global__ void __launch_bounds__(kCountThreads)
    CountDigits(Philox4x32 random, LevelShape shape, std::uint32_t* counts, std::uint16_t* before) {
  extern __shared__ std::uint32_t count[];
  const Range range(shape, blockIdx.x / shape.ranges, blockIdx.x % shape.ranges);
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (std::uint32_t d = threadIdx.x; d < shape.digits; d += kCountThreads) count[d] = 0;
  before += std::uint64_t{blockIdx.x} * shape.tiles * shape.digits;
  // A segment 16 standard deviations over its mean: an error, once in 10^57 shuffles.
  if (range.end - range.begin > std::uint64_t{shape.tiles} * kTile) __trap();
  for (std::uint32_t at = range.begin; at < range.end; at += kTile) {
    __syncthreads();
    for (std::uint32_t d = threadIdx.x; d < shape.digits; d += kCountThreads) {
      before[d] = static_cast<std::uint16_t>(count[d]);
    }
    before += shape.digits;
    __syncthreads();
    const std::uint32_t left = range.end - at;
    const std::uint32_t end = at + (left < kTile ? left : kTile);
    for (std::uint32_t slot = at + warp * 256; slot < end; slot += kCountThreads * 8) {
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
  for (std::uint32_t d = threadIdx.x; d < shape.digits; d += kCountThreads) {
    counts[std::uint64_t{blockIdx.x} * shape.digits + d] = count[d];
  }
}

//! Turns the counts of each digit of a segment into exclusive sums over its ranges, and gives each
//! digit's total. A block of 32 x 32 threads does 32 digits of one segment.
__global__ void __launch_bounds__(1024) ScanRanges(std::uint32_t* counts, std::uint32_t ranges,
                                                   std::uint32_t digits, std::uint32_t* totals) {
  __shared__ std::uint32_t sums[32][33];
  const std::uint32_t lane = threadIdx.x & 31, slice = threadIdx.x >> 5;
  const std::uint32_t digit = blockIdx.x * 32 + lane, segment = blockIdx.y;
  counts += std::uint64_t{segment} * ranges * digits;
  const std::uint32_t each = (ranges + 31) / 32;
  const std::uint32_t first = slice * each;
  const std::uint32_t last = first + each < ranges ? first + each : ranges;
  std::uint32_t sum = 0;
  if (digit < digits) {
#pragma unroll 4
    for (std::uint32_t r = first; r < last; ++r) sum += counts[std::uint64_t{r} * digits + digit];
  }
  sums[slice][lane] = sum;
  __syncthreads();
  std::uint32_t running = 0;
  for (std::uint32_t s = 0; s < slice; ++s) running += sums[s][lane];
  if (digit >= digits) return;
  if (slice == 31) totals[segment * digits + digit] = running + sum;
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
  const std::uint32_t begin = shape.starts == nullptr ? 0 : shape.starts[segment];
  const std::uint32_t before = ExclusiveSum<32>(total, warps);
  if (digit < shape.digits) starts[segment * shape.digits + digit] = begin + before;
  if (segment + 1 == shape.segments && digit == 1023)
    starts[shape.segments * shape.digits] = begin + warps[32];
}

//! Bytes of shared memory of ScatterTiles: items, order, and for each digit a target and a counter
//! of 16 bits a warp.
template <class Item>
constexpr std::size_t ScatterBytes(std::uint32_t stride) {
  return 256 + kTile * (sizeof(Item) + 4) + 16 + std::size_t{stride} * 4 * (kScatterWarps / 2 + 1);
}

//! A slot of a tile is ordered as one word: its digit over its offset in bytes.
inline constexpr int kDigitShift = 18;

//! Scatters a tile. kIota: the items are their own indices and nothing is read. Blocks: segments x
//! ranges x tiles. `parts` are the scanned counts, `before` those of the range's earlier tiles,
//! `starts` the places of the new segments.
template <class Item, bool kIota, bool kLanesInOrder>
__global__ void __launch_bounds__(kScatterThreads, 2)
    ScatterTiles(Philox4x32 random, LevelShape shape, const Item* __restrict__ in,
                 Item* __restrict__ out, const std::uint32_t* __restrict__ parts,
                 const std::uint16_t* __restrict__ before,
                 const std::uint32_t* __restrict__ starts) {
  constexpr std::uint32_t kThreads = kScatterThreads;
  constexpr int kWarps = kScatterWarps, kEach = kScatterEach, kPairs = kWarps / 2;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* warps = reinterpret_cast<std::uint32_t*>(shared);  // kWarps + 1 words
  auto* barrier = reinterpret_cast<std::uint64_t*>(shared + 192);
  auto* items = reinterpret_cast<Item*>(shared + 256);
  auto* order = reinterpret_cast<std::uint32_t*>(shared + 256 + kTile * sizeof(Item) + 16);
  const std::uint32_t digits = shape.digits, stride = shape.stride();
  auto* count = order + kTile;             // [pair of warps][digit]: a half-word for each warp
  auto* target = count + kPairs * stride;  // place of slot 0 of each digit
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  auto* my_count = count + (warp >> 1) * stride;
  const std::uint32_t half_shift = (warp & 1) * 16;
  const auto* my_places = reinterpret_cast<const std::uint16_t*>(my_count) + (warp & 1);

  const std::uint32_t part = blockIdx.x / shape.tiles;
  const std::uint32_t segment = part / shape.ranges;
  const Range range(shape, segment, part % shape.ranges);
  const std::uint32_t at = range.begin + blockIdx.x % shape.tiles * kTile;
  if (at >= range.end) return;
  const std::uint32_t m = range.end - at < kTile ? range.end - at : kTile;
  BulkLoad<Item> load{barrier};
  if (!kIota) load.Init();
  for (std::uint32_t c = threadIdx.x; c < kPairs * stride; c += kThreads) count[c] = 0;
  __syncthreads();
  if (!kIota) load.Start(in + range.segment_begin + at, m, items);

  const auto scatter = [&]<bool kFull>() {
    const std::uint32_t first_slot = warp * (kEach * 32) + lane;
    // Count. A slot's arrival number is its rank in its warp and digit.
    std::uint32_t word[kEach];  // digit in the low half, arrival number in the high
#pragma unroll
    for (int h = 0; h < kEach / 8; ++h) {
      const PhiloxBlock block = DigitBlock(
          random, range.stream, range.first_group + (at >> 8) + warp * (kEach / 8) + h, lane);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const std::uint32_t digit = Digit(block, j, digits);
        const bool valid = kFull || first_slot + (h * 8 + j) * 32 < m;
        const std::uint32_t old = Arrive<kLanesInOrder>(&my_count[digit], 1u << half_shift, valid);
        word[h * 8 + j] = digit | ((old >> half_shift) << 16);
      }
    }
    __syncthreads();
    // Scan: each counter becomes its first place in the tile; each digit learns where its run goes.
    // Thread t accounts for digits 2 t and 2 t + 1.
    const std::uint32_t own = 2 * threadIdx.x;
    std::uint32_t total[2] = {0, 0};
    auto* own_counts = reinterpret_cast<uint2*>(count + own);
    if (own < stride) {
#pragma unroll
      for (int k = 0; k < kPairs; ++k) {
        const uint2 counted = own_counts[k * (stride / 2)];
        total[0] += (counted.x & 0xFFFFu) + (counted.x >> 16);
        total[1] += (counted.y & 0xFFFFu) + (counted.y >> 16);
      }
    }
    const std::uint32_t first = ExclusiveSum<kWarps>(total[0] + total[1], warps);
    if (own < stride) {
      std::uint32_t running[2] = {first, first + total[0]};
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        if (own + k < digits) {
          target[own + k] = starts[segment * digits + own + k] +
                            parts[std::uint64_t{part} * digits + own + k] +
                            before[std::uint64_t{blockIdx.x} * digits + own + k] - running[k];
        }
      }
      const auto places = [](std::uint32_t halves, std::uint32_t& next) {
        const std::uint32_t low = next, high = low + (halves & 0xFFFFu);
        next = high + (halves >> 16);
        return low | (high << 16);
      };
#pragma unroll
      for (int k = 0; k < kPairs; ++k) {
        uint2& counted = own_counts[k * (stride / 2)];
        counted = make_uint2(places(counted.x, running[0]), places(counted.y, running[1]));
      }
    }
    __syncthreads();
    // Order: slots by digit.
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t slot = first_slot + e * 32;
      if (kFull || slot < m) {
        const std::uint32_t digit = word[e] & 0xFFFFu;
        order[my_places[2 * digit] + (word[e] >> 16)] =
            (digit << kDigitShift) | (slot * static_cast<std::uint32_t>(sizeof(Item)));
      }
    }
    if (!kIota) load.Wait();
    __syncthreads();
    // Write runs.
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t p = e * kThreads + threadIdx.x;
      if (kFull || p < m) {
        const std::uint32_t mine = order[p];
        const std::uint32_t to = target[mine >> kDigitShift] + p;
        const std::uint32_t offset = mine & 0xFFFFu;
        if constexpr (kIota) {
          out[to] = static_cast<Item>(at + offset / sizeof(Item));
        } else {
          out[to] = *reinterpret_cast<const Item*>(
              reinterpret_cast<const unsigned char*>(items + load.shift) + offset);
        }
      }
    }
  };
  if (m == kTile) {
    scatter.template operator()<true>();
  } else {
    scatter.template operator()<false>();
  }
}

}  // namespace retable::shuffle

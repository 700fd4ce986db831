#pragma once
//! @file
//! A level of the partition shuffle on the GPU: count digits, scan, scatter stably.
//!
//! A segment (the input, or a bucket of the first level) is cut into ranges, one a block, and
//! ranges into tiles that fit in shared memory twice an SM. Counting recomputes digits and reads no
//! data. Scattering sorts a tile by digit in shared memory and writes runs: the place of a slot
//! within its (tile, digit) run comes from a shared atomic counter, in whatever order the threads
//! come; rows of 1024 slots are separated by barriers, so only slots of one row can stand in the
//! wrong order, and each then looks at its few neighbours of the same row and digit to find its
//! true place. That makes the result a stable partition, the same on any grid, without a match
//! between lanes. The next tile is loaded by the copy engine while digits of this one are drawn.
//! Bytes an item: sizeof(Item) read, sizeof(Item) written.

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

inline constexpr int kScatterThreads = 512;
inline constexpr std::uint32_t kTile = 8192;  //!< one group of digits

//! One level over all of its segments. Segment s is [starts[s], starts[s + 1]) of the source, or
//! [0, n) when there is but one (starts == nullptr).
struct LevelShape {
  std::uint64_t n;
  std::uint32_t segments;
  std::uint32_t ranges;  //!< a segment
  std::uint32_t splits;  //!< a range: one block scatters one
  std::int32_t bits;     //!< of the digit
  const std::uint32_t* starts;

  RETABLE_HD std::uint32_t digits() const { return 1u << bits; }
};

//! A block's range of slots, relative to its segment.
struct Range {
  std::uint64_t segment_begin;
  std::uint64_t stream;
  std::uint32_t split_slots;
  std::uint32_t begin, end;  //!< multiples of kTile but for the segment's end

  //! Range `range` of the segment; with split >= 0, that part of it.
  __device__ Range(const LevelShape& shape, std::uint32_t segment, std::uint32_t range,
                   int split = -1) {
    const bool whole = shape.starts == nullptr;
    segment_begin = whole ? 0 : shape.starts[segment];
    const std::uint64_t size = whole ? shape.n : shape.starts[segment + 1] - segment_begin;
    stream = whole ? kFirstStream : SecondStream(segment);
    const std::uint64_t tiles = (size + kTile - 1) / kTile;
    const std::uint64_t each = (tiles + shape.ranges - 1) / shape.ranges * kTile;
    split_slots =
        static_cast<std::uint32_t>((each / kTile + shape.splits - 1) / shape.splits * kTile);
    std::uint64_t first = range * each;
    std::uint64_t last = first + each < size ? first + each : size;
    if (split >= 0) {
      first += std::uint64_t{split_slots} * split;
      last = first + split_slots < last ? first + split_slots : last;
    }
    begin = static_cast<std::uint32_t>(first < last ? first : last);
    end = static_cast<std::uint32_t>(last);
  }
};

//! counts[segment][range][digit], and before[segment][range][split][digit]: the slots of the
//! range's earlier splits. Blocks: segments x ranges, 1024 threads.
__global__ void __launch_bounds__(1024)
    CountDigits(Philox4x32 random, LevelShape shape, std::uint32_t* counts, std::uint32_t* before) {
  extern __shared__ std::uint32_t count[];
  const Range range(shape, blockIdx.x / shape.ranges, blockIdx.x % shape.ranges);
  for (std::uint32_t d = threadIdx.x; d < shape.digits(); d += 1024) count[d] = 0;
  before += std::uint64_t{blockIdx.x} * shape.splits * shape.digits();
  for (std::uint32_t at = range.begin; at < range.end; at += kTile) {
    if ((at - range.begin) % range.split_slots == 0) {
      __syncthreads();
      for (std::uint32_t d = threadIdx.x; d < shape.digits(); d += 1024) before[d] = count[d];
      before += shape.digits();
      __syncthreads();
    }
    const PhiloxBlock block = DigitBlock(random, range.stream, at / kTile, threadIdx.x);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::uint32_t slot = at + j * 1024 + threadIdx.x;
      if (slot < range.end) atomicAdd(&count[Digit(block, j, shape.bits)], 1u);
    }
  }
  __syncthreads();
  for (std::uint32_t d = threadIdx.x; d < shape.digits(); d += 1024) {
    counts[std::uint64_t{blockIdx.x} * shape.digits() + d] = count[d];
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
  const std::uint32_t total = digit < shape.digits() ? totals[segment * shape.digits() + digit] : 0;
  const std::uint32_t begin = shape.starts == nullptr ? 0 : shape.starts[segment];
  const std::uint32_t before = ExclusiveSum<32>(total, warps);
  if (digit < shape.digits()) starts[segment * shape.digits() + digit] = begin + before;
  if (segment + 1 == shape.segments && digit == 1023)
    starts[shape.segments * shape.digits()] = begin + warps[32];
}

//! Bytes of shared memory of ScatterTiles: items, order, a target and eight counters a digit.
template <class Item>
constexpr std::size_t ScatterBytes(int bits) {
  return 256 + kTile * sizeof(Item) + 32 + (kTile + 8) * 4 + (std::size_t{1} << bits) * 20;
}

//! Scatters every tile of a range. kIota: the items are their own indices and nothing is read.
//! Blocks: segments x ranges. `parts` are the scanned counts, `starts` the places of the new
//! segments.
template <class Item, bool kIota>
__global__ void __launch_bounds__(kScatterThreads, 2)
    ScatterTiles(Philox4x32 random, LevelShape shape, const Item* __restrict__ in,
                 Item* __restrict__ out, const std::uint32_t* __restrict__ parts,
                 const std::uint32_t* __restrict__ before,
                 const std::uint32_t* __restrict__ starts) {
  constexpr int kThreads = kScatterThreads;
  constexpr int kEach = kTile / kThreads;  // slots a thread
  extern __shared__ __align__(128) unsigned char shared[];
  auto* warps = reinterpret_cast<std::uint32_t*>(shared);  // 17 words
  auto* barrier = reinterpret_cast<std::uint64_t*>(shared + 192);
  auto* items = reinterpret_cast<Item*>(shared + 256);
  auto* order = reinterpret_cast<std::uint32_t*>(shared + 256 + kTile * sizeof(Item) + 32) +
                4;  // [-1, kTile]
  const std::uint32_t digits = shape.digits();
  // Eight counters of 16 bits for each digit, one for each group of 128 columns.
  auto* count = reinterpret_cast<uint4*>(order + kTile + 4);
  auto* count_words = reinterpret_cast<std::uint32_t*>(count);
  auto* target = count_words + 4 * digits;  // place of slot 0 of each digit

  const std::uint32_t part = blockIdx.x / shape.splits;
  const std::uint32_t segment = part / shape.ranges;
  const Range range(shape, segment, part % shape.ranges,
                    static_cast<int>(blockIdx.x % shape.splits));
  if (range.begin >= range.end) return;
  in += range.segment_begin;
  // Thread d accounts for digit d: there are at most 512.
  const bool has_own = threadIdx.x < digits;
  std::uint32_t place = 0;
  if (has_own) {
    place = starts[segment * digits + threadIdx.x] +
            parts[std::uint64_t{part} * digits + threadIdx.x] +
            before[std::uint64_t{blockIdx.x} * digits + threadIdx.x];
  }
  BulkLoad<Item> load{barrier};
  if (!kIota) load.Init();
  if (has_own) count[threadIdx.x] = make_uint4(0, 0, 0, 0);
  if (threadIdx.x == 0) order[-1] = 0xFFFFFFFFu;
  __syncthreads();
  const auto slots = [&](std::uint32_t at) {
    return range.end - at < kTile ? range.end - at : kTile;
  };
  if (!kIota) load.Start(in + range.begin, slots(range.begin), items);

  for (std::uint32_t at = range.begin; at < range.end; at += kTile) {
    const std::uint32_t m = slots(at);
    // Count. A slot's arrival number within its digit; rows are kept in order by the barriers.
    std::uint32_t arrived[kEach];  // digit in the high half, arrival number in the low
    PhiloxBlock block[kEach / 8];
#pragma unroll
    for (int h = 0; h < kEach / 8; ++h) {
      block[h] = DigitBlock(random, range.stream, at / kTile, threadIdx.x + h * kThreads);
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int h = 0; h < kEach / 8; ++h) {
        const std::uint32_t digit = Digit(block[h], j, shape.bits);
        std::uint32_t& mine = arrived[j * (kEach / 8) + h];
        mine = digit << 16;
        if (j * 1024 + h * kThreads + threadIdx.x < m) {
          const std::uint32_t group = (h * kThreads + threadIdx.x) >> 7;
          const std::uint32_t half = (group & 1) * 16;
          mine |= (atomicAdd(&count_words[digit * 4 + (group >> 1)], 1u << half) >> half) & 0xFFFFu;
        }
      }
      __syncthreads();
    }
    // Scan: each counter becomes its first place in the tile, and each digit learns where its run
    // goes.
    uint4 counted = make_uint4(0, 0, 0, 0);
    if (has_own) counted = count[threadIdx.x];
    const auto halves = [](std::uint32_t w) { return (w & 0xFFFFu) + (w >> 16); };
    const std::uint32_t total =
        halves(counted.x) + halves(counted.y) + halves(counted.z) + halves(counted.w);
    const std::uint32_t first = ExclusiveSum<kThreads / 32>(total, warps);
    if (has_own) {
      std::uint32_t running = first;
      const auto places = [&](std::uint32_t w) {
        const std::uint32_t low = running, high = low + (w & 0xFFFFu);
        running = high + (w >> 16);
        return low | (high << 16);
      };
      uint4 word;
      word.x = places(counted.x);
      word.y = places(counted.y);
      word.z = places(counted.z);
      word.w = places(counted.w);
      count[threadIdx.x] = word;
      target[threadIdx.x] = place - first;
      place += total;
    }
    if (threadIdx.x == 0) order[m] = 0xFFFFFFFFu;
    __syncthreads();
    // Order: slots by digit, nearly stable.
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t slot =
          (e / (kEach / 8)) * 1024 + (e % (kEach / 8)) * kThreads + threadIdx.x;
      const std::uint32_t digit = arrived[e] >> 16;
      if (slot < m) {
        const std::uint32_t group = (slot >> 7) & 7;
        const std::uint32_t cell =
            (count_words[digit * 4 + (group >> 1)] >> ((group & 1) * 16)) & 0xFFFFu;
        order[cell + (arrived[e] & 0xFFFFu)] = (digit << 16) | slot;
      }
    }
    if (!kIota) load.Wait();
    __syncthreads();
    if (has_own) count[threadIdx.x] = make_uint4(0, 0, 0, 0);
    // Write runs. Neighbours of the same digit and row (bits 10 up) are put in order of their
    // slots.
    constexpr std::uint32_t kSame = ~127u;
#pragma unroll 4
    for (int e = 0; e < kEach; ++e) {
      const std::int32_t p = e * kThreads + static_cast<std::int32_t>(threadIdx.x);
      if (p < static_cast<std::int32_t>(m)) {
        const std::uint32_t mine = order[p];
        std::uint32_t to = p;
        std::uint32_t other;
        for (std::int32_t q = p - 1; (((other = order[q]) ^ mine) & kSame) == 0; --q)
          to -= other > mine;
        for (std::int32_t q = p + 1; (((other = order[q]) ^ mine) & kSame) == 0; ++q)
          to += other < mine;
        const std::uint32_t slot = mine & 0xFFFFu;
        to += target[mine >> 16];
        if constexpr (kIota) {
          out[to] = static_cast<Item>(at + slot);
        } else {
          out[to] = items[load.shift + slot];
        }
      }
    }
    __syncthreads();
    if (!kIota && at + kTile < range.end) load.Start(in + at + kTile, slots(at + kTile), items);
  }
}

}  // namespace retable::shuffle

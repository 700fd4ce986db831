#pragma once
//! @file
//! A stable split by first digits in one pass on the GPU, into buckets that lie in pages.
//!
//! Problem: partition_scatter.cuh counts all digits in a pass of its own before any item moves, and
//! writes fast only as long as the hundreds of places it writes to lie near each other. Approach:
//! (1) A tile draws its digits once: it tells its counts to a block that does nothing but sum, and
//! is told its places while its items are on their way. Counts are added up by groups of 8 tiles
//! (one atomic addition a pair of digits), so that the summing block has few words to read; within
//! a group a tile adds up those before it on its own. A block may also count a tile that another
//! will move later, in place of its own: digits are drawn twice then, but no one waits. (2) Buckets
//! need no beginning before all is counted, as they lie in pages dealt out in turn. All buckets
//! fill up at one rate, so what is written at one time lies within two rows of pages. Waits: a tile
//! for the counts of those before it, which is safe as blocks are started in order. Bytes an item:
//! sizeof(Item) read, sizeof(Item) written. Memory: the items and up to a row of pages, two words a
//! tile and digit. Deterministic: the split is stable.

#include "algorithms/shuffle/arrival.cuh"
#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/paged_split.hpp"
#include "algorithms/shuffle/partition.hpp"
#include "algorithms/shuffle/philox_rounds.hpp"
#include "algorithms/shuffle/scatter_tile.cuh"

namespace retable::shuffle {

inline constexpr std::uint32_t kGroupTiles = 8;

template <class Item>
struct PagedSplitArrays {
  const Item* in;
  Item* out;  //!< pages
  std::uint32_t n, digits, tiles;
  std::uint32_t ahead;  //!< tiles counted before they are moved; 0: as they are
  PageLayout pages;
  std::uint32_t epoch;    //!< of this call: words of other calls do not count; 1 .. kMaxEpoch
  std::uint32_t bucket;   //!< items that a bucket has room for
  std::uint32_t* counts;  //!< [tile][stride]: epoch << 14 | count
  unsigned long long*
      groups;  //!< [group][stride / 2]: two words of tiles << 20 | count, 0 between calls
  unsigned long long* places;  //!< [group][stride]: epoch << 32 | items of earlier groups
  std::uint32_t* starts;       //!< [digits + 1]: where the buckets would begin one after another

  //! Threads handle digits in pairs.
  __device__ std::uint32_t stride() const { return (digits + 1) & ~1u; }
  __device__ unsigned long long* Counts(std::uint32_t tile, std::uint32_t digit) const {
    return reinterpret_cast<unsigned long long*>(counts + std::uint64_t{tile} * stride() + digit);
  }
  __device__ unsigned long long* Group(std::uint32_t group, std::uint32_t digit) const {
    return groups + (std::uint64_t{group} * stride() + digit) / 2;
  }
  __device__ unsigned long long* Places(std::uint32_t group, std::uint32_t digit) const {
    return places + std::uint64_t{group} * stride() + digit;
  }
};

// Each word tells by itself whether it has come, so no order between words is needed.
__device__ __forceinline__ unsigned long long LoadRelaxed(const unsigned long long* word) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ __forceinline__ void StoreRelaxed(unsigned long long* word, unsigned long long value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ __forceinline__ unsigned long long Join(std::uint32_t low, std::uint32_t high) {
  return (static_cast<unsigned long long>(high) << 32) | low;
}
__device__ __forceinline__ std::uint32_t Low(unsigned long long word) {
  return static_cast<std::uint32_t>(word);
}
__device__ __forceinline__ std::uint32_t High(unsigned long long word) {
  return static_cast<std::uint32_t>(word >> 32);
}

//! Tells a tile's counts of digits own and own + 1.
template <class Item>
__device__ __forceinline__ void PublishCounts(const PagedSplitArrays<Item>& split,
                                              std::uint32_t tile, std::uint32_t own,
                                              const std::uint32_t (&count)[2]) {
  const std::uint32_t epoch = split.epoch << 14, one = 1u << 20;
  StoreRelaxed(split.Counts(tile, own), Join(epoch | count[0], epoch | count[1]));
  atomicAdd(split.Group(tile / kGroupTiles, own), Join(one | count[0], one | count[1]));
}

//! How many items of digits own and own + 1 lie in earlier tiles.
template <class Item>
__device__ __forceinline__ void AwaitPlaces(const PagedSplitArrays<Item>& split, std::uint32_t tile,
                                            std::uint32_t own, std::uint32_t (&place)[2]) {
  const std::uint32_t group = tile / kGroupTiles, earlier = tile % kGroupTiles;
  const std::uint32_t first = group * kGroupTiles, epoch = split.epoch;
  unsigned long long count[kGroupTiles - 1];
#pragma unroll
  for (std::uint32_t k = 0; k < kGroupTiles - 1; ++k) {
    count[k] =
        k < earlier ? LoadRelaxed(split.Counts(first + k, own)) : Join(epoch << 14, epoch << 14);
  }
  place[0] = place[1] = 0;
#pragma unroll
  for (std::uint32_t k = 0; k < kGroupTiles - 1; ++k) {
    while (Low(count[k]) >> 14 != epoch || High(count[k]) >> 14 != epoch) {
      count[k] = LoadRelaxed(split.Counts(first + k, own));
    }
    place[0] += Low(count[k]) & 0x3FFFu;
    place[1] += High(count[k]) & 0x3FFFu;
  }
  const unsigned long long* from = split.Places(group, own);
  unsigned long long words[2];
  do {
    words[0] = LoadRelaxed(from);
    words[1] = LoadRelaxed(from + 1);
  } while (High(words[0]) != epoch || High(words[1]) != epoch);
  place[0] += Low(words[0]);
  place[1] += Low(words[1]);
}

//! By the block that moves nothing: sums up the groups in their order as they come, tells each how
//! many items lie before it, and at the end where buckets begin. Thread t has digits 2 t and
//! 2 t + 1.
template <class Item, int kWarps>
__device__ __noinline__ void SumGroups(const PagedSplitArrays<Item>& split, std::uint32_t* warps) {
  constexpr std::uint32_t kBatch = 8;  // loads under way
  const std::uint32_t own = 2 * threadIdx.x, groups = (split.tiles + kGroupTiles - 1) / kGroupTiles;
  std::uint32_t running[2] = {0, 0};
  for (std::uint32_t at = 0; own < split.stride() && at < groups;) {
    unsigned long long sum[kBatch];
#pragma unroll
    for (std::uint32_t k = 0; k < kBatch; ++k) {
      sum[k] = at + k < groups ? LoadRelaxed(split.Group(at + k, own)) : 0;
    }
    bool come = true;
#pragma unroll
    for (std::uint32_t k = 0, first = at; k < kBatch; ++k) {
      const std::uint32_t group = first + k;
      const std::uint32_t whole =
          min(kGroupTiles, split.tiles - min(group, groups - 1) * kGroupTiles);
      come = come && group < groups && Low(sum[k]) >> 20 == whole;
      if (!come) continue;
      StoreRelaxed(split.Places(group, own), Join(running[0], split.epoch));
      StoreRelaxed(split.Places(group, own) + 1, Join(running[1], split.epoch));
      StoreRelaxed(split.Group(group, own), 0);  // as it was before the call
      running[0] += Low(sum[k]) & 0xFFFFFu;
      running[1] += High(sum[k]) & 0xFFFFFu;
      ++at;
    }
  }
  // A bucket 16 standard deviations over its mean: an error, once in 10^57 shuffles.
  if (max(running[0], running[1]) > split.bucket) __trap();
  const std::uint32_t first = ExclusiveSum<kWarps>(running[0] + running[1], warps);
  if (own < split.digits) split.starts[own] = first;
  if (own + 1 < split.digits) split.starts[own + 1] = first + running[0];
  if (threadIdx.x == 0) split.starts[split.digits] = split.n;
}

//! Bytes of shared memory of SplitTiles: items, order, and for each digit a target, a count ahead
//! and a counter of 16 bits a warp.
template <class Item, int kWarps>
constexpr std::size_t SplitBytes(std::uint32_t stride) {
  return 272 + TileOf(kWarps) * (sizeof(Item) + 4) + std::size_t{stride} * 4 * (kWarps / 2 + 2);
}

//! Splits a tile, by a block of kWarps warps; the first block sums. Blocks: 1 + ahead + tiles.
template <class Item, int kWarps, bool kLanesInOrder>
__global__ void __launch_bounds__(kScatterWarps * 32, 2)
    SplitTiles(const __grid_constant__ PhiloxRounds random,
               const __grid_constant__ PagedSplitArrays<Item> split) {
  constexpr std::uint32_t kThreads = kWarps * 32, kTile = TileOf(kWarps);
  constexpr int kEach = kScatterEach, kPairs = kWarps / 2;
  extern __shared__ __align__(128) unsigned char shared[];
  auto* warps = reinterpret_cast<std::uint32_t*>(shared);  // kWarps + 1 words
  auto* barrier = reinterpret_cast<std::uint64_t*>(shared + 192);
  auto* items = reinterpret_cast<Item*>(shared + 256);
  auto* order = reinterpret_cast<std::uint32_t*>(shared + 272 + kTile * sizeof(Item));
  const std::uint32_t digits = split.digits, stride = split.stride();
  auto* count = order + kTile;             // [pair of warps][digit]: a half-word for each warp
  auto* target = count + kPairs * stride;  // place of slot 0 of each digit
  auto* later = target + stride;           // counts of the tile ahead
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  auto* my_count = count + (warp >> 1) * stride;
  const std::uint32_t half_shift = (warp & 1) * 16;
  const auto* my_places = reinterpret_cast<const std::uint16_t*>(my_count) + (warp & 1);

  if (blockIdx.x == 0) return SumGroups<Item, kWarps>(split, warps);
  const std::uint32_t own = 2 * threadIdx.x;
  const auto count_ahead = [&](std::uint32_t tile) {
    const std::uint32_t begin = tile * kTile, slots = split.n - begin;
#pragma unroll
    for (int h = 0; h < kEach / 8; ++h) {
      const PhiloxBlock block =
          DigitBlock(random, kFirstStream, (begin >> 8) + warp * (kEach / 8) + h, lane);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const std::uint32_t slot = warp * (kEach * 32) + (h * 8 + j) * 32 + lane;
        if (slot < slots) atomicAdd(&later[Digit(block, j, digits)], 1u);
      }
    }
  };
  const auto publish_ahead = [&](std::uint32_t tile) {
    if (own < stride) PublishCounts(split, tile, own, {later[own], later[own + 1]});
  };
  for (std::uint32_t d = threadIdx.x; d < stride; d += kThreads) later[d] = 0;
  if (blockIdx.x <= split.ahead) {  // the first tiles, which no block that moves one counts
    __syncthreads();
    count_ahead(blockIdx.x - 1);
    __syncthreads();
    return publish_ahead(blockIdx.x - 1);
  }
  const std::uint32_t number = blockIdx.x - 1 - split.ahead, at = number * kTile;
  const bool counts_ahead = split.ahead > 0 && number + split.ahead < split.tiles;
  const std::uint32_t m = split.n - at < kTile ? split.n - at : kTile;
  BulkLoad<Item> load{barrier};
  load.Init();
  for (std::uint32_t c = threadIdx.x; c < kPairs * stride; c += kThreads) count[c] = 0;
  __syncthreads();
  load.Start(split.in + at, m, items);
  if (counts_ahead) count_ahead(number + split.ahead);

  const auto scatter = [&]<bool kFull>() {
    const std::uint32_t first_slot = warp * (kEach * 32) + lane;
    // Count. A slot's arrival number is its rank in its warp and digit.
    std::uint32_t word[kEach];  // digit in the low half, arrival number in the high
#pragma unroll
    for (int h = 0; h < kEach / 8; ++h) {
      const PhiloxBlock block =
          DigitBlock(random, kFirstStream, (at >> 8) + warp * (kEach / 8) + h, lane);
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
    std::uint32_t total[2] = {0, 0};
    const TwoDigits<kPairs> own_counts{reinterpret_cast<uint2*>(count + own), stride / 2};
    if (own < stride) own_counts.AddUp(total);
    if (counts_ahead) publish_ahead(number + split.ahead);
    if (split.ahead == 0 && own < stride) PublishCounts(split, number, own, total);
    const std::uint32_t first = ExclusiveSum<kWarps>(total[0] + total[1], warps);
    if (own < stride) {
      std::uint32_t running[2] = {first, first + total[0]};
      own_counts.ToPlaces(running);
    }
    __syncthreads();
    // Order: slots by digit.
    const auto put = [&](std::uint32_t packed, std::uint32_t slot, std::uint32_t shift) {
      if (!kFull && slot >= m) return;
      const std::uint32_t digit = packed & 0xFFFFu;
      order[my_places[2 * digit] + (packed >> 16)] =
          (digit << kDigitShift) | ((slot + shift) * static_cast<std::uint32_t>(sizeof(Item)));
    };
#pragma unroll
    for (int e = 0; e < kEach; ++e) put(word[e], first_slot + e * 32, load.shift);
    if (own < stride) {
      std::uint32_t place[2];
      AwaitPlaces(split, number, own, place);
      target[own] = place[0] - first;
      target[own + 1] = place[1] - first - total[0];
    }
    load.Wait();
    __syncthreads();
    // Write runs.
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t p = e * kThreads + threadIdx.x;
      if (kFull || p < m) {
        const std::uint32_t mine = order[p];
        const std::uint32_t digit = mine >> kDigitShift;
        const std::uint32_t to = split.pages.Place(digit, target[digit] + p);
        const std::uint32_t offset = mine & ((1u << kDigitShift) - 1);
        split.out[to] =
            *reinterpret_cast<const Item*>(reinterpret_cast<const unsigned char*>(items) + offset);
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

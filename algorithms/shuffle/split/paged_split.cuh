#pragma once
//! @file
//! A stable split by first digits in one pass on the GPU, into buckets that lie in pages.
//!
//! Problem: partition/cuda/scatter.cuh counts all digits in a pass of its own before any item
//! moves, and writes fast only as long as the hundreds of places it writes to lie near each other.
//! Approach: (1) A tile draws its digits once: it tells its counts to a block that does nothing but
//! sum, and is told its places while its items are on their way. Counts are added up by groups of 8
//! tiles (one atomic addition a pair of digits), so that the summing block has few words to read;
//! within a group a tile adds up those before it on its own. (2) Buckets need no beginning before
//! all is counted, as they lie in pages dealt out in turn. All buckets fill up at one rate, so what
//! is written at one time lies within two rows of pages. Waits: a tile for the counts of those
//! before it, which is safe as blocks are started in order. Bytes an item: sizeof(Item) read,
//! sizeof(Item) written. Memory: the items and up to a row of pages, two words a tile and digit.
//! Deterministic: the split is stable.

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/philox/rounds.hpp"
#include "algorithms/shuffle/split/digits.hpp"
#include "algorithms/shuffle/split/paged_split.hpp"
#include "algorithms/shuffle/split/tile.cuh"
#include "algorithms/shuffle/split/warp_rank.cuh"

namespace retable::shuffle {

inline constexpr std::uint32_t kGroupTiles = 8;

template <class Item>
struct PagedSplitArrays {
  const Item* in;
  Item* out;  //!< pages
  std::uint32_t n, digits, tiles;
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

//! How many items of digits own and own + 1 lie in earlier tiles: words that tell it, asked for
//! before they are needed.
struct AskedPlaces {
  unsigned long long count[kGroupTiles - 1], place[2];

  template <class Item>
  __device__ __forceinline__ void Ask(const PagedSplitArrays<Item>& split, std::uint32_t tile,
                                      std::uint32_t own) {
    const std::uint32_t group = tile / kGroupTiles, first = group * kGroupTiles;
#pragma unroll
    for (std::uint32_t k = 0; k < kGroupTiles - 1; ++k) {
      count[k] = first + k < tile ? LoadRelaxed(split.Counts(first + k, own))
                                  : Join(split.epoch << 14, split.epoch << 14);
    }
    const unsigned long long* from = split.Places(group, own);
    place[0] = LoadRelaxed(from);
    place[1] = LoadRelaxed(from + 1);
  }

  //! Waits for those that had not come, and adds up.
  template <class Item>
  __device__ __forceinline__ void Await(const PagedSplitArrays<Item>& split, std::uint32_t tile,
                                        std::uint32_t own, std::uint32_t (&sum)[2]) {
    const std::uint32_t group = tile / kGroupTiles, epoch = split.epoch;
    const unsigned long long* from = split.Places(group, own);
    while (High(place[0]) != epoch || High(place[1]) != epoch) {
      place[0] = LoadRelaxed(from);
      place[1] = LoadRelaxed(from + 1);
    }
    sum[0] = Low(place[0]);
    sum[1] = Low(place[1]);
#pragma unroll
    for (std::uint32_t k = 0; k < kGroupTiles - 1; ++k) {
      while (Low(count[k]) >> 14 != epoch || High(count[k]) >> 14 != epoch) {
        count[k] = LoadRelaxed(split.Counts(group * kGroupTiles + k, own));
      }
      sum[0] += Low(count[k]) & 0x3FFFu;
      sum[1] += High(count[k]) & 0x3FFFu;
    }
  }
};

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

//! Counters and such of a tile have a row of so many words: aligned to their size, so that the
//! address of a digit's word is its row's with the digit's bits set.
constexpr std::uint32_t SplitRow(std::uint32_t digits) {
  return digits < 4 ? 4 : digits;
}

//! Bytes of shared memory of SplitTiles: rows of counters of 16 bits a warp and of where runs go,
//! and one for the alignment of the first; 256 bytes for sums and the barrier; order; items.
template <class Item, int kWarps>
constexpr std::size_t SplitBytes(std::uint32_t digits) {
  return std::size_t{SplitRow(digits)} * 4 * (kWarps / 2 + 3) + 256 + 16 +
         TileOf(kWarps) * (sizeof(Item) + 4);
}

//! Where a tile's run of a digit goes, given the items of it in earlier tiles and its first place
//! in the tile: place p goes to the low word + p, or, from the high word on, to that on the next
//! page of the digit.
__device__ __forceinline__ unsigned long long RunTarget(const PageLayout& pages,
                                                        std::uint32_t digit, std::uint32_t earlier,
                                                        std::uint32_t first) {
  const std::uint32_t page_end = ((earlier >> pages.shift) + 1) << pages.shift;
  return Join(pages.Place(digit, earlier) - first, first + page_end - earlier);
}

//! Digit j of a block, of {0..mask / 4}, times 4: what BucketOf draws.
template <int kBits>
__device__ __forceinline__ std::uint32_t Digit4(const PhiloxBlock& block, int j,
                                                std::uint32_t mask) {
  const int bit = j * kBits % 32;
  const std::uint32_t word = block.word[j * kBits / 32];
  return (bit == 0 ? word << 2 : word >> (bit - 2)) & mask;
}

//! Splits a tile by 2^k digits of kBits bits each, by a block of kWarps warps; the first block
//! sums. Blocks: 1 + tiles.
template <class Item, int kWarps, int kBits, bool kLanesInOrder>
__global__ void __launch_bounds__(kWarps * 32, 2)
    SplitTiles(const __grid_constant__ PhiloxRounds random,
               const __grid_constant__ PagedSplitArrays<Item> split) {
  constexpr std::uint32_t kThreads = kWarps * 32, kTile = TileOf(kWarps);
  constexpr int kEach = kScatterEach, kPairs = kWarps / 2, kDrawn = 128 / kBits;
  static_assert(kTile * 8 <= 1 << 16);  // an order's word has half of its bits for a slot
  extern __shared__ __align__(128) unsigned char shared[];
  const std::uint32_t digits = split.digits, row = SplitRow(digits), mask = (digits - 1) * 4;
  auto* count = reinterpret_cast<std::uint32_t*>(shared + ((0 - SharedAddress(shared)) & mask));
  auto* target = reinterpret_cast<unsigned long long*>(count + kPairs * row);  // RunTarget
  auto* warps = reinterpret_cast<std::uint32_t*>(target + row);                // kWarps + 1 words
  auto* barrier = reinterpret_cast<std::uint64_t*>(warps + 48);
  auto* order = warps + 64;
  auto* items = reinterpret_cast<Item*>(order + kTile);
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, half = warp & 1;
  const std::uint32_t my_counts = SharedAddress(count + (warp >> 1) * row);  // below 2^16

  if (blockIdx.x == 0) return SumGroups<Item, kWarps>(split, warps);
  const std::uint32_t own = 2 * threadIdx.x;
  const std::uint32_t first_slot = warp * (kEach * 32) + lane;
  // The digits of the 32 kDrawn slots from h 32 kDrawn of the warp on.
  const auto draw = [&](std::uint32_t begin, int h) {
    const std::uint32_t group = begin / (32 * kDrawn) + warp * (kEach / kDrawn) + h;
    return random.Block(std::uint64_t{group} * 32 + lane, kFirstStream);
  };
  const std::uint32_t number = blockIdx.x - 1, at = number * kTile;
  const std::uint32_t m = split.n - at < kTile ? split.n - at : kTile;
  BulkLoad<Item> load{barrier};
  load.Init();
  for (std::uint32_t c = threadIdx.x; c < kPairs * row; c += kThreads) count[c] = 0;
  __syncthreads();
  load.Start(split.in + at, m, items);
  AskedPlaces asked;
  if (own < digits) asked.Ask(split, number, own);

  const auto scatter = [&]<bool kFull>() {
    // Count. A slot's arrival number is its rank in its warp and digit.
    std::uint32_t word[kEach];  // address of the counter in the low half, arrival in the high
    const std::uint32_t one = half > 0 ? 1u << 16 : 1u, joined = half > 0 ? 0x7610u : 0x5410u;
#pragma unroll
    for (int h = 0; h < kEach / kDrawn; ++h) {
      const PhiloxBlock block = draw(at, h);
#pragma unroll
      for (int j = 0; j < kDrawn; ++j) {
        const std::uint32_t counter = Digit4<kBits>(block, j, mask) | my_counts;
        const bool valid = kFull || first_slot + (h * kDrawn + j) * 32 < m;
        const std::uint32_t old = Arrive<kLanesInOrder>(counter, one, valid);
        word[h * kDrawn + j] = __byte_perm(counter, old, joined);
      }
    }
    __syncthreads();
    // Scan: each counter becomes its first place in the tile.
    std::uint32_t total[2] = {0, 0};
    auto* own_counts = reinterpret_cast<uint2*>(count + own);
    uint2 counted[kPairs];
    if (own < digits) {
#pragma unroll
      for (int k = 0; k < kPairs; ++k) counted[k] = own_counts[k * (row / 2)];
#pragma unroll
      for (int k = 0; k < kPairs; ++k) AddCounts(counted[k], total);
    }
    if (own < digits) PublishCounts(split, number, own, total);
    const std::uint32_t first = ExclusiveSum<kWarps>(total[0] + total[1], warps);
    if (own < digits) {
      std::uint32_t running[2] = {first, first + total[0]};
#pragma unroll
      for (int k = 0; k < kPairs; ++k) {
        own_counts[k * (row / 2)] = CountsToPlaces(counted[k], running);
      }
    }
    __syncthreads();
    // Order: slots by digit. A slot's word is its counter's address over 8 times the slot. Loads
    // are side by side, here and below, as stores keep the compiler from moving any past them.
    const std::uint32_t places = SharedAddress(order);
    std::uint32_t place[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      place[e] = LoadShared<std::uint16_t>((word[e] & 0xFFFFu) | (half * 2)) + (word[e] >> 16);
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t slot = first_slot + e * 32;
      if (kFull || slot < m) StoreShared(places + place[e] * 4, (word[e] << 16) + slot * 8);
    }
    if (own < digits) {
      std::uint32_t earlier[2];
      asked.Await(split, number, own, earlier);
      target[own] = RunTarget(split.pages, own, earlier[0], first);
      target[own + 1] = RunTarget(split.pages, own + 1, earlier[1], first + total[0]);
    }
    load.Wait();
    __syncthreads();
    // Write runs.
    constexpr int kBatch = sizeof(Item) == 16 ? 4 : 8;
    const std::uint32_t loaded = SharedAddress(items + load.shift);
    const std::uint32_t targets = SharedAddress(target);
    const std::uint32_t next_page = (digits - 1) << split.pages.shift;
#pragma unroll
    for (int b = 0; b < kEach; b += kBatch) {
      std::uint32_t mine[kBatch];
      std::uint64_t run[kBatch];
      Item item[kBatch];
#pragma unroll
      for (int e = 0; e < kBatch; ++e) {
        const std::uint32_t p = (b + e) * kThreads + threadIdx.x;
        mine[e] = kFull || p < m ? LoadShared<std::uint32_t>(places + p * 4) : 0;
      }
#pragma unroll
      for (int e = 0; e < kBatch; ++e) {
        run[e] = LoadShared<std::uint64_t>(targets + ((mine[e] >> 15) & (mask * 2)));
      }
#pragma unroll
      for (int e = 0; e < kBatch; ++e) {
        item[e] = LoadShared<Item>(loaded + (mine[e] & 0xFFFFu) / 8 * sizeof(Item));
      }
#pragma unroll
      for (int e = 0; e < kBatch; ++e) {
        const std::uint32_t p = (b + e) * kThreads + threadIdx.x;
        const std::uint32_t to = Low(run[e]) + p + (p < High(run[e]) ? 0 : next_page);
        if (kFull || p < m) split.out[to] = item[e];
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

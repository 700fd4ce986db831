#pragma once
//! @file
//! A stable split by first digits in one pass on the GPU, into buckets that lie in pages.
//!
//! Problem: partition/cuda/scatter.cuh counts all digits in a pass of its own before any item
//! moves, and writes fast only where its hundreds of write positions lie near each other.
//! Approach: (1) A tile draws its digits once: it publishes its counts to an aggregator block,
//! which scans them, and reads its positions while its items are loaded. A block counts a tile that
//! another moves later: digits are drawn twice, but no tile waits for its neighbours. Counts are
//! added up by groups of 8 tiles (one atomic addition a pair of digits), so that the aggregator has
//! few words to read; within a group a tile sums the earlier ones itself. (2) A bucket's begin need
//! not be known before all is counted, as buckets lie in pages dealt out in turn. All buckets fill
//! at one rate, so what is written at one time lies within two rows of pages. Waits: a tile waits
//! for the counts of earlier ones, which is safe as blocks start in order. Bytes an item:
//! sizeof(Item) read, sizeof(Item) written. Memory: the items and up to a row of pages, two words a
//! tile and digit. Deterministic: the split is stable. A kernel that splits a tile has four steps,
//! here and in partition/cuda/scatter.cuh: count, scan, order, write.

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/philox/rounds.hpp"
#include "algorithms/shuffle/split/digits.hpp"
#include "algorithms/shuffle/split/paged_split.hpp"
#include "algorithms/shuffle/split/tile.cuh"
#include "algorithms/shuffle/split/warp_rank.cuh"

namespace retable::shuffle {

//! What is split: n items, by digits {0..digits-1}.
struct SplitShape {
  std::uint32_t n, digits, tiles;
  std::uint32_t ahead;  //!< tiles between the one a block moves and the one it counts
  PageLayout pages;
  std::uint32_t epoch;     //!< 1 .. kMaxEpoch; words of other calls have another one
  std::uint32_t capacity;  //!< items of a bucket at most
};

//! Words by which tiles and the aggregator block exchange counts.
struct SplitCounts {
  std::uint32_t* tiles;        //!< [tile][stride]: epoch << 14 | count
  unsigned long long* groups;  //!< [group][stride / 2]: tiles << 20 | count twice, 0 between calls
  unsigned long long* before;  //!< [group][stride]: epoch << 32 | items of earlier groups
};

template <class Item>
struct PagedSplitArrays {
  const Item* in;
  Item* pages;
  SplitShape shape;
  SplitCounts counts;
  std::uint32_t* starts;  //!< [digits + 1]: begin of each bucket if they stood one after another

  //! Threads handle digits in pairs.
  __device__ std::uint32_t stride() const { return (shape.digits + 1) & ~1u; }
  __device__ unsigned long long* Tile(std::uint32_t tile, std::uint32_t digit) const {
    return reinterpret_cast<unsigned long long*>(counts.tiles + std::uint64_t{tile} * stride() +
                                                 digit);
  }
  __device__ unsigned long long* Group(std::uint32_t group, std::uint32_t digit) const {
    return counts.groups + (std::uint64_t{group} * stride() + digit) / 2;
  }
  __device__ unsigned long long* Before(std::uint32_t group, std::uint32_t digit) const {
    return counts.before + std::uint64_t{group} * stride() + digit;
  }
};

// Each word carries its epoch, so that no order between words is needed.
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

//! Publishes a tile's counts of digits own and own + 1.
template <class Item>
__device__ __forceinline__ void PublishCounts(const PagedSplitArrays<Item>& split,
                                              std::uint32_t tile, std::uint32_t own,
                                              const std::uint32_t (&count)[2]) {
  const std::uint32_t epoch = split.shape.epoch << 14, one = 1u << 20;
  StoreRelaxed(split.Tile(tile, own), Join(epoch | count[0], epoch | count[1]));
  atomicAdd(split.Group(tile / kGroupTiles, own), Join(one | count[0], one | count[1]));
}

//! Items of digits own and own + 1 in earlier tiles: the words are requested before they are
//! needed.
struct EarlierItems {
  unsigned long long count[kGroupTiles - 1], before[2];

  template <class Item>
  __device__ __forceinline__ void Request(const PagedSplitArrays<Item>& split, std::uint32_t tile,
                                          std::uint32_t own) {
    const std::uint32_t group = tile / kGroupTiles, first = group * kGroupTiles;
#pragma unroll
    for (std::uint32_t k = 0; k < kGroupTiles - 1; ++k) {
      count[k] = first + k < tile ? LoadRelaxed(split.Tile(first + k, own))
                                  : Join(split.shape.epoch << 14, split.shape.epoch << 14);
    }
    const unsigned long long* from = split.Before(group, own);
    before[0] = LoadRelaxed(from);
    before[1] = LoadRelaxed(from + 1);
  }

  //! Waits for words that are not published yet, and sums.
  template <class Item>
  __device__ __forceinline__ void Await(const PagedSplitArrays<Item>& split, std::uint32_t tile,
                                        std::uint32_t own, std::uint32_t (&sum)[2]) {
    const std::uint32_t group = tile / kGroupTiles, epoch = split.shape.epoch;
    const unsigned long long* from = split.Before(group, own);
    while (High(before[0]) != epoch || High(before[1]) != epoch) {
      before[0] = LoadRelaxed(from);
      before[1] = LoadRelaxed(from + 1);
    }
    sum[0] = Low(before[0]);
    sum[1] = Low(before[1]);
#pragma unroll
    for (std::uint32_t k = 0; k < kGroupTiles - 1; ++k) {
      while (Low(count[k]) >> 14 != epoch || High(count[k]) >> 14 != epoch) {
        count[k] = LoadRelaxed(split.Tile(group * kGroupTiles + k, own));
      }
      sum[0] += Low(count[k]) & 0x3FFFu;
      sum[1] += High(count[k]) & 0x3FFFu;
    }
  }
};

//! The aggregator block: scans the groups in order as they are published, publishes the items
//! before each, and at the end the begins of the buckets. Thread t has digits 2 t and 2 t + 1.
template <class Item, int kWarps>
__device__ __noinline__ void ScanGroups(const PagedSplitArrays<Item>& split, std::uint32_t* warps) {
  constexpr std::uint32_t kBatch = kAggregatorLoads;
  const std::uint32_t own = 2 * threadIdx.x,
                      groups = (split.shape.tiles + kGroupTiles - 1) / kGroupTiles;
  std::uint32_t running[2] = {0, 0};
  for (std::uint32_t at = 0; own < split.stride() && at < groups;) {
    unsigned long long sum[kBatch];
#pragma unroll
    for (std::uint32_t k = 0; k < kBatch; ++k) {
      sum[k] = at + k < groups ? LoadRelaxed(split.Group(at + k, own)) : 0;
    }
    bool published = true;
#pragma unroll
    for (std::uint32_t k = 0, first = at; k < kBatch; ++k) {
      const std::uint32_t group = first + k;
      const std::uint32_t whole =
          min(kGroupTiles, split.shape.tiles - min(group, groups - 1) * kGroupTiles);
      published = published && group < groups && Low(sum[k]) >> 20 == whole;
      if (!published) continue;
      StoreRelaxed(split.Before(group, own), Join(running[0], split.shape.epoch));
      StoreRelaxed(split.Before(group, own) + 1, Join(running[1], split.shape.epoch));
      StoreRelaxed(split.Group(group, own), 0);  // the next call counts from 0
      running[0] += Low(sum[k]) & 0xFFFFFu;
      running[1] += High(sum[k]) & 0xFFFFFu;
      ++at;
    }
  }
  // A bucket 16 standard deviations over its mean: an error, once in 10^57 shuffles.
  if (max(running[0], running[1]) > split.shape.capacity) __trap();
  const std::uint32_t first = ExclusiveSum<kWarps>(running[0] + running[1], warps);
  if (own < split.shape.digits) split.starts[own] = first;
  if (own + 1 < split.shape.digits) split.starts[own + 1] = first + running[0];
  if (threadIdx.x == 0) split.starts[split.shape.digits] = split.shape.n;
}

//! Words of a row of counters: rows are aligned to their size, so that the address of a digit's
//! word is its row's with the digit's bits set.
constexpr std::uint32_t SplitRow(std::uint32_t digits) {
  return digits < 4 ? 4 : digits;
}

//! Bytes of shared memory of SplitTiles: rows of counters of 16 bits a warp, of counts of the later
//! tile, of where runs go, and one for the alignment of the first; 256 bytes for sums and the
//! barrier; order; items where they are loaded.
template <class Item, int kWarps, ItemsFrom kFrom>
constexpr std::size_t SplitBytes(std::uint32_t digits) {
  return std::size_t{SplitRow(digits)} * 4 * (kWarps / 2 + 4) + 256 + TileOf(kWarps) * 4 +
         LoadedBytes<Item, kFrom>(TileOf(kWarps));
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

//! A cache policy: the line is evicted last, since the neighbouring runs of other tiles, which come
//! soon, write the rest of it. Before compute capability 8.0 there is none.
__device__ __forceinline__ std::uint64_t EvictLastPolicy() {
  std::uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
#endif
  return policy;
}
template <class Item>
__device__ __forceinline__ void Store(Item* to, const Item& item, std::uint64_t policy) {
#if __CUDA_ARCH__ < 800
  *to = item;
#else
  if constexpr (sizeof(Item) == 16) {
    asm volatile("st.global.L2::cache_hint.v2.u64 [%0], {%1, %2}, %3;" ::"l"(to), "l"(item.half[0]),
                 "l"(item.half[1]), "l"(policy)
                 : "memory");
  } else if constexpr (sizeof(Item) == 8) {
    asm volatile("st.global.L2::cache_hint.u64 [%0], %1, %2;" ::"l"(to), "l"(item), "l"(policy)
                 : "memory");
  } else {
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(to), "r"(item), "l"(policy)
                 : "memory");
  }
#endif
}

//! Shared memory of a tile, and the thread's share of the work.
template <class Item, int kWarps>
struct SplitTile {
  static constexpr std::uint32_t kThreads = kWarps * 32, kTile = TileOf(kWarps);
  static constexpr int kEach = kScatterEach, kPairs = kWarps / 2;
  static_assert(kTile * 8 <= 1 << 16);  // an order's word has half of its bits for a slot

  std::uint32_t row, mask;     //!< words of a row of counters; bits of a digit's address
  std::uint32_t* count;        //!< [pair of warps][digit]: a half-word for each warp
  std::uint32_t* later;        //!< [digit]: counts of the later tile
  unsigned long long* target;  //!< RunTarget of each digit
  std::uint32_t* warps;        //!< kWarps + 1 words
  std::uint64_t* barrier;
  std::uint32_t* order;
  Item* items;
  std::uint32_t lane, warp, half;
  std::uint32_t my_counts;   //!< shared address of the warp's counters, below 2^16
  std::uint32_t own;         //!< first of the thread's two digits
  std::uint32_t first_slot;  //!< first of the thread's slots, which are 32 apart

  __device__ __forceinline__ SplitTile(unsigned char* shared, std::uint32_t digits) {
    row = SplitRow(digits);
    mask = (digits - 1) * 4;
    count = reinterpret_cast<std::uint32_t*>(shared + ((0 - SharedAddress(shared)) & mask));
    later = count + kPairs * row;
    target = reinterpret_cast<unsigned long long*>(later + row);
    warps = reinterpret_cast<std::uint32_t*>(target + row);
    barrier = reinterpret_cast<std::uint64_t*>(warps + 48);
    order = warps + 64;
    items = reinterpret_cast<Item*>(order + kTile);
    lane = threadIdx.x & 31;
    warp = threadIdx.x >> 5;
    half = warp & 1;
    my_counts = SharedAddress(count + (warp >> 1) * row);
    own = 2 * threadIdx.x;
    first_slot = warp * (kEach * 32) + lane;
  }

  //! Draws the digits of the 32 kDrawn slots from h 32 kDrawn of the warp on, kDrawn a lane.
  template <int kDrawn>
  __device__ __forceinline__ PhiloxBlock Draw(const PhiloxRounds& random, std::uint32_t at,
                                              int h) const {
    const std::uint32_t group = at / (32 * kDrawn) + warp * (kEach / kDrawn) + h;
    return random.Block(std::uint64_t{group} * 32 + lane, kFirstStream);
  }

  //! Counts the digits of a tile that another block moves.
  template <int kBits>
  __device__ __forceinline__ void CountLater(const PhiloxRounds& random,
                                             const PagedSplitArrays<Item>& split,
                                             std::uint32_t number) const {
    constexpr int kDrawn = 128 / kBits;
    const std::uint32_t at = number * kTile, slots = split.shape.n - at;
    const std::uint32_t counts = SharedAddress(later);
#pragma unroll
    for (int h = 0; h < kEach / kDrawn; ++h) {
      const PhiloxBlock block = Draw<kDrawn>(random, at, h);
#pragma unroll
      for (int j = 0; j < kDrawn; ++j) {
        if (first_slot + (h * kDrawn + j) * 32 >= slots) break;
        CountShared(Digit4<kBits>(block, j, mask) | counts);
      }
    }
  }
  __device__ __forceinline__ void PublishLater(const PagedSplitArrays<Item>& split,
                                               std::uint32_t number) const {
    if (own < split.shape.digits) PublishCounts(split, number, own, {later[own], later[own + 1]});
  }

  //! Step 1. Counts the digits of m slots from `at` on. A slot's word gets its counter's address in
  //! the low half and its intra-warp rank in the high half.
  template <int kBits, bool kLanesInOrder, bool kFull>
  __device__ __forceinline__ void Count(const PhiloxRounds& random, std::uint32_t at,
                                        std::uint32_t m, std::uint32_t (&word)[kEach]) const {
    constexpr int kDrawn = 128 / kBits;
    const std::uint32_t one = half > 0 ? 1u << 16 : 1u, joined = half > 0 ? 0x7610u : 0x5410u;
#pragma unroll
    for (int h = 0; h < kEach / kDrawn; ++h) {
      const PhiloxBlock block = Draw<kDrawn>(random, at, h);
#pragma unroll
      for (int j = 0; j < kDrawn; ++j) {
        const std::uint32_t counter = Digit4<kBits>(block, j, mask) | my_counts;
        const bool valid = kFull || first_slot + (h * kDrawn + j) * 32 < m;
        const std::uint32_t old = RankInWarp<kLanesInOrder>(counter, one, valid);
        word[h * kDrawn + j] = __byte_perm(counter, old, joined);
      }
    }
  }

  //! Step 2. Each counter becomes its first place in the tile; the counts of the later tile are
  //! published. `total` are the counts of the own digits. @return the first place of the own digits
  __device__ __forceinline__ std::uint32_t Scan(const PagedSplitArrays<Item>& split,
                                                std::uint32_t number,
                                                std::uint32_t (&total)[2]) const {
    const std::uint32_t digits = split.shape.digits;
    auto* own_counts = reinterpret_cast<uint2*>(count + own);
    uint2 counted[kPairs];
    if (own < digits) {
#pragma unroll
      for (int k = 0; k < kPairs; ++k) counted[k] = own_counts[k * (row / 2)];
#pragma unroll
      for (int k = 0; k < kPairs; ++k) AddCounts(counted[k], total);
    }
    if (number + split.shape.ahead < split.shape.tiles) {
      PublishLater(split, number + split.shape.ahead);
    }
    const std::uint32_t first = ExclusiveSum<kWarps>(total[0] + total[1], warps);
    if (own < digits) {
      std::uint32_t running[2] = {first, first + total[0]};
#pragma unroll
      for (int k = 0; k < kPairs; ++k) {
        own_counts[k * (row / 2)] = CountsToPlaces(counted[k], running);
      }
    }
    return first;
  }

  //! Step 3. Orders slots by digit. A slot's word is its counter's address over 8 times the slot.
  //! Loads are side by side, here and in Write, as stores keep the compiler from moving any past
  //! them.
  template <bool kFull>
  __device__ __forceinline__ void Order(std::uint32_t m, const std::uint32_t (&word)[kEach]) const {
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
  }

  //! Step 4. Writes runs of the items from `at` on; `shift` is that of their load.
  template <bool kFull, ItemsFrom kFrom>
  __device__ __forceinline__ void Write(const PagedSplitArrays<Item>& split, std::uint32_t at,
                                        std::uint32_t m, std::uint32_t shift) const {
    constexpr int kBatch = kRunLoads<Item>;
    const std::uint32_t places = SharedAddress(order);
    const std::uint32_t loaded = SharedAddress(items + shift);
    const std::uint32_t targets = SharedAddress(target);
    const std::uint32_t next_page = (split.shape.digits - 1) << split.shape.pages.shift;
    const std::uint64_t policy = EvictLastPolicy();
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
        const std::uint32_t slot = (mine[e] & 0xFFFFu) / 8;
        if constexpr (kFrom == ItemsFrom::kTile) {
          item[e] = LoadShared<Item>(loaded + slot * sizeof(Item));
        } else {
          item[e] = split.in[at + (kFull || slot < m ? slot : 0)];
        }
      }
#pragma unroll
      for (int e = 0; e < kBatch; ++e) {
        const std::uint32_t p = (b + e) * kThreads + threadIdx.x;
        const std::uint32_t to = Low(run[e]) + p + (p < High(run[e]) ? 0 : next_page);
        if (kFull || p < m) Store(split.pages + to, item[e], policy);
      }
    }
  }
};

//! Splits a tile by 2^k digits of kBits bits each, by a block of kWarps warps; the first block is
//! the aggregator. Blocks: 1 + ahead + tiles.
template <class Item, int kWarps, int kBits, ItemsFrom kFrom, bool kLanesInOrder>
__global__ void __launch_bounds__(kWarps * 32, 2)
    SplitTiles(const __grid_constant__ PhiloxRounds random,
               const __grid_constant__ PagedSplitArrays<Item> split) {
  using Tile = SplitTile<Item, kWarps>;
  constexpr std::uint32_t kTile = Tile::kTile;
  extern __shared__ __align__(128) unsigned char shared[];
  const std::uint32_t digits = split.shape.digits;
  const Tile tile(shared, digits);

  if (blockIdx.x == 0) return ScanGroups<Item, kWarps>(split, tile.warps);
  const std::uint32_t own = tile.own;
  for (std::uint32_t d = threadIdx.x; d < digits; d += Tile::kThreads) tile.later[d] = 0;
  if (blockIdx.x <=
      split.shape.ahead) {  // the first tiles, which no block counts while it moves one
    __syncthreads();
    tile.template CountLater<kBits>(random, split, blockIdx.x - 1);
    __syncthreads();
    return tile.PublishLater(split, blockIdx.x - 1);
  }
  const std::uint32_t number = blockIdx.x - 1 - split.shape.ahead, at = number * kTile;
  const std::uint32_t m = split.shape.n - at < kTile ? split.shape.n - at : kTile;
  BulkLoad<Item> load{tile.barrier};
  constexpr bool kLoads = kFrom == ItemsFrom::kTile;
  if (kLoads) load.Init();
  for (std::uint32_t c = threadIdx.x; c < Tile::kPairs * tile.row; c += Tile::kThreads) {
    tile.count[c] = 0;
  }
  __syncthreads();
  if (kLoads) load.Start(split.in + at, m, tile.items);
  EarlierItems earlier_items;
  if (own < digits) earlier_items.Request(split, number, own);
  if (number + split.shape.ahead < split.shape.tiles) {
    tile.template CountLater<kBits>(random, split, number + split.shape.ahead);
  }

  const auto scatter = [&]<bool kFull>() {
    std::uint32_t word[Tile::kEach], total[2] = {0, 0};
    tile.template Count<kBits, kLanesInOrder, kFull>(random, at, m, word);
    __syncthreads();
    const std::uint32_t first = tile.Scan(split, number, total);
    __syncthreads();
    tile.template Order<kFull>(m, word);
    if (own < digits) {
      std::uint32_t earlier[2];
      earlier_items.Await(split, number, own, earlier);
      tile.target[own] = RunTarget(split.shape.pages, own, earlier[0], first);
      tile.target[own + 1] = RunTarget(split.shape.pages, own + 1, earlier[1], first + total[0]);
    }
    if (kLoads) load.Wait();
    __syncthreads();
    tile.template Write<kFull, kFrom>(split, at, m, load.shift);
  };
  if (m == kTile) {
    scatter.template operator()<true>();
  } else {
    scatter.template operator()<false>();
  }
}

}  // namespace retable::shuffle

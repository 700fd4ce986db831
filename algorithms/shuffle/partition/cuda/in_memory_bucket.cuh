#pragma once
//! @file
//! Last pass of the partition shuffle on the GPU: in-memory buckets, shuffled in shared memory.
//!
//! The kernel orders the bucket's 16-bit slots while the copy engine loads the items. A slot goes
//! to a row of its bin's column, which one atomic addition gives: in any order, without a count
//! beforehand. A thread then owns four bins of about four slots each, sorts the slots of two at a
//! time in registers, reads their orders from a table (partition/bin_orders.hpp) and sends each
//! slot to its place. The few bins of more than eight slots are listed by their owners for two
//! warps that own none. At the end items are read by slot and written in a stream, 16 bytes a
//! store. Two buckets share a multiprocessor, so that one computes while the other waits. Four
//! barriers. Bytes an item: sizeof(Item) read, sizeof(Item) written. About 85 instructions an item.

#include "algorithms/shuffle/block.cuh"
#include "algorithms/shuffle/partition/bin_orders.hpp"
#include "algorithms/shuffle/partition/cuda/sorting_networks.hpp"
#include "algorithms/shuffle/partition/partition.hpp"
#include "algorithms/shuffle/philox/rounds.hpp"
#include "algorithms/shuffle/split/tile.cuh"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/warp_reduce.cuh"

namespace retable::shuffle {

//! Global memory for buckets too large for shared memory: `used` counts items taken.
template <class Item>
struct Overflow {
  Item* items;
  std::uint32_t* order;
  std::uint32_t capacity;
  std::uint32_t* used;
};

//! Shared memory of a bucket.
template <class Item, ItemsFrom kFrom>
struct BucketMemory {
  std::uint64_t barrier;                  //!< barrier of the items' load
  std::uint32_t aside_used;               //!< slots in `aside`, or more than there is room for
  std::uint32_t too_large;                //!< not 0: a bin of more than kLargestBin slots
  std::uint32_t listed;                   //!< bins in `large`, or more than there is room for
  std::uint32_t warps[kBucketWarps + 1];  //!< slots of a warp's bins
  std::uint32_t aside[kMostAside];        //!< bin << 16 | slot
  std::uint32_t large[kMostLarge];   //!< slots before it of its owner's << 16 | size << 11 | bin
  std::uint16_t before[kBinOwners];  //!< slots of earlier bins of the owner's warp
  alignas(16) BinOrders<kReadBin> orders;
  alignas(16) std::uint16_t rows[kRows][kBins];  //!< slots that drew a bin, 0xFFFF where none did
  union {
    alignas(16) std::uint32_t count[kBins];                 //!< until the places are known
    alignas(16) std::uint16_t slot[kInMemoryCapacity + 8];  //!< slot of each place
  };
  alignas(16) unsigned char items[kFrom == ItemsFrom::kTile
                                      ? LoadedBytes<Item, ItemsFrom::kTile>(kInMemoryCapacity)
                                      : 16];
};

static_assert(sizeof(BucketMemory<std::uint64_t, ItemsFrom::kTile>) <=
                  kSharedBytes90 / 2 - 1024 - 128,
              "two blocks share a multiprocessor of compute capability 9.0");

inline constexpr BinOrders<kReadBin> kMadeBinOrders = MakeBinOrders<kReadBin>();
static __device__ const BinOrders<kReadBin> kBinOrdersOnDevice = kMadeBinOrders;

//! Shuffles a bucket of any size in global memory: thread t gathers the slots of bins t, t + 512,
//! .... Slow, and almost never needed.
template <class Item>
__device__ __noinline__ void ShuffleLargeBucket(const Philox4x32& random, std::uint64_t bucket,
                                                const Overflow<Item>& overflow, const Item* in,
                                                Item* out, std::uint32_t m, std::uint32_t* warps) {
  __shared__ std::uint32_t aside;
  if (threadIdx.x == 0) aside = atomicAdd(overflow.used, m);
  __syncthreads();
  if (aside + m > overflow.capacity) __trap();
  Item* items = overflow.items + aside;
  std::uint32_t* order = overflow.order + aside;
  for (std::uint32_t s = threadIdx.x; s < m; s += kBucketThreads) items[s] = in[s];
  const auto bin_of = [&](std::uint32_t s) {
    return Digit(DigitBlock(random, InMemoryStream(bucket), s >> 8, s & 31),
                 static_cast<int>((s >> 5) & 7), kBins);
  };
  std::uint32_t begin = 0;
  for (std::uint32_t first = 0; first < kBins; first += kBucketThreads) {
    const std::uint32_t bin = first + threadIdx.x;  // past the last bin: empty
    std::uint32_t size = 0;
    for (std::uint32_t s = 0; s < m; ++s) size += bin_of(s) == bin;
    __syncthreads();
    std::uint32_t next = begin + ExclusiveSum<kBucketWarps>(size, warps);
    begin += warps[kBucketWarps];
    std::uint32_t* slots = order + next;
    for (std::uint32_t s = 0; s < m; ++s) {
      if (bin_of(s) == bin) order[next++] = s;
    }
    if (size <= kSmallBin) {
      const std::uint32_t word = SwapBlock(random, bucket, bin >> 2).word[bin & 3];
      const std::uint64_t places = UniformSmallOrder(random, bucket, bin, size, word);
      std::uint32_t moved[kSmallBin];
      for (std::uint32_t r = 0; r < size; ++r) moved[(places >> (4 * r)) & 15] = slots[r];
      for (std::uint32_t r = 0; r < size; ++r) slots[r] = moved[r];
    } else {
      for (std::uint32_t k = 1; k < size; ++k) {
        const std::uint32_t t = LargeSwap(random, bucket, bin, k), moving = slots[k];
        slots[k] = slots[t];
        slots[t] = moving;
      }
    }
  }
  __syncthreads();
  for (std::uint32_t p = threadIdx.x; p < m; p += kBucketThreads) out[p] = items[order[p]];
}

//! The table of orders, no slots in the columns, no counts.
template <class Memory>
__device__ __forceinline__ void ClearBucketMemory(Memory& shared) {
  constexpr std::uint32_t kTableWords = sizeof(shared.orders) / 4;
  static_assert(kTableWords > kBucketThreads && kTableWords <= 2 * kBucketThreads);
  const std::uint32_t thread = threadIdx.x;
  const auto* table = reinterpret_cast<const std::uint32_t*>(&kBinOrdersOnDevice);
  const std::uint32_t word = table[thread];
  const bool second = thread + kBucketThreads < kTableWords;
  const std::uint32_t second_word = second ? table[thread + kBucketThreads] : 0;
  if (thread == 0) shared.aside_used = shared.too_large = shared.listed = 0;
  if (thread < kBinOwners) {
    reinterpret_cast<uint4*>(shared.count)[thread] = make_uint4(0, 0, 0, 0);
    static_assert(kPairedBin * kBins / 8 == 4 * kBinOwners);
#pragma unroll
    for (std::uint32_t c = 0; c < 4; ++c) {
      reinterpret_cast<uint4*>(shared.rows)[thread + c * kBinOwners] =
          make_uint4(~0u, ~0u, ~0u, ~0u);
    }
  }
  auto* own = reinterpret_cast<std::uint32_t*>(&shared.orders) + thread;
  own[0] = word;
  if (second) own[kBucketThreads] = second_word;
}

//! The 256 slots of a group go to rows of their bins. kFull: all are less than m.
template <bool kFull, class Memory>
__device__ __forceinline__ void DealGroup(Memory& shared, const PhiloxBlock& block,
                                          std::uint32_t first, std::uint32_t m) {
  std::uint32_t bin[8], row[8], last_row = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    bin[j] = Digit(block, j, kBins);
    row[j] = 0;
    if (kFull || first + j * 32 < m) row[j] = atomicAdd(&shared.count[bin[j]], 1u);
  }
  const std::uint32_t rows = SharedAddress(shared.rows);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const std::uint32_t slot = first + j * 32;
    last_row = last_row > row[j] ? last_row : row[j];
    if (row[j] < kRows && (kFull || slot < m)) {
      StoreShared(rows + 2 * bin[j] + row[j] * (2 * kBins), static_cast<std::uint16_t>(slot));
    }
  }
  if (last_row < kRows) return;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    if (row[j] < kRows) continue;
    const std::uint32_t at = atomicAdd(&shared.aside_used, 1u);
    if (at < kMostAside) shared.aside[at] = (bin[j] << 16) | (first + j * 32);
  }
}

//! Four neighbouring bins of up to eight slots, and the order in which their owner places them.
struct OwnBins {
  std::uint32_t where[4];    //!< slots of earlier bins of the warp << 16 | size; others place a
                             //!< larger bin, which has size 0 here
  std::uint32_t order[4];    //!< nibble r: the place of slot r
  std::uint32_t pair[2][8];  //!< the slots, sorted, of bins 0 and 1 and of 2 and 3, in halves

  template <class Memory>
  __device__ __forceinline__ void Load(Memory& shared, const PhiloxRounds& random,
                                       std::uint64_t bucket) {
    const std::uint32_t thread = threadIdx.x, lane = thread & 31;
    const uint4 counted = reinterpret_cast<const uint4*>(shared.count)[thread];
    std::uint32_t size[4] = {counted.x, counted.y, counted.z, counted.w};
    const std::uint32_t own = size[0] + size[1] + size[2] + size[3];
    const std::uint32_t sum = InclusiveSumOfWarp(own);
    if (lane == 31) shared.warps[thread >> 5] = sum;
    shared.before[thread] = static_cast<std::uint16_t>(sum - own);
    if (max(max(size[0], size[1]), max(size[2], size[3])) > kPairedBin) {
      std::uint32_t before = 0;
#pragma unroll
      for (std::uint32_t b = 0; b < 4; ++b) {
        if (size[b] > kPairedBin) {
          const std::uint32_t at = atomicAdd(&shared.listed, 1u);
          if (at < kMostLarge) {
            shared.large[at] = (before << 16) | ((size[b] & 31u) << 11) | (4 * thread + b);
          }
          if (size[b] > kLargestBin) shared.too_large = 1;
        }
        before += size[b];
      }
    }
#pragma unroll
    for (std::uint32_t r = 0; r < kPairedBin; ++r) {
      const uint2 four = reinterpret_cast<const uint2*>(shared.rows[r])[thread];
      pair[0][r] = four.x;
      pair[1][r] = four.y;
    }
    SortEight(pair[0]);
    SortEight(pair[1]);
    std::uint32_t begin = sum - own;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const std::uint32_t counted_here = size[b];
      if (counted_here > kPairedBin) size[b] = 0;
      where[b] = (begin << 16) | size[b];
      begin += counted_here;
    }
    PhiloxBlock draws = SwapBlock(random, bucket, thread);
    std::uint32_t least = ~0u;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      std::uint32_t made[1];
      ReadOrder<kPairedBin, kReadBin>(shared.orders.scale, shared.orders.places, size[b],
                                      draws.word[b], made);
      order[b] = made[0];
      least = least < draws.word[b] ? least : draws.word[b];
    }
    // What is left of the words is over 8! nearly always, which settles that they decide.
    if (least >= 40320u) return;
#pragma unroll
    for (std::uint32_t b = 0; b < 4; ++b) {
      if (draws.word[b] < 40320u && DrawsAgain(draws.word[b], size[b])) {
        order[b] = static_cast<std::uint32_t>(
            SmallOrderAgain(random.generator, bucket, 4 * thread + b, size[b]));
      }
    }
  }

  //! `place` is the shared address of the first place of the warp's bins.
  __device__ __forceinline__ void Place(std::uint32_t place) const {
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      // A byte for each place, so that one instruction picks it, doubles it and adds it.
      const std::uint32_t even = order[b] & 0x0F0F0F0Fu, odd = (order[b] >> 4) & 0x0F0F0F0Fu;
      const std::uint32_t first = place + 2 * (where[b] >> 16), size = where[b] & 0xFFFFu;
#pragma unroll
      for (std::uint32_t r = 0; r < kPairedBin; ++r) {
        const std::uint32_t at = __dp4a((r & 1) != 0 ? odd : even, 2u << (8 * (r / 2)), first);
        const std::uint32_t slots = pair[b / 2][r];
        if (r < size) {
          StoreShared(at, static_cast<std::uint16_t>((b & 1) != 0 ? slots >> 16 : slots));
        }
      }
    }
  }
};

//! Slot `number` >= kRows of a bin, in the order of their coming; 0xFFFF if there is none.
template <class Memory>
__device__ __forceinline__ std::uint32_t SlotAside(const Memory& shared, std::uint32_t bin,
                                                   std::uint32_t number) {
  for (std::uint32_t a = 0; a < shared.aside_used; ++a) {
    if (shared.aside[a] >> 16 == bin && number-- == kRows) return shared.aside[a] & 0xFFFFu;
  }
  return 0xFFFFu;
}

//! A listed bin, and one lane's order of it when it has up to 12 slots.
struct LargeBin {
  std::uint32_t bin = 0, size = 0;
  std::uint32_t before = 0;  //!< slots of its owner's earlier bins
  std::uint32_t order[2], slot[kSmallBin];

  template <class Memory>
  __device__ __forceinline__ void Load(Memory& shared, const PhiloxRounds& random,
                                       std::uint64_t bucket, std::uint32_t entry) {
    bin = entry & 0x7FFu;
    size = (entry >> 11) & 31u;
    before = entry >> 16;
    if (size == 0 || size > kSmallBin) return;
#pragma unroll
    for (std::uint32_t r = 0; r < kSmallBin; ++r) {
      slot[r] = 0xFFFFu;
      if (r < size) slot[r] = r < kRows ? shared.rows[r][bin] : SlotAside(shared, bin, r);
    }
    SortTwelve(slot);
    const PhiloxBlock draws = SwapBlock(random, bucket, bin >> 2);
    const std::uint32_t low = (bin & 1) != 0 ? draws.word[1] : draws.word[0];
    const std::uint32_t high = (bin & 1) != 0 ? draws.word[3] : draws.word[2];
    std::uint32_t word = (bin & 2) != 0 ? high : low;
    ReadOrder<kSmallBin, kReadBin>(shared.orders.scale, shared.orders.places, size, word, order);
    const std::uint32_t surely = size == 9    ? 362880u
                                 : size == 10 ? 3628800u
                                 : size == 11 ? 39916800u
                                              : 479001600u;  // size!
    if (word < surely && DrawsAgain(word, size)) {
      const std::uint64_t again = SmallOrderAgain(random.generator, bucket, bin, size);
      order[0] = static_cast<std::uint32_t>(again);
      order[1] = static_cast<std::uint32_t>(again >> 32);
    }
  }

  __device__ __forceinline__ void Place(std::uint16_t* first) const {
    if (size == 0 || size > kSmallBin) return;
#pragma unroll
    for (std::uint32_t r = 0; r < kSmallBin; ++r) {
      if (r < size)
        first[(order[r / 8] >> (4 * (r % 8))) & 15u] = static_cast<std::uint16_t>(slot[r]);
    }
  }
};

//! One warp: a bin of 13 to 31 slots. Sorted by counting those before each; then swapped in place.
template <class Memory>
__device__ __forceinline__ void PlaceLargestBin(Memory& shared, const PhiloxRounds& random,
                                                std::uint64_t bucket, std::uint32_t bin,
                                                std::uint32_t size, std::uint16_t* place) {
  const std::uint32_t lane = threadIdx.x & 31;
  std::uint32_t slot = 0xFFFFu, before = 0, target = 0;
  if (lane < size) slot = lane < kRows ? shared.rows[lane][bin] : SlotAside(shared, bin, lane);
  __syncwarp();
  for (std::uint32_t r = 0; r < size; ++r) before += __shfl_sync(0xFFFFFFFFu, slot, r) < slot;
  if (lane < size) place[before] = static_cast<std::uint16_t>(slot);
  if (lane > 0 && lane < size) target = LargeSwap(random.generator, bucket, bin, lane);
  __syncwarp();
  for (std::uint32_t k = 1; k < size; ++k) {
    const std::uint32_t t = __shfl_sync(0xFFFFFFFFu, target, k);
    if (lane > 0) continue;
    const std::uint16_t moving = place[k];
    place[k] = place[t];
    place[t] = moving;
  }
  __syncwarp();
}

//! Writes items[slot[p]] to place p for p of [before, end), counted from a multiple of 16 bytes.
//! `slots` and `items` are shared addresses.
template <class Item>
__device__ __forceinline__ void WriteInOrder(std::uint32_t slots, std::uint32_t items, Item* target,
                                             std::uint32_t before, std::uint32_t end) {
  constexpr std::uint32_t kPack = 16 / sizeof(Item), kBytes = sizeof(Item);
  const std::uint32_t first = before == 0 ? 0 : kPack, last = end / kPack * kPack;
  // The item whose slot is in a half of a word: one instruction for its address.
  const auto item_at = [&](std::uint32_t two, int half) {
    return LoadShared<Item>(__dp2a_lo(two, half == 0 ? kBytes : kBytes << 8, items));
  };
  const auto pack_at = [&](std::uint32_t q) {
    uint4 pack;
    if constexpr (kPack == 2) {
      const std::uint32_t two = LoadShared<std::uint32_t>(slots + 2 * q);
      const std::uint64_t a = item_at(two, 0), b = item_at(two, 1);
      pack = make_uint4(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32),
                        static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32));
    } else {
      const std::uint64_t four = LoadShared<std::uint64_t>(slots + 2 * q);
      const auto low = static_cast<std::uint32_t>(four),
                 high = static_cast<std::uint32_t>(four >> 32);
      pack = make_uint4(item_at(low, 0), item_at(low, 1), item_at(high, 0), item_at(high, 1));
    }
    return pack;
  };
  constexpr std::uint32_t kStep = kBucketThreads * kPack, kAhead = kPacksAhead;
  auto* to = reinterpret_cast<uint4*>(target + first) + threadIdx.x;
  for (std::uint32_t q = first + threadIdx.x * kPack; q < last;
       q += kAhead * kStep, to += kAhead * kBucketThreads) {
    uint4 pack[kAhead];
#pragma unroll
    for (std::uint32_t a = 0; a < kAhead; ++a) {
      if (q + a * kStep < last) pack[a] = pack_at(q + a * kStep);
    }
#pragma unroll
    for (std::uint32_t a = 0; a < kAhead; ++a) {
      if (q + a * kStep < last) to[a * kBucketThreads] = pack[a];
    }
  }
  // The ends that are no whole packs.
  if (threadIdx.x >= 2 * kPack) return;
  const bool front = threadIdx.x < kPack;
  const std::uint32_t p = front ? threadIdx.x : last + threadIdx.x - kPack;
  if (p < before || p >= end || (front ? first == 0 : last < first)) return;
  const std::uint32_t two = LoadShared<std::uint32_t>(slots + (2 * p & ~3u));
  target[p] = item_at((p & 1) != 0 ? two >> 16 : two & 0xFFFFu, 0);
}

//! Buckets to shuffle; in == out or no overlap. Bucket b is [starts[b], starts[b + 1]).
template <class Item>
struct InMemoryBuckets {
  const Item* in;
  Item* out;
  const std::uint32_t* starts;
  std::uint32_t capacity;  //!< larger buckets are shuffled in global memory
  Overflow<Item> overflow;
};

//! By the warps that own no bins: places the listed ones in turn. `of_warp` are the slots of warp
//! `lane`, `before` the places in front of the bucket's first.
template <class Memory>
__device__ __forceinline__ void PlaceListedBins(Memory& shared, const PhiloxRounds& random,
                                                std::uint64_t bucket, std::uint32_t listed,
                                                std::uint32_t of_warp, std::uint32_t before) {
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  // Lane w: begin of the bins of warp w.
  const std::uint32_t warp_begin = InclusiveSumOfWarp<16>(of_warp) - of_warp;
  constexpr std::uint32_t kOthers = kBucketWarps - kBinOwners / 32;
  for (std::uint32_t at = warp - kBinOwners / 32; at < listed; at += 32 * kOthers) {
    const std::uint32_t entry = at + lane * kOthers;
    LargeBin large;
    large.Load(shared, random, bucket, entry < listed ? shared.large[entry] : 0);
    std::uint16_t* place = shared.slot + before + large.before + shared.before[large.bin / 4] +
                           __shfl_sync(0xFFFFFFFFu, warp_begin, large.bin / 128);
    large.Place(place);
    __syncwarp();
    for (std::uint32_t rest = __ballot_sync(0xFFFFFFFFu, large.size > kSmallBin); rest != 0;
         rest &= rest - 1) {
      const int from = __ffs(static_cast<int>(rest)) - 1;
      const auto offset = static_cast<std::uint32_t>(place - shared.slot);
      PlaceLargestBin(shared, random, bucket, __shfl_sync(0xFFFFFFFFu, large.bin, from),
                      __shfl_sync(0xFFFFFFFFu, large.size, from),
                      shared.slot + __shfl_sync(0xFFFFFFFFu, offset, from));
    }
  }
}

//! Sends the slots of a bucket of m items to rows of their bins.
template <class Memory>
__device__ __forceinline__ void DealSlots(Memory& shared, const PhiloxRounds& random,
                                          std::uint64_t bucket, std::uint32_t m) {
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (std::uint32_t group = warp; group * 256 < m; group += kBucketWarps) {
    const PhiloxBlock block = DigitBlock(random, InMemoryStream(bucket), group, lane);
    if (group * 256 + 256 <= m) {
      DealGroup<true>(shared, block, group * 256 + lane, m);
    } else {
      DealGroup<false>(shared, block, group * 256 + lane, m);
    }
  }
}

//! Where shared memory has no room for items: every thread holds its own in registers until all are
//! read, as the bucket may lie where it came from. `slots` is a shared address.
template <class Item>
__device__ __forceinline__ void MoveInOrder(std::uint32_t slots, const Item* in, Item* out,
                                            std::uint32_t m) {
  constexpr std::uint32_t kEach = kInMemoryCapacity / kBucketThreads;
  static_assert(kEach * kBucketThreads == kInMemoryCapacity);
  Item mine[kEach];
#pragma unroll
  for (std::uint32_t e = 0; e < kEach; ++e) {
    const std::uint32_t p = e * kBucketThreads + threadIdx.x;
    if (p < m) mine[e] = in[LoadShared<std::uint16_t>(slots + 2 * p)];
  }
  __syncthreads();
#pragma unroll
  for (std::uint32_t e = 0; e < kEach; ++e) {
    const std::uint32_t p = e * kBucketThreads + threadIdx.x;
    if (p < m) out[p] = mine[e];
  }
}

//! One block a bucket.
template <class Item, ItemsFrom kFrom>
__global__ void __launch_bounds__(kBucketThreads, 2)
    ShuffleInMemoryBuckets(const __grid_constant__ PhiloxRounds random,
                           const __grid_constant__ InMemoryBuckets<Item> buckets) {
  constexpr std::uint32_t kPack = 16 / sizeof(Item);
  extern __shared__ __align__(128) unsigned char bucket_memory[];
  auto& shared = *reinterpret_cast<BucketMemory<Item, kFrom>*>(bucket_memory);
  constexpr bool kLoads = kFrom == ItemsFrom::kTile;
  const std::uint32_t thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;

  const std::uint64_t bucket = blockIdx.x;
  const std::uint32_t begin = buckets.starts[bucket], m = buckets.starts[bucket + 1] - begin;
  ClearBucketMemory(shared);  // while the bucket's bounds are loaded

  if (m == 0) return;
  const Item* in = buckets.in + begin;
  Item* out = buckets.out + begin;
  if (m > buckets.capacity) {
    return ShuffleLargeBucket(random.generator, bucket, buckets.overflow, in, out, m, shared.warps);
  }
  BulkLoad<Item> load{&shared.barrier};
  if (kLoads && warp < 2) load.Init();
  __syncthreads();
  if (kLoads && (warp < 2 || !kBulkCopies)) {
    load.Start(in, m, reinterpret_cast<Item*>(shared.items));
  }

  DealSlots(shared, random, bucket, m);
  __syncthreads();

  const bool owner = thread < kBinOwners;
  OwnBins own;
  if (owner) own.Load(shared, random, bucket);
  __syncthreads();
  const std::uint32_t listed = shared.listed;
  if (shared.aside_used > kMostAside || listed > kMostLarge || shared.too_large != 0) {
    if (kLoads) load.Wait();
    return ShuffleLargeBucket(random.generator, bucket, buckets.overflow, in, out, m, shared.warps);
  }

  // Places are counted from the last multiple of 16 bytes, so that whole packs are written.
  const auto past_pack = [](const Item* at) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(at) / sizeof(Item)) &
           (kPack - 1);
  };
  const std::uint32_t before = past_pack(out);
  const std::uint32_t of_warp = lane < kBinOwners / 32 ? shared.warps[lane] : 0;
  if (owner) {
    const std::uint32_t warp_begin = WarpAdd(lane < warp ? of_warp : 0);
    own.Place(SharedAddress(shared.slot) + 2 * (before + warp_begin));
  } else {
    PlaceListedBins(shared, random, bucket, listed, of_warp, before);
  }
  if (kLoads) load.Wait();
  __syncthreads();
  const std::uint32_t slots = SharedAddress(shared.slot);
  if constexpr (kLoads) {
    const auto loaded = SharedAddress(shared.items) + sizeof(Item) * past_pack(in);
    WriteInOrder(slots, static_cast<std::uint32_t>(loaded), out - before, before, before + m);
  } else {
    MoveInOrder(slots + 2 * before, in, out, m);
  }
}

}  // namespace retable::shuffle

#pragma once
//! @file
//! The partition shuffle: streaming passes in place of random reads, exactly uniform, one order on
//! every machine.
//!
//! Problem: a random gather of 8-byte items fetches a whole memory sector for each; past the cache
//! that, not the useful bytes, is the cost. Approach (Rao 1961, Sandelius 1962; for external memory
//! Sanders 1998): give each item an independent random digit and partition stably by it; then each
//! bucket is small enough for fast memory, where it is shuffled. Given independent uniform bits
//! every permutation is equally likely, whatever the sizes of the buckets turn out to be and
//! however the digits are distributed, as long as they are independent and alike: sorting by
//! independent keys with random ties is uniform, and digits are the leading part of such keys.
//!
//! Digits are counter-based: digit(i) is a pure function of (seed, i). So the counting pass reads
//! no data, the counts need no look-back between blocks, and any grid of threads, on a CPU or a
//! GPU, finds the same order. Levels:
//!   1. digit1(i) of {0..first-1} splits the input into buckets, stably.
//!   2. digit2(bucket, slot) of {0..second-1} splits a bucket into in-memory buckets, stably.
//!   3. digit3(in-memory bucket, slot) of {0..1791} splits an in-memory bucket into bins, stably;
//!   each bin of about four slots is shuffled by Fisher and Yates' swaps. One 32-bit word draws all
//!   swaps of a bin of up to 12 slots, exactly (Brackett-Rozinsky and Lemire 2024: its multiples
//!   carry on, and the few words that cannot decide are drawn again).
//! More items than these levels split come to their buckets by exchange (in_place/in_place.hpp).
//! Bytes: a read and a write an item for each of the first two levels used, and one for the
//! in-memory buckets. Work O(n). Memory: n items when there are two levels (none with one: the
//! in-memory buckets are ordered in place), and the counts.

#include <cstdint>

#include "algorithms/common/philox.hpp"
#include "algorithms/shuffle/split/digits.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/cuda/unroll.hpp"

#if defined(__CUDACC__)
#define RETABLE_HD_NOINLINE inline __host__ __device__ __noinline__
#else
#define RETABLE_HD_NOINLINE inline
#endif

namespace retable::shuffle {

//! The largest bin whose swaps come from one word: 12! < 2^32.
inline constexpr std::uint32_t kSmallBin = 12;
//! The largest n of a plan: over 2^31.
inline constexpr std::uint64_t kMaxPartition = kInMemoryMean * kMaxDigits * kMaxDigits;

//! How n items are split. Depends on n alone.
struct PartitionPlan {
  std::uint64_t n = 0;
  std::uint32_t buckets = 1;               //!< values of digit 1
  std::uint32_t in_memory_per_bucket = 1;  //!< values of digit 2

  RETABLE_HD std::uint32_t in_memory_buckets() const { return buckets * in_memory_per_bucket; }
};

//! @throws std::invalid_argument for n > kMaxPartition.
PartitionPlan MakePartitionPlan(std::uint64_t n);

//! The sub-stream of the second digits of a bucket, and of an in-memory bucket.
RETABLE_HD std::uint64_t SecondStream(std::uint64_t bucket) {
  return 2 + (bucket << 2);
}
RETABLE_HD std::uint64_t InMemoryStream(std::uint64_t bucket) {
  return 3 + (bucket << 2);
}

//! Philox block whose four words draw the swaps of bins 4 k .. 4 k + 3 of an in-memory bucket.
RETABLE_HD std::uint64_t SwapIndex(std::uint32_t k) {
  return (std::uint64_t{1} << 32) | k;
}
template <class Random>
RETABLE_HD PhiloxBlock SwapBlock(const Random& random, std::uint64_t bucket, std::uint32_t k) {
  return random.Block(SwapIndex(k), InMemoryStream(bucket));
}
//! A further 64-bit draw, number `index` < 2^31 of an in-memory bucket's bin.
RETABLE_HD std::uint64_t FurtherDraw(const Philox4x32& random, std::uint64_t bucket,
                                     std::uint32_t bin, std::uint64_t index) {
  return random.Block(((index + 2) << 32) | bin, InMemoryStream(bucket)).half(0);
}

//! Takes the swap target of slot k, uniform on {0..k}, from a word and leaves the rest in it.
RETABLE_HD std::uint32_t TakeSwap(std::uint32_t& word, std::uint32_t k) {
  const std::uint64_t product = static_cast<std::uint64_t>(word) * (k + 1);
  word = static_cast<std::uint32_t>(product);
  return static_cast<std::uint32_t>(product >> 32);
}

//! The orders of kMany bins of up to 12 slots in nibbles: slot r goes to place nibble r. The swap
//! of slot k exchanges nibble k, which is k, with nibble t <= k. Leaves the rest in `word`: the
//! order is uniform when that is >= 2^32 mod size! (see DrawsAgain). Bins side by side, as each one
//! is a chain of dependent steps.
template <int kMany>
RETABLE_HD void SmallOrders(std::uint32_t (&word)[kMany], const std::uint32_t (&size)[kMany],
                            std::uint64_t (&order)[kMany]) {
  std::uint32_t low[kMany];  // the first eight nibbles: all there is of most bins
  std::uint32_t longest = 0;
  RETABLE_UNROLL
  for (int b = 0; b < kMany; ++b) {
    low[b] = 0;
    longest = longest > size[b] ? longest : size[b];
  }
  RETABLE_UNROLL
  for (std::uint32_t k = 1; k < 8; ++k) {
    if (k >= longest) break;
    RETABLE_UNROLL
    for (int b = 0; b < kMany; ++b) {
      std::uint32_t left = word[b];
      const std::uint32_t at = 4 * TakeSwap(left, k);
      const std::uint32_t there = (low[b] >> at) & 15u;
      const std::uint32_t swapped = (low[b] ^ ((there ^ k) << at)) | (there << (4 * k));
      low[b] = k < size[b] ? swapped : low[b];
      word[b] = k < size[b] ? left : word[b];
    }
  }
  RETABLE_UNROLL
  for (int b = 0; b < kMany; ++b) {
    order[b] = low[b];
    if (size[b] <= 8) continue;
    for (std::uint32_t k = 8; k < size[b] && k < kSmallBin; ++k) {
      const std::uint32_t at = 4 * TakeSwap(word[b], k);
      const std::uint32_t there = static_cast<std::uint32_t>(order[b] >> at) & 15u;
      order[b] ^= static_cast<std::uint64_t>(there ^ k) << at;
      order[b] |= static_cast<std::uint64_t>(there) << (4 * k);
    }
  }
}

//! Whether the swaps of a bin of `size` slots must be drawn again, given what is left of the word.
RETABLE_HD_NOINLINE bool DrawsAgain(std::uint32_t left, std::uint32_t size) {
  std::uint32_t orders = 1;
  for (std::uint32_t k = 2; k <= size; ++k) orders *= k;
  return left < (std::uint32_t{0} - orders) % orders;
}
//! The order of a bin of up to 12 slots whose first word did not decide.
RETABLE_HD_NOINLINE std::uint64_t SmallOrderAgain(const Philox4x32& random, std::uint64_t bucket,
                                                  std::uint32_t bin, std::uint32_t size) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    std::uint32_t word[1] = {static_cast<std::uint32_t>(FurtherDraw(random, bucket, bin, attempt))};
    const std::uint32_t sizes[1] = {size};
    std::uint64_t order[1];
    SmallOrders(word, sizes, order);
    if (!DrawsAgain(word[0], size)) return order[0];
  }
}
//! The orders of bins first, first + 1, ... of up to 12 slots from their words, drawn again where
//! that has to be. What is left is at or over size! nearly always, which settles it without a
//! division.
template <int kMany>
RETABLE_HD void UniformSmallOrders(const Philox4x32& random, std::uint64_t bucket,
                                   std::uint32_t first, const std::uint32_t (&size)[kMany],
                                   std::uint32_t (&word)[kMany], std::uint64_t (&order)[kMany]) {
  SmallOrders(word, size, order);
  RETABLE_UNROLL
  for (int b = 0; b < kMany; ++b) {
    const std::uint32_t surely = size[b] <= 8 ? 40320u : 479001600u;  // 8! and 12!
    const std::uint32_t bin = first + static_cast<std::uint32_t>(b);
    if (word[b] < surely && size[b] <= kSmallBin && DrawsAgain(word[b], size[b])) {
      order[b] = SmallOrderAgain(random, bucket, bin, size[b]);
    }
  }
}
//! The same of one bin.
RETABLE_HD std::uint64_t UniformSmallOrder(const Philox4x32& random, std::uint64_t bucket,
                                           std::uint32_t bin, std::uint32_t size,
                                           std::uint32_t word) {
  const std::uint32_t sizes[1] = {size};
  std::uint32_t words[1] = {word};
  std::uint64_t order[1];
  UniformSmallOrders(random, bucket, bin, sizes, words, order);
  return order[0];
}

//! The swap target of slot k of a larger bin, uniform on {0..k} (Lemire 2019).
RETABLE_HD std::uint32_t LargeSwap(const Philox4x32& random, std::uint64_t bucket,
                                   std::uint32_t bin, std::uint32_t k) {
  const std::uint64_t bound = std::uint64_t{k} + 1;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t bits = FurtherDraw(random, bucket, bin, k + (attempt << 30));
    if (bits * bound >= (std::uint64_t{0} - bound) % bound) {
      return static_cast<std::uint32_t>(UniformBelow(bits, bound));
    }
  }
}

}  // namespace retable::shuffle

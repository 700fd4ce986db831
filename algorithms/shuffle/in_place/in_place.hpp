#pragma once
//! @file
//! Shuffling in place: exactly uniform, with extra memory of about one part in a hundred.
//!
//! Problem: every fast shuffle on a GPU needs a second array, so that half of its memory is lost;
//! the thesis leaves that open. Approach: as the partition shuffle, each item draws a random digit
//! that names its bucket, and buckets are then shuffled one by one. What is new is how items get to
//! their buckets without a second array:
//!   1. The array is cut into as many chunks as there are buckets. A chunk is partitioned by digit
//!      through a scratch of one chunk, and copied back: now it is a row of segments, one a digit.
//!   2. Counting all digits fixed where bucket b begins and ends (its region). Of region b, U(b, d)
//!      places hold items of digit d, in at most three pieces. Regions b and d exchange
//!      min(U(b, d), U(d, b)) items by swaps: for 32,768 items a pair that leaves 0.3 %.
//!   3. What is left over goes through a buffer. A region has as many items to give as places to
//!      fill, since its size is the number of its digits: U's rows and columns have equal sums.
//!   4. Each bucket is shuffled by the partition shuffle through the same scratch.
//! Exactly uniform given ideal bits: given the digits, step 4 alone is uniform, and digits are
//! independent and alike. Memory: a chunk (8.4 million items up to 2^32, a 512th part of n from
//! there on), a buffer of about 0.4 K sqrt(2 n) items for K chunks, and tables: 144 MiB at 2^31
//! items of 8 bytes, 0.9 %. Bytes an item: six passes of 16, of which three go through a scratch
//! that about fits into the cache. Work O(n). "Partition" takes this way too for more items than
//! two levels can split, from one array to another: step 1 then splits a chunk straight to its
//! place.

#include <cstdint>
#include <vector>

#include "algorithms/common/philox.hpp"
#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {

//! The sub-stream of the digits, and of the buckets' seeds.
inline constexpr std::uint64_t kInPlaceStream = 5;
inline constexpr std::uint64_t kInPlaceSeeds = 9;

struct InPlacePlan {
  std::uint64_t n = 0;
  std::uint64_t chunk = 0;  //!< items of all chunks but the last, a multiple of 256
  std::uint32_t parts = 1;  //!< chunks, and buckets

  std::uint64_t chunk_begin(std::uint64_t c) const { return c * chunk < n ? c * chunk : n; }
};

//! Chunks of up to `chunk` items, of more where there would be over 512 of them.
//! @throws std::invalid_argument for n over kMaxItems.
InPlacePlan MakeInPlacePlan(std::uint64_t n, std::uint64_t chunk = kInPlaceChunk);

//! The seed of a bucket's shuffle.
inline std::uint64_t BucketSeed(std::uint64_t seed, std::uint32_t bucket) {
  return Philox4x32::FromSeed(seed).Block(bucket, kInPlaceSeeds).half(0);
}

//! The places of region b that hold items of digit d, and what becomes of them: the first `kept`
//! are exchanged with those of region d that hold digit b; the rest go to the buffer from `into`
//! on, and are filled from the buffer from `from` on.
struct Holding {
  std::uint64_t begin[3];  //!< the first places of up to three runs
  std::uint32_t length[3];
  std::uint32_t size, kept, into, from;

  RETABLE_HD std::uint64_t place(std::uint32_t index) const {
    for (int k = 0; k < 2; ++k) {
      if (index < length[k]) return begin[k] + index;
      index -= length[k];
    }
    return begin[2] + index;
  }
};

struct Exchange {
  std::vector<std::uint64_t> begins;  //!< begin of each region, and n
  std::vector<Holding> holdings;      //!< [region][digit]
  std::uint64_t buffer = 0;           //!< items that go through it
};

//! The exchange after step 1. starts: [chunk][digit], parts + 1 a chunk: where segments begin in
//! it.
//! @throws std::runtime_error when a region meets more than three chunks (that takes a bucket many
//! thousand standard deviations from its size).
Exchange MakeExchange(const InPlacePlan& plan, const std::vector<std::uint32_t>& starts);

//! The items the buffer is made for; should an exchange need more, it grows.
std::uint64_t ExchangeBuffer(const InPlacePlan& plan);

//! Shuffles n items of 4, 8 or 16 bytes in host memory from `in` to `out`, which are one array or
//! do not overlap. `chunk` is for tests.
//! @throws std::invalid_argument for n over kMaxItems and for other sizes.
void ShuffleByExchange(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                       std::uint64_t seed, std::uint64_t chunk = kInPlaceChunk);
//! The same where the items are.
inline void ShuffleInPlace(void* items, std::uint64_t n, std::size_t item_bytes, std::uint64_t seed,
                           std::uint64_t chunk = kInPlaceChunk) {
  ShuffleByExchange(items, items, n, item_bytes, seed, chunk);
}

}  // namespace retable::shuffle

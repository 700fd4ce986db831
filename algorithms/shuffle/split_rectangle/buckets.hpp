#pragma once
//! @file
//! The split rectangle: one streaming pass, and a gather that does not leave the cache.
//!
//! Problem: past the cache a random gather waits for a memory sector an item, and the partition
//! shuffle moves each item three times. Approach: one level of the partition shuffle, exactly
//! uniform given ideal bits, leaves buckets so small that one lies in a GPU's L2 cache; within a
//! bucket of m items the order is the generalised Feistel cipher of {0..m-1}
//! (rectangle/generalised_feistel.hpp) under keys of its own, as a gather from the cache, into
//! which each line of memory comes whole when it is first read:
//!     out[start + i] = bucket[CycleWalk(i)].
//! So which items meet in a bucket is as random as in "Partition", and their order within it as
//! random as in "Rectangle". Up to kSplitFrom items it is the "Rectangle" of n. Bytes an item: a
//! read and a write of it for each of the two passes. Work O(n). Memory: n items, and the counts.
//! Bitwise the same on every machine and any grid.

#include <cmath>
#include <cstdint>

#include "algorithms/common/philox.hpp"
#include "algorithms/shuffle/rectangle/generalised_feistel.hpp"
#include "algorithms/shuffle/split/digits.hpp"
#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {

//! The largest n.
inline constexpr std::uint64_t kMaxSplit = std::uint64_t{1} << 31;

//! How many buckets n items are split into: 2^(floor(log2(n) / 2) - 6), which is 128 of half a
//! million items at 2^26 and 256 of two million at 2^29; 1 up to kSplitFrom. Small buckets make the
//! gather faster and the split slower. bucket_items > 0: the power of two of which at most so many
//! items come to a bucket on average, up to kMaxBuckets.
//! @throws std::invalid_argument for n > kMaxSplit or bucket_items < 0.
std::uint32_t SplitBuckets(std::uint64_t n, std::int64_t bucket_items = 0);

//! The sub-stream of a bucket's keys.
RETABLE_HD std::uint64_t BucketKeyStream(std::uint64_t bucket) {
  return 1 + ((bucket + 8) << 2);
}

//! The generalised Feistel cipher of a bucket, as wide as a GPU reads at once: made there by one
//! thread in a microsecond, so its sides are simply the even number next to the root and what that
//! leaves: up to a values are cycle-walked, one in a thousand.
struct alignas(16) BucketCipher {
  static constexpr int kHalfRounds = 12;
  std::uint32_t n = 0;
  std::uint32_t a = 16, b = 16;  //!< sides, a even, a b >= n
  std::uint32_t reciprocal = 0;  //!< floor(2^32 / b)
  std::uint32_t key[kHalfRounds] = {};

  //! The cipher of bucket `number` of `items` items, which number up to 2^31.
  static RETABLE_HD BucketCipher Make(const Philox4x32& random, std::uint32_t number,
                                      std::uint32_t items) {
    BucketCipher cipher;
    cipher.n = items;
    const std::uint32_t least = items < 256 ? 256 : items;
    const auto root = static_cast<std::uint32_t>(sqrt(static_cast<double>(least)));
    cipher.a = (root + 1) & ~1u;
    cipher.b = (least + cipher.a - 1) / cipher.a;
    cipher.reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / cipher.b);
    for (int k = 0; k < kHalfRounds / 4; ++k) {
      const PhiloxBlock block =
          random.Block(static_cast<std::uint64_t>(k), BucketKeyStream(number));
      for (int w = 0; w < 4; ++w) cipher.key[4 * k + w] = block.word[w];
    }
    return cipher;
  }

  //! One application: a bijection of {0 .. a b - 1}. Of x past these: some value.
  RETABLE_HD std::uint32_t Encrypt(std::uint32_t x) const {
    return FeistelCipher::EncryptBy(*this, x, kHalfRounds);
  }
  //! From an application to the bijection of {0..n-1}.
  RETABLE_HD std::uint32_t CycleWalkFrom(std::uint32_t y) const {
    while (y >= n) y = Encrypt(y);
    return y;
  }
  RETABLE_HD std::uint32_t CycleWalk(std::uint32_t x) const { return CycleWalkFrom(Encrypt(x)); }
};
static_assert(sizeof(BucketCipher) == 64);

}  // namespace retable::shuffle

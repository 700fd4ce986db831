#include "algorithms/shuffle/split_rectangle/buckets.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/common/bulk_random.hpp"
#include "algorithms/common/parameters.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "algorithms/shuffle/split/stable_split.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {

std::uint32_t SplitBuckets(std::uint64_t n, std::int64_t bucket_items) {
  if (n > kMaxSplit) {
    throw std::invalid_argument("the split rectangle takes up to 2^31 items, not " +
                                std::to_string(n));
  }
  if (bucket_items < 0) {
    throw std::invalid_argument("a bucket of " + std::to_string(bucket_items) + " items");
  }
  std::uint64_t buckets = 1;
  if (bucket_items > 0) {
    const auto each = static_cast<std::uint64_t>(bucket_items);
    buckets = std::bit_ceil(std::max<std::uint64_t>((n + each - 1) / each, 1));
  } else if (n > kSplitFrom) {
    buckets = std::uint64_t{1} << ((std::bit_width(n) - 1) / 2 - 6);
  }
  return static_cast<std::uint32_t>(std::min(buckets, kMaxBuckets));
}

namespace {

// Calls visit(i, bucket) for items [begin, end), begin a multiple of 512. As BucketOf, in bulk.
template <class Visit>
void ForEachBucket(const Philox4x32& random, std::uint32_t buckets, std::uint64_t begin,
                   std::uint64_t end, Visit&& visit) {
  const int bits = BucketBits(buckets), in_word = 32 / bits;
  const auto each = static_cast<std::uint64_t>(32 * 4 * in_word);  // items of 32 blocks
  alignas(64) std::uint32_t words[128];
  std::uint16_t bucket[512];
  for (std::uint64_t s = begin; s < end; s += each) {
    FillBlocks<32>(random, s / each * 32, kFirstStream, words);
    for (int j = 0; j < 4 * in_word; ++j) {
      for (int l = 0; l < 32; ++l) {
        const std::uint32_t word = words[j / in_word * 32 + l] >> (bits * (j % in_word));
        bucket[32 * j + l] = static_cast<std::uint16_t>(word & (buckets - 1));
      }
    }
    const std::uint64_t count = std::min(each, end - s);
    for (std::uint64_t k = 0; k < count; ++k) visit(s + k, bucket[k]);
  }
}

template <class Item>
void SplitShuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed,
                  std::int64_t bucket_items) {
  const std::uint32_t buckets = SplitBuckets(n, bucket_items);
  if (buckets == 1) {
    const auto whole = Registry<Shuffler>::Instance().Make("Rectangle", Device::kCpu, {});
    return whole->shuffle(in, out, n, sizeof(Item), seed);
  }
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  const auto between = std::make_unique_for_overwrite<Item[]>(n);
  const auto start = SplitByDigits(buckets, in, between.get(), n,
                                   [&](std::uint64_t begin, std::uint64_t end, auto&& visit) {
                                     ForEachBucket(random, buckets, begin, end, visit);
                                   });
  std::vector<BucketCipher> ciphers;
  for (std::uint32_t b = 0; b < buckets; ++b) {
    ciphers.push_back(
        BucketCipher::Make(random, b, static_cast<std::uint32_t>(start[b + 1] - start[b])));
  }
  ParallelBlocks(n, kHostBlock, [&](std::uint64_t j, std::uint64_t end) {
    auto bucket = static_cast<std::uint64_t>(std::upper_bound(start.begin(), start.end(), j) -
                                             start.begin() - 1);
    for (; j < end; ++bucket) {
      const Item* items = between.get() + start[bucket];
      for (; j < std::min(end, start[bucket + 1]); ++j) {
        out[j] = items[ciphers[bucket].CycleWalk(static_cast<std::uint32_t>(j - start[bucket]))];
      }
    }
  });
}

RETABLE_REGISTER(Shuffler, split_rectangle,
                 {.name = "SplitRectangle",
                  .summary = "one level of Partition, then the rectangle cipher within buckets",
                  .citation = "ours",
                  .parameters = {{"bucket", std::int64_t{0},
                                  "items of a bucket on average; 0: by n"}},
                  .make = [](const Parameters& p) {
                    const std::int64_t items = IntegerParameter(p, "bucket", 0);
                    SplitBuckets(0, items);  // refuses wrong ones
                    return MakeItemMethod([items](auto... a) { SplitShuffle(a..., items); });
                  }});

}  // namespace
}  // namespace retable::shuffle

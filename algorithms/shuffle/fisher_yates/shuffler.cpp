//! @file
//! "FisherYates" on the CPU.

#include <bit>

#include "algorithms/shuffle/fisher_yates/fisher_yates.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"
#include "algorithms/shuffle/split/stable_split.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

constexpr std::uint64_t kDigitStream = 0, kFirstBucketStream = 1;

template <class Item>
void FisherYatesShuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  const auto shuffle_bucket = [&](std::uint64_t bucket, std::uint64_t begin, std::uint64_t end) {
    RandomIndices indices(random, kFirstBucketStream + bucket);
    FisherYatesInBlocks(out + begin, static_cast<std::uint32_t>(end - begin), indices);
  };
  if (n <= kFisherYatesUndivided) {
    std::copy_n(in, n, out);
    return shuffle_bucket(0, 0, n);
  }
  const std::uint64_t wanted = std::bit_ceil(n / kFisherYatesBucket);
  const auto buckets = static_cast<std::uint32_t>(std::min(wanted, kFisherYatesMaxBuckets));
  const auto start =
      SplitByDigits(buckets, in, out, n, [&](std::uint64_t begin, std::uint64_t end, auto&& visit) {
        ForEachDigit(random, kDigitStream, buckets, begin, end, visit);
      });
  ParallelFor(buckets, [&](std::uint64_t b) { shuffle_bucket(b, start[b], start[b + 1]); });
}

RETABLE_REGISTER(
    Shuffler, fisher_yates,
    {.name = "FisherYates",
     .summary = "swaps whose targets are drawn in blocks; past the cache within random buckets",
     .citation = "ours, after Fisher and Yates 1938, Rao 1961, Sandelius 1962 and Lemire 2019",
     .make = [](const Parameters&) {
       return MakeItemMethod([](auto... a) { FisherYatesShuffle(a...); });
     }});

}  // namespace
}  // namespace retable::shuffle

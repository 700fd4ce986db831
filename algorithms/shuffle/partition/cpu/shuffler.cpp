//! @file
//! "Partition" on the CPU.

#include "algorithms/shuffle/partition/partition.hpp"

#include "algorithms/shuffle/in_place/in_place.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"
#include "algorithms/shuffle/partition/cpu/in_memory_bucket.hpp"
#include "algorithms/shuffle/split/stable_split.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

// Shuffles a bucket in place.
template <class Item>
void ShuffleBucket(const Philox4x32& random, const PartitionPlan& plan, std::uint64_t bucket,
                   Item* items, std::uint32_t m) {
  const std::uint32_t buckets = plan.in_memory_per_bucket;
  if (buckets == 1) return ShuffleInMemory(random, bucket, items, items, m);
  SplitAndShuffle(random, SecondStream(bucket), buckets, bucket * buckets, items, items, m, false);
}

template <class Item>
void PartitionShuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed) {
  if (n > kMaxPartition) {
    return ShuffleByExchange(in, out, n, sizeof(Item), seed, kExchangeChunk);
  }
  const PartitionPlan plan = MakePartitionPlan(n);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  if (plan.buckets == 1) return ShuffleInMemory(random, 0, in, out, static_cast<std::uint32_t>(n));
  if (plan.in_memory_per_bucket == 1 && (n <= kOneThread || AvailableThreads() == 1)) {
    return SplitAndShuffle(random, kFirstStream, plan.buckets, 0, in, out,
                           static_cast<std::uint32_t>(n), true);
  }
  const auto start = SplitByDigits(
      plan.buckets, in, out, n, [&](std::uint64_t begin, std::uint64_t end, auto&& visit) {
        ForEachDigit(random, kFirstStream, plan.buckets, begin, end, visit);
      });
  ParallelFor(plan.buckets, [&](std::uint64_t d) {
    ShuffleBucket(random, plan, d, out + start[d],
                  static_cast<std::uint32_t>(start[d + 1] - start[d]));
  });
}

RETABLE_REGISTER(Shuffler, partition,
                 {.name = "Partition",
                  .summary = "stable partition by counter-based digits, then in-memory buckets",
                  .citation = "ours, after Rao 1961, Sandelius 1962 and Sanders 1998",
                  .make = [](const Parameters&) {
                    return MakeItemMethod([](auto... a) { PartitionShuffle(a...); });
                  }});

}  // namespace
}  // namespace retable::shuffle

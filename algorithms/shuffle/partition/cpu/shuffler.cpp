//! @file
//! "Partition" on the CPU.

#include "algorithms/shuffle/partition/partition.hpp"

#include <memory>

#include "algorithms/shuffle/in_place/in_place.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"
#include "algorithms/shuffle/partition/cpu/in_memory_bucket.hpp"
#include "algorithms/shuffle/shuffler.hpp"
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

class PartitionShuffler final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    if (n > kMaxPartition) {
      return ShuffleByExchange(in, out, n, item_bytes, seed, kExchangeChunk);
    }
    WithItems(in, out, item_bytes,
              [&](const auto* source, auto* target) { PartitionShuffle(source, target, n, seed); });
  }
};

RETABLE_REGISTER(Shuffler, partition,
                 {.name = "Partition",
                  .summary = "stable partition by counter-based digits, then in-memory buckets",
                  .citation = "ours, after Rao 1961, Sandelius 1962 and Sanders 1998",
                  .make = [](const Parameters&) { return std::make_unique<PartitionShuffler>(); }});

}  // namespace
}  // namespace retable::shuffle

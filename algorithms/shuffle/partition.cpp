#include "algorithms/shuffle/partition.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/parallel.hpp"
#include "algorithms/shuffle/partition_random.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {

PartitionPlan MakePartitionPlan(std::uint64_t n) {
  if (n > kMaxPartition) {
    throw std::invalid_argument("the partition shuffle takes up to " +
                                std::to_string(kMaxPartition) + " items, not " + std::to_string(n));
  }
  if (n <= kLeafCapacity) return {n, 1, 1};
  const std::uint64_t leaves = (n + kLeafMean - 1) / kLeafMean;
  if (leaves <= kMaxDigits) return {n, static_cast<std::uint32_t>(leaves), 1};
  std::uint64_t buckets = 1;
  while (buckets * buckets < leaves) ++buckets;
  return {n, static_cast<std::uint32_t>(buckets),
          static_cast<std::uint32_t>((leaves + buckets - 1) / buckets)};
}

namespace {

// Memory a thread keeps from one bucket to the next, so that its pages are touched once.
template <class T, class Use = void>
T* Scratch(std::size_t count) {
  thread_local std::unique_ptr<T[]> memory;
  thread_local std::size_t size = 0;
  if (count > size) {
    memory.reset();
    size = count + count / 8;
    memory.reset(new T[size]);
  }
  return memory.get();
}

// Calls visit(slot, digit) for the slots [begin, end) of a sub-stream; begin is a multiple of 256.
template <class Visit>
void ForEachDigit(const Philox4x32& random, std::uint64_t stream, std::uint32_t digits,
                  std::uint64_t begin, std::uint64_t end, Visit&& visit) {
  std::uint16_t digit[256];
  for (std::uint64_t s = begin; s < end; s += 256) {
    FillDigits(random, stream, s >> 8, digits, digit);
    const std::uint64_t count = std::min<std::uint64_t>(256, end - s);
    for (std::uint64_t k = 0; k < count; ++k) visit(s + k, digit[k]);
  }
}

// Splits the m items of a segment stably by digit: part d is out[start[d]], .... The digits are
// drawn once and kept.
template <class Item>
void Split(const Philox4x32& random, std::uint64_t stream, std::uint32_t digits, const Item* in,
           Item* out, std::uint32_t m, std::uint32_t* start) {
  auto* digit = Scratch<std::uint16_t>((std::size_t{m} + 255) / 256 * 256);
  std::uint32_t next[kBins] = {};
  for (std::uint32_t s = 0; s < m; s += 256) {
    FillDigits(random, stream, s >> 8, digits, digit + s);
    const std::uint32_t end = std::min(s + 256, m);
    for (std::uint32_t k = s; k < end; ++k) ++next[digit[k]];
  }
  start[0] = 0;
  for (std::uint32_t d = 0; d < digits; ++d) {
    start[d + 1] = start[d] + next[d];
    next[d] = start[d];
  }
  for (std::uint32_t s = 0; s < m; ++s) out[next[digit[s]]++] = in[s];
}

// A bin whose swaps do not fit the common case, exactly.
template <class Item>
void ShuffleBin(const Philox4x32& random, std::uint64_t leaf, std::uint32_t bin, std::uint32_t word,
                const Item* in, Item* out, std::uint32_t size) {
  if (size <= kSmallBin) {
    const std::uint64_t places = UniformSmallOrder(random, leaf, bin, size, word);
    for (std::uint32_t r = 0; r < size; ++r) out[(places >> (4 * r)) & 15] = in[r];
    return;
  }
  std::copy_n(in, size, out);
  for (std::uint32_t k = 1; k < size; ++k) std::swap(out[k], out[LargeSwap(random, leaf, bin, k)]);
}

// Shuffles the items of a leaf from their bins. The orders of 128 bins are made side by side, and a
// bin of up to eight is written as eight whatever its size, as branches on sizes are never
// foreseen: what is too much is overwritten by the next bins. The last ones have no next.
template <class Item>
void ShuffleBins(const Philox4x32& random, std::uint64_t leaf, const Item* in, Item* out,
                 const std::uint32_t* start) {
  std::uint32_t words[128], left[128], orders[128];
  const std::uint32_t m = start[kBins];
  for (std::uint32_t first = 0; first < kBins; first += 128) {
    FillSwapWords(random, leaf, first / 128, words);
    FillSmallOrders(words, start + first, left, orders);
    for (std::uint32_t b = 0; b < 128; ++b) {
      const std::uint32_t begin = start[first + b], size = start[first + b + 1] - begin;
      if (size > 8 || left[b] < 40320 || begin + 8 > m) {
        ShuffleBin(random, leaf, first + b, words[b], in + begin, out + begin, size);
        continue;
      }
      for (std::uint32_t r = 0; r < 8; ++r) {
        out[begin + ((orders[b] >> (4 * r)) & 15)] = in[begin + r];
      }
    }
  }
}

template <class Item>
void ShuffleLeaf(const Philox4x32& random, std::uint64_t leaf, const Item* in, Item* out,
                 std::uint32_t m) {
  if (m == 0) return;
  std::uint32_t start[kBins + 1];
  Item* binned = Scratch<Item, struct Leaf>(m);
  Split(random, LeafStream(leaf), kBins, in, binned, m, start);
  ShuffleBins(random, leaf, binned, out, start);
}

// Shuffles a bucket in place, by way of a scratch.
template <class Item>
void ShuffleBucket(const Philox4x32& random, const PartitionPlan& plan, std::uint64_t bucket,
                   Item* items, std::uint32_t m) {
  Item* scratch = Scratch<Item>(m);
  if (plan.leaves_per_bucket == 1) {
    std::copy_n(items, m, scratch);
    return ShuffleLeaf(random, bucket, scratch, items, m);
  }
  std::uint32_t start[kMaxDigits + 1];
  Split(random, SecondStream(bucket), plan.leaves_per_bucket, items, scratch, m, start);
  for (std::uint32_t q = 0; q < plan.leaves_per_bucket; ++q) {
    ShuffleLeaf(random, bucket * plan.leaves_per_bucket + q, scratch + start[q], items + start[q],
                start[q + 1] - start[q]);
  }
}

// Ranges of the input are counted and scattered in parallel; a range's counts fix its places.
constexpr std::uint64_t kRange = std::uint64_t{1} << 18;

template <class Item>
void PartitionShuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed) {
  const PartitionPlan plan = MakePartitionPlan(n);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  if (plan.buckets == 1) return ShuffleLeaf(random, 0, in, out, static_cast<std::uint32_t>(n));

  const std::uint64_t ranges = (n + kRange - 1) / kRange;
  const std::uint64_t buckets = plan.buckets;
  std::vector<std::uint64_t> place(ranges * buckets, 0), start(buckets + 1, 0);
  const auto for_each_digit = [&](std::uint64_t range, auto&& visit) {
    ForEachDigit(random, kFirstStream, plan.buckets, range * kRange,
                 std::min(n, (range + 1) * kRange), visit);
  };
  ParallelFor(ranges, [&](std::uint64_t r) {
    std::uint64_t* count = &place[r * buckets];
    for_each_digit(r, [&](std::uint64_t, std::uint32_t digit) { ++count[digit]; });
  });
  std::uint64_t sum = 0;
  for (std::uint64_t d = 0; d < buckets; ++d) {
    start[d] = sum;
    for (std::uint64_t r = 0; r < ranges; ++r) {
      const std::uint64_t count = place[r * buckets + d];
      place[r * buckets + d] = sum;
      sum += count;
    }
  }
  start[buckets] = sum;
  ParallelFor(ranges, [&](std::uint64_t r) {
    std::uint64_t* next = &place[r * buckets];
    for_each_digit(r, [&](std::uint64_t i, std::uint32_t digit) { out[next[digit]++] = in[i]; });
  });
  ParallelFor(buckets, [&](std::uint64_t d) {
    ShuffleBucket(random, plan, d, out + start[d],
                  static_cast<std::uint32_t>(start[d + 1] - start[d]));
  });
}

class PartitionShuffler final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    WithItemType(item_bytes, [&](auto item) {
      using Item = decltype(item);
      PartitionShuffle(static_cast<const Item*>(in), static_cast<Item*>(out), n, seed);
    });
  }
};

RETABLE_REGISTER(Shuffler, partition,
                 {.name = "Partition",
                  .device = Device::kCpu,
                  .summary = "stable partition by counter-based digits, leaves ordered by key",
                  .citation = "ours, after Rao 1961, Sandelius 1962 and Sanders 1998",
                  .parameters = {},
                  .make = [](const Parameters&) { return std::make_unique<PartitionShuffler>(); }});

}  // namespace
}  // namespace retable::shuffle

#include "algorithms/shuffle/partition.hpp"

#include <algorithm>
#include <cstring>
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
  int bits = 0;
  while ((kLeafMean << bits) < n) ++bits;
  const int second = bits <= kMaxFirstBits ? 0 : bits / 2;
  return {n, bits - second, second};
}

namespace {

template <class Item>
std::unique_ptr<Item[]> Uninitialised(std::uint64_t n) {
  return std::unique_ptr<Item[]>(new Item[n]);
}

// Orders the m items of a leaf by their keys. Counting on as many leading bits as give about one
// slot a cell leaves an almost sorted list, which insertion finishes.
template <class Item>
void OrderLeaf(const Philox4x32& random, std::uint64_t leaf, const Item* in, Item* out,
               std::uint32_t m) {
  if (m == 0) return;
  const int bits = std::max(1, CeilLog2(m));
  const std::uint32_t groups = (m + 127) / 128;
  std::vector<std::uint32_t> keys(groups * std::size_t{128});
  std::vector<std::uint32_t> place((std::size_t{1} << bits) + 1, 0);
  std::vector<std::uint64_t> sorted(m);  // key in the high half, slot in the low half
  for (std::uint32_t g = 0; g < groups; ++g)
    FillLeafKeys(random, leaf, g, &keys[g * std::size_t{128}]);
  for (std::uint32_t s = 0; s < m; ++s) ++place[(keys[s] >> (32 - bits)) + 1];
  for (std::size_t c = 1; c < place.size(); ++c) place[c] += place[c - 1];
  for (std::uint32_t s = 0; s < m; ++s) {
    sorted[place[keys[s] >> (32 - bits)]++] = (static_cast<std::uint64_t>(keys[s]) << 32) | s;
  }
  const auto before = [&](std::uint64_t a, std::uint64_t b) {
    if ((a >> 32) != (b >> 32)) return a < b;
    return LeafTieBefore(random, leaf, static_cast<std::uint32_t>(a),
                         static_cast<std::uint32_t>(b));
  };
  for (std::uint32_t p = 1; p < m; ++p) {
    const std::uint64_t moving = sorted[p];
    std::uint32_t q = p;
    for (; q > 0 && before(moving, sorted[q - 1]); --q) sorted[q] = sorted[q - 1];
    sorted[q] = moving;
  }
  for (std::uint32_t p = 0; p < m; ++p) out[p] = in[static_cast<std::uint32_t>(sorted[p])];
}

// Splits a bucket by its second digits into a scratch, then orders its leaves.
template <class Item>
void OrderBucket(const Philox4x32& random, const PartitionPlan& plan, std::uint64_t bucket,
                 const Item* in, Item* out, std::uint32_t m) {
  if (plan.second_bits == 0) return OrderLeaf(random, bucket, in, out, m);
  const std::uint32_t leaves = plan.leaves_per_bucket();
  std::vector<std::uint16_t> digits((m + std::size_t{8191}) / 8192 * 8192);
  std::vector<std::uint32_t> start(leaves + std::size_t{1}, 0);
  for (std::size_t g = 0; g * 8192 < m; ++g) {
    FillDigits(random, SecondStream(bucket), g, plan.second_bits, &digits[g * 8192]);
  }
  for (std::uint32_t s = 0; s < m; ++s) ++start[digits[s] + std::size_t{1}];
  for (std::uint32_t q = 0; q < leaves; ++q) start[q + 1] += start[q];
  const auto scratch = Uninitialised<Item>(m);
  std::vector<std::uint32_t> place(start.begin(), start.end());
  for (std::uint64_t k = 0; k < digits.size(); k += 128) {
    const std::uint64_t slot = TileOrder(k);
    const std::uint64_t last = std::min<std::uint64_t>(slot + 128, m);
    for (std::uint64_t s = slot; s < last; ++s) scratch[place[digits[s]]++] = in[s];
  }
  for (std::uint32_t q = 0; q < leaves; ++q) {
    OrderLeaf(random, bucket * leaves + q, scratch.get() + start[q], out + start[q],
              start[q + 1] - start[q]);
  }
}

// Ranges of the input are counted and scattered in parallel; a range's counts fix its places.
constexpr std::uint64_t kRange = std::uint64_t{1} << 20;

template <class F>
void ForEachDigit(const Philox4x32& random, const PartitionPlan& plan, std::uint64_t range, F&& f) {
  const std::uint64_t end = std::min(plan.n, (range + 1) * kRange);
  std::uint16_t digits[8192];
  for (std::uint64_t i = range * kRange; i < end; i += 8192) {
    FillDigits(random, kFirstStream, i >> 13, plan.first_bits, digits);
    const std::uint64_t count = std::min<std::uint64_t>(8192, end - i);
    for (std::uint64_t k = 0; k < 8192; k += 128) {
      const std::uint64_t slot = TileOrder(k);
      const std::uint64_t last = std::min(slot + 128, count);
      for (std::uint64_t s = slot; s < last; ++s) f(i + s, digits[s]);
    }
  }
}

// A stable scatter into thousands of places. Each place collects a cache line of items before they
// are written, so that memory sees whole lines and the translation buffers one page a line.
template <class Item>
void ScatterRange(const Philox4x32& random, const PartitionPlan& plan, std::uint64_t range,
                  const Item* in, Item* out, std::uint64_t* place) {
  constexpr std::uint32_t kLine = 64 / sizeof(Item);
  std::vector<Item> lines(std::size_t{kLine} * plan.buckets());
  std::vector<std::uint8_t> filled(plan.buckets(), 0);
  ForEachDigit(random, plan, range, [&](std::uint64_t i, std::uint32_t digit) {
    Item* line = &lines[std::size_t{digit} * kLine];
    line[filled[digit]++] = in[i];
    if (filled[digit] == kLine) {
      std::memcpy(out + place[digit], line, sizeof(Item) * kLine);
      place[digit] += kLine;
      filled[digit] = 0;
    }
  });
  for (std::uint32_t d = 0; d < plan.buckets(); ++d) {
    std::copy_n(&lines[std::size_t{d} * kLine], filled[d], out + place[d]);
  }
}

template <class Item>
void PartitionShuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed) {
  const PartitionPlan plan = MakePartitionPlan(n);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  if (plan.first_bits == 0) return OrderLeaf(random, 0, in, out, static_cast<std::uint32_t>(n));

  const std::uint64_t ranges = (n + kRange - 1) / kRange;
  const std::uint64_t buckets = plan.buckets();
  std::vector<std::uint64_t> place(ranges * buckets, 0), start(buckets + 1, 0);
  ParallelFor(ranges, [&](std::uint64_t r) {
    std::uint64_t* count = &place[r * buckets];
    ForEachDigit(random, plan, r, [&](std::uint64_t, std::uint32_t digit) { ++count[digit]; });
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
  const auto scratch = Uninitialised<Item>(n);
  ParallelFor(ranges, [&](std::uint64_t r) {
    ScatterRange(random, plan, r, in, scratch.get(), &place[r * buckets]);
  });
  ParallelFor(buckets, [&](std::uint64_t d) {
    OrderBucket(random, plan, d, scratch.get() + start[d], out + start[d],
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

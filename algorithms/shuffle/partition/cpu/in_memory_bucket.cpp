#include "algorithms/shuffle/partition/cpu/in_memory_bucket.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/bin_orders.hpp"
#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"
#include "algorithms/shuffle/partition/cpu/scratch.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

const BinOrders<kTabledBin>& OrdersOfBins() {
  static const auto orders =
      std::make_unique<const BinOrders<kTabledBin>>(MakeBinOrders<kTabledBin>());
  return *orders;
}

// Where the slots of a bin go: slot r to place nibble r. Those of a bin of more than kSmallBin stay
// where they are.
std::uint64_t OrderOfBin(const BinOrders<kTabledBin>& orders, const Philox4x32& random,
                         std::uint64_t bucket, std::uint32_t bin, std::uint32_t size,
                         std::uint32_t word) {
  if (size > kSmallBin) return 0xFEDCBA9876543210u;
  if (size > kTabledBin) return UniformSmallOrder(random, bucket, bin, size, word);
  std::uint32_t order[1];
  ReadOrder<kTabledBin, kTabledBin>(orders.scale, orders.places, size, word, order);
  if (word < 40320u && DrawsAgain(word, size)) {
    return SmallOrderAgain(random, bucket, bin, size);
  }
  return order[0];
}

// The bins of a bucket.
struct Bins {
  std::uint32_t size[kBins], start[kBins];
  std::uint64_t order[kBins];

  // Sizes become places and, of bins of two slots and more, orders.
  void Order(const Philox4x32& random, std::uint64_t bucket);
};

void Bins::Order(const Philox4x32& random, std::uint64_t bucket) {
  std::uint32_t block[kBins / 4 + 31] = {}, blocks = 0, sum = 0;  // four bins draw from one block
  for (std::uint32_t b = 0; b < kBins; b += 4) {
    std::uint32_t sizes = 0;
    for (std::uint32_t bin = b; bin < b + 4; ++bin) {
      start[bin] = sum;
      order[bin] = 0;
      sum += size[bin];
      sizes |= size[bin];
    }
    block[blocks] = b / 4;
    blocks += sizes > 1;
  }
  const BinOrders<kTabledBin>& orders = OrdersOfBins();
  alignas(64) std::uint32_t words[128];
  for (std::uint32_t first = 0; first < blocks; first += 32) {
    FillSwapBlocks(random, bucket, block + first, words);
    for (std::uint32_t k = 0; k < std::min(32u, blocks - first); ++k) {
      for (std::uint32_t w = 0; w < 4; ++w) {
        const std::uint32_t bin = 4 * block[first + k] + w;
        order[bin] = OrderOfBin(orders, random, bucket, bin, size[bin], words[32 * w + k]);
      }
    }
  }
}

}  // namespace

template <class Item>
void ShuffleInMemory(const Philox4x32& random, std::uint64_t bucket, const Item* in, Item* out,
                     std::uint32_t m) {
  if (in == out) in = std::copy_n(in, m, Scratch<Item, struct BucketCopy>(m)) - m;
  auto* digit = Scratch<std::uint16_t, struct Digits>((std::size_t{m} + 255) / 256 * 256);
  auto* rank = Scratch<std::uint32_t, struct Ranks>(m);
  Bins bins;
  std::fill_n(bins.size, kBins, 0u);
  std::uint32_t largest = 0;
  for (std::uint32_t s = 0; s < m; s += 256) {
    FillDigits(random, InMemoryStream(bucket), s >> 8, kBins, digit + s);
    for (std::uint32_t k = s; k < std::min(s + 256, m); ++k) {
      rank[k] = bins.size[digit[k]]++;
      largest = std::max(largest, rank[k]);
    }
  }
  bins.Order(random, bucket);
  for (std::uint32_t s = 0; s < m; ++s) {
    const std::uint32_t bin = digit[s], r = rank[s];
    const auto place = r < 16 ? static_cast<std::uint32_t>(bins.order[bin] >> (4 * r)) & 15u : r;
    out[bins.start[bin] + place] = in[s];
  }
  if (largest < kSmallBin) return;
  for (std::uint32_t bin = 0; bin < kBins; ++bin) {
    if (bins.size[bin] <= kSmallBin) continue;
    Item* items = out + bins.start[bin];
    for (std::uint32_t k = 1; k < bins.size[bin]; ++k) {
      std::swap(items[k], items[LargeSwap(random, bucket, bin, k)]);
    }
  }
}

template <class Item>
void SplitAndShuffle(const Philox4x32& random, std::uint64_t stream, std::uint32_t buckets,
                     std::uint64_t first, const Item* in, Item* out, std::uint32_t m,
                     bool parallel) {
  const std::uint64_t capacity = MostItems(m, buckets);
  // The last bucket has room for all items, so that no write is checked.
  Item* items = Scratch<Item, struct BucketItems>(buckets * capacity + m);
  std::uint64_t end[kMaxDigits], begin[kMaxDigits + 1] = {};
  for (std::uint64_t q = 0; q < buckets; ++q) end[q] = q * capacity;
  ForEachDigit(random, stream, buckets, 0, m,
               [&](std::uint64_t s, std::uint32_t digit) { Append(items + end[digit]++, in[s]); });
  for (std::uint64_t q = 0; q < buckets; ++q) {
    const std::uint64_t size = end[q] - q * capacity;
    if (size > capacity) throw std::runtime_error("a bucket is 16 standard deviations too large");
    begin[q + 1] = begin[q] + size;
  }
  const auto shuffle_bucket = [&](std::uint64_t q) {
    ShuffleInMemory(random, first + q, items + q * capacity, out + begin[q],
                    static_cast<std::uint32_t>(begin[q + 1] - begin[q]));
  };
  if (parallel) return ParallelFor(buckets, shuffle_bucket);
  for (std::uint64_t q = 0; q < buckets; ++q) shuffle_bucket(q);
}

#define RETABLE_IN_MEMORY(Item)                                                                 \
  template void ShuffleInMemory(const Philox4x32&, std::uint64_t, const Item*, Item*,           \
                                std::uint32_t);                                                 \
  template void SplitAndShuffle(const Philox4x32&, std::uint64_t, std::uint32_t, std::uint64_t, \
                                const Item*, Item*, std::uint32_t, bool)
RETABLE_IN_MEMORY(std::uint32_t);
RETABLE_IN_MEMORY(std::uint64_t);
RETABLE_IN_MEMORY(Item16);

}  // namespace retable::shuffle

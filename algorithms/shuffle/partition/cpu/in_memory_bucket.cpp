#include "algorithms/shuffle/partition/cpu/in_memory_bucket.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/cpu/bin_orders.hpp"
#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"
#include "algorithms/shuffle/partition/cpu/scratch.hpp"
#include "algorithms/shuffle/split/stable_split.hpp"
#include "base/parallel.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {
namespace {

// A bin of any size, by definition. `in` and `out` do not overlap.
template <class Item>
void ShuffleBin(const Philox4x32& random, std::uint64_t bucket, std::uint32_t bin,
                std::uint32_t word, const Item* in, Item* out, std::uint32_t size) {
  if (size <= kSmallBin) {
    const std::uint64_t places = UniformSmallOrder(random, bucket, bin, size, word);
    for (std::uint32_t r = 0; r < size; ++r) out[(places >> (4 * r)) & 15] = in[r];
    return;
  }
  std::copy_n(in, size, out);
  for (std::uint32_t k = 1; k < size; ++k)
    std::swap(out[k], out[LargeSwap(random, bucket, bin, k)]);
}

// --- any ---------------------------------------------------------------------------------------

template <class Item>
void ShuffleAny(const Philox4x32& random, std::uint64_t bucket, const Item* in, Item* out,
                std::uint32_t m) {
  auto* digit = Scratch<std::uint16_t, struct AnyDigits>((std::size_t{m} + 255) / 256 * 256);
  Item* binned = Scratch<Item, struct AnyItems>(m);
  std::uint32_t start[kBins + 1] = {}, next[kBins];
  for (std::uint32_t s = 0; s < m; s += 256) {
    FillDigits(random, InMemoryStream(bucket), s >> 8, kBins, digit + s);
    for (std::uint32_t k = s; k < std::min(s + 256, m); ++k) ++start[digit[k] + 1];
  }
  for (std::uint32_t b = 0; b < kBins; ++b) {
    next[b] = start[b];
    start[b + 1] += start[b];
  }
  for (std::uint32_t s = 0; s < m; ++s) binned[next[digit[s]]++] = in[s];
  alignas(64) std::uint32_t words[128];
  for (std::uint32_t b = 0; b < kBins; ++b) {
    if (b % 128 == 0) FillSwapBlocks(random, bucket, b / 128, words);
    ShuffleBin(random, bucket, b, SwapWord(words, b % 128), binned + start[b], out + start[b],
               start[b + 1] - start[b]);
  }
}

// --- sparse ------------------------------------------------------------------------------------

static_assert(kSparse % 256 == 0);

// Exclusive sums of counts, four at a time in one word.
static_assert(std::endian::native == std::endian::little);
void SumsBefore(const std::uint16_t count[kBins], std::uint16_t before[kBins]) {
  constexpr std::uint64_t kOnes = 0x0001000100010001u;
  std::uint64_t sum = 0;
  for (std::uint32_t b = 0; b < kBins; b += 4) {
    std::uint64_t four;
    std::memcpy(&four, count + b, sizeof four);
    const std::uint64_t sums = four * kOnes;
    const std::uint64_t shifted = (sums << 16) + sum * kOnes;
    std::memcpy(before + b, &shifted, sizeof shifted);
    sum += sums >> 48;
  }
}

// The orders of bins that hold two or more, as a difference from "slot r goes to place r". False
// when one holds more than the table knows.
bool SparseOrders(const Philox4x32& random, std::uint64_t bucket, const std::uint16_t* bins,
                  std::uint32_t count, const std::uint16_t size[kBins], std::uint32_t* order) {
  const BinOrders& table = BinOrders::Table();
  std::uint32_t words[128], blocks[32] = {};
  for (std::uint32_t first = 0; first < count; first += 32) {
    const std::uint32_t many = std::min(32u, count - first);
    for (std::uint32_t k = 0; k < many; ++k) blocks[k] = bins[first + k] / 4;
    FillSwapBlocksOf(random, bucket, blocks, words);
    for (std::uint32_t k = 0; k < many; ++k) {
      const std::uint32_t bin = bins[first + k];
      if (size[bin] > kTabledBin) return false;
      const std::uint64_t product =
          static_cast<std::uint64_t>(words[bin % 4 * 32 + k]) * table.count[size[bin]];
      if (static_cast<std::uint32_t>(product) < table.count[kTabledBin]) return false;
      const std::uint32_t take = table.take[table.first[size[bin]] + (product >> 32)];
      order[bin] = (size[bin] == 2 ? take : InverseOrder(take)) ^ 0x76543210u;
    }
  }
  return true;
}

bool SparseBucket(const Philox4x32& random, std::uint64_t bucket, std::uint32_t m,
                  std::uint16_t* slots) {
  alignas(64) std::uint16_t digit[kSparse], rank[kSparse], shared[kSparse];
  std::uint16_t size[kBins] = {}, before[kBins];
  std::uint32_t many = 0;
  for (std::uint32_t s = 0; s < m; s += 256) {
    FillDigits(random, InMemoryStream(bucket), s >> 8, kBins, digit + s);
  }
  for (std::uint32_t s = 0; s < m; ++s) {
    const std::uint16_t bin = digit[s], r = size[bin]++;
    rank[s] = r;
    shared[many] = bin;
    many += r == 1;
  }
  std::uint32_t order[kBins] = {};
  if (!SparseOrders(random, bucket, shared, many, size, order)) return false;
  SumsBefore(size, before);
  for (std::uint32_t s = 0; s < m; ++s) {
    const std::uint32_t place = ((order[digit[s]] >> (4 * rank[s])) & 15u) ^ rank[s];
    slots[before[digit[s]] + place] = static_cast<std::uint16_t>(s);
  }
  return true;
}

// --- dense -------------------------------------------------------------------------------------

// The slots that drew each bin, in order. The first eight of all bins lie together, so that they
// stay in the first-level cache.
struct PaddedBins {
  std::uint8_t size[kBins];
  alignas(64) std::uint16_t slot[2][kBins][8];
};

// False when a bin overflows.
bool FillPaddedBins(const Philox4x32& random, std::uint64_t bucket, std::uint32_t m,
                    PaddedBins& bins) {
  std::fill_n(bins.size, kBins, std::uint8_t{0});
  alignas(64) std::uint16_t digit[256];
  for (std::uint32_t s = 0; s < m; s += 256) {
    FillDigits(random, InMemoryStream(bucket), s >> 8, kBins, digit);
    const std::uint32_t many = std::min(256u, m - s);
    for (std::uint32_t k = 0; k < many; ++k) {
      const std::uint32_t bin = digit[k], rank = bins.size[bin]++;
      // One item in a hundred is a ninth: worth a branch.
      if (rank < 8) {
        bins.slot[0][bin][rank] = static_cast<std::uint16_t>(s + k);
      } else if (rank < 16) {
        bins.slot[1][bin][rank - 8] = static_cast<std::uint16_t>(s + k);
      } else {
        return false;
      }
    }
  }
  return true;
}

// 128 bins whose orders are looked up together.
struct BinGroup {
  std::uint32_t first;                   // bin
  alignas(64) std::uint32_t words[128];  // see SwapWord
  alignas(64) std::uint32_t take[128];   // orders
  std::uint64_t odd[2];                  // bits of bins whose order is not in the table
  std::uint32_t begin[128];              // places
};

void LookUpOrders(const PaddedBins& bins, const BinOrders& table, BinGroup& group) {
  group.odd[0] = group.odd[1] = 0;
  for (std::uint32_t b = 0; b < 128; ++b) {
    const std::uint32_t held = bins.size[group.first + b], size = std::min(held, kTabledBin);
    const std::uint64_t product =
        static_cast<std::uint64_t>(SwapWord(group.words, b)) * table.count[size];
    group.take[b] = table.take[table.first[size] + (product >> 32)];
    const bool odd =
        (held > kTabledBin) | (static_cast<std::uint32_t>(product) < table.count[kTabledBin]);
    group.odd[b / 64] |= std::uint64_t{odd} << (b % 64);
  }
}

// Writes each bin's eight first in order; what is too much the next bins overwrite, so that there
// is no branch on a size. Returns the sum of the sizes and `place`.
std::uint32_t WriteSlots(const PaddedBins& bins, BinGroup& group, std::uint32_t place,
                         std::uint16_t* slots) {
  for (std::uint32_t b = 0; b < 128; ++b) {
    const std::uint16_t* held = bins.slot[0][group.first + b];
    const std::uint32_t take = group.take[b];
    group.begin[b] = place;
    for (std::uint32_t j = 0; j < 8; ++j) slots[place + j] = held[(take >> (4 * j)) & 7];
    place += bins.size[group.first + b];
  }
  return place;
}

#if defined(RETABLE_X86)
RETABLE_AVX2 std::uint32_t WriteSlotsAvx2(const PaddedBins& bins, BinGroup& group,
                                          std::uint32_t place, std::uint16_t* slots) {
  const __m128i nibble = _mm_set1_epi8(15), second = _mm_set1_epi16(0x0100);
  for (std::uint32_t b = 0; b < 128; ++b) {
    const __m128i take = _mm_cvtsi32_si128(static_cast<int>(group.take[b]));
    const __m128i numbers = _mm_unpacklo_epi8(_mm_and_si128(take, nibble),
                                              _mm_and_si128(_mm_srli_epi32(take, 4), nibble));
    // Slot k is bytes 2 k and 2 k + 1.
    const __m128i twice = _mm_add_epi8(numbers, numbers);
    const __m128i bytes = _mm_add_epi8(_mm_unpacklo_epi8(twice, twice), second);
    const __m128i held =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(bins.slot[0][group.first + b]));
    group.begin[b] = place;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(slots + place), _mm_shuffle_epi8(held, bytes));
    place += bins.size[group.first + b];
  }
  return place;
}
#endif

std::uint32_t WriteGroup(const PaddedBins& bins, BinGroup& group, std::uint32_t place,
                         std::uint16_t* slots) {
  const BinOrders& table = BinOrders::Table();
  LookUpOrders(bins, table, group);
#if defined(RETABLE_X86)
  if (HasAvx2()) return WriteSlotsAvx2(bins, group, place, slots);
#endif
  return WriteSlots(bins, group, place, slots);
}

bool DenseBucket(const Philox4x32& random, std::uint64_t bucket, std::uint32_t m,
                 std::uint16_t* slots) {
  PaddedBins& bins = *Scratch<PaddedBins>(1);
  if (!FillPaddedBins(random, bucket, m, bins)) return false;
  BinGroup group;
  std::uint32_t place = 0;
  for (group.first = 0; group.first < kBins; group.first += 128) {
    FillSwapBlocks(random, bucket, group.first / 128, group.words);
    place = WriteGroup(bins, group, place, slots);
    for (std::uint32_t half = 0; half < 2; ++half) {
      for (std::uint64_t odd = group.odd[half]; odd != 0; odd &= odd - 1) {
        const std::uint32_t b = 64 * half + static_cast<std::uint32_t>(std::countr_zero(odd));
        const std::uint32_t bin = group.first + b, size = bins.size[bin];
        std::uint16_t held[16];
        for (const int half_of : {0, 1})
          std::copy_n(bins.slot[half_of][bin], 8, held + 8 * half_of);
        ShuffleBin(random, bucket, bin, SwapWord(group.words, b), held, slots + group.begin[b],
                   size);
      }
    }
  }
  return true;
}

}  // namespace

template <class Item>
void ShuffleInMemory(const Philox4x32& random, std::uint64_t bucket, const Item* in, Item* out,
                     std::uint32_t m) {
  alignas(64) std::uint16_t slots[kInMemoryCapacity + 8];  // slots[j] goes to place j
  if (m > kInMemoryCapacity || !(m <= kSparse ? SparseBucket(random, bucket, m, slots)
                                              : DenseBucket(random, bucket, m, slots))) {
    return ShuffleAny(random, bucket, in, out, m);
  }
  if (in == out) in = std::copy_n(in, m, Scratch<Item, struct BucketCopy>(m)) - m;
  for (std::uint32_t j = 0; j < m; ++j) out[j] = in[slots[j]];
}

namespace {

// In-memory buckets between split and shuffle: bucket q is items[start[q]], ..., size[q] of them.
template <class Item>
struct Split {
  Item* items;
  std::uint32_t start[kMaxDigits], size[kMaxDigits];
};

// In one pass, into padded buckets. False when one overflows.
template <class Item>
bool SplitIntoPaddedBuckets(const Philox4x32& random, std::uint64_t stream, std::uint32_t buckets,
                            const Item* in, std::uint32_t m, std::uint32_t capacity,
                            Split<Item>& split) {
  // The last bucket has room for all items.
  split.items = Scratch<Item, struct BucketItems>(std::size_t{buckets} * capacity + m);
  std::uint32_t next[kMaxDigits];
  for (std::uint32_t q = 0; q < buckets; ++q) next[q] = split.start[q] = q * capacity;
  alignas(64) std::uint16_t digit[256];
  for (std::uint32_t s = 0; s < m; s += 256) {
    FillDigits(random, stream, s >> 8, buckets, digit);
    const std::uint32_t many = std::min(256u, m - s);
    for (std::uint32_t k = 0; k < many; ++k) Append(split.items + next[digit[k]]++, in[s + k]);
  }
  std::uint32_t most = 0;
  for (std::uint32_t q = 0; q < buckets; ++q) {
    split.size[q] = next[q] - split.start[q];
    most = std::max(most, split.size[q]);
  }
  return most <= capacity;
}

}  // namespace

template <class Item>
void SplitAndShuffle(const Philox4x32& random, std::uint64_t stream, std::uint32_t buckets,
                     std::uint64_t first, const Item* in, Item* out, std::uint32_t m, bool parallel,
                     std::uint32_t capacity) {
  Split<Item> split;
  std::vector<Item> counted;
  if (!SplitIntoPaddedBuckets(random, stream, buckets, in, m, capacity, split)) {
    counted.resize(m);
    const auto start = SplitByDigits(buckets, in, counted.data(), m,
                                     [&](std::uint64_t begin, std::uint64_t end, auto&& visit) {
                                       ForEachDigit(random, stream, buckets, begin, end, visit);
                                     });
    split.items = counted.data();
    for (std::uint32_t q = 0; q < buckets; ++q) {
      split.start[q] = static_cast<std::uint32_t>(start[q]);
      split.size[q] = static_cast<std::uint32_t>(start[q + 1] - start[q]);
    }
  }
  std::uint32_t begin[kMaxDigits], sum = 0;
  for (std::uint32_t q = 0; q < buckets; ++q) {
    begin[q] = sum;
    sum += split.size[q];
  }
  const auto shuffle_bucket = [&](std::uint64_t q) {
    ShuffleInMemory(random, first + q, split.items + split.start[q], out + begin[q], split.size[q]);
  };
  if (parallel) return ParallelFor(buckets, shuffle_bucket);
  for (std::uint64_t q = 0; q < buckets; ++q) shuffle_bucket(q);
}

#define RETABLE_IN_MEMORY(Item)                                                                 \
  template void ShuffleInMemory(const Philox4x32&, std::uint64_t, const Item*, Item*,           \
                                std::uint32_t);                                                 \
  template void SplitAndShuffle(const Philox4x32&, std::uint64_t, std::uint32_t, std::uint64_t, \
                                const Item*, Item*, std::uint32_t, bool, std::uint32_t)
RETABLE_IN_MEMORY(std::uint32_t);
RETABLE_IN_MEMORY(std::uint64_t);
RETABLE_IN_MEMORY(Item16);

}  // namespace retable::shuffle

//! @file
//! SortShuffle: sort by random 64-bit keys; and "sort + islands", which sorts by only as many bits
//! as are needed and shuffles the runs of equal keys.
//!
//! SortShuffle (Mitchell et al. 2022, section 6) leaves equal keys in an order that depends on the
//! sort; with 64 bits their chance is n^2 / 2^65. Here equal keys keep their input order, which
//! makes it deterministic. Sort + islands is the method of PyTorch's randperm: keys of ceil(log2(n
//! - (6 n^2 + 1) / (12 ln 0.9))) bits, then Fisher-Yates inside each run of equal keys: exactly
//! uniform for ideal bits. The sort is oneTBB's parallel quicksort: O(n log n).

#if !defined(RETABLE_TSAN)
#include <tbb/parallel_sort.h>
#endif

#include <algorithm>
#include <memory>
#include <vector>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "base/parallel.hpp"
#include "baselines/shuffle/island_bits.hpp"

namespace retable::shuffle {
namespace {

struct Keyed {
  std::uint64_t key;
  std::uint64_t index;
};

constexpr std::uint64_t kSortBlock = 1 << 14;

std::vector<Keyed> SortedKeys(std::uint64_t n, std::uint64_t seed, int bits) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::vector<Keyed> keys(n);
  ParallelBlocks(n, kSortBlock, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      keys[i] = {random.Block(i >> 1, kSortStream).half(static_cast<int>(i & 1)) >> (64 - bits), i};
    }
  });
  const auto before = [](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  };
#if defined(RETABLE_TSAN)  // does not see oneTBB's synchronisation (base/parallel.cpp)
  std::sort(keys.begin(), keys.end(), before);
#else
  tbb::parallel_sort(keys.begin(), keys.end(), before);
#endif
  return keys;
}

void ShuffleIslands(std::vector<Keyed>& keys, std::uint64_t seed) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  for (std::uint64_t first = 0; first < keys.size();) {
    std::uint64_t last = first + 1;
    while (last < keys.size() && keys[last].key == keys[first].key) ++last;
    for (std::uint64_t k = 1; first + k < last; ++k) {
      const std::uint64_t bits = random.Block(first + k, kSwapStream).half(0);
      std::swap(keys[first + k], keys[first + UniformBelow(bits, k + 1)]);
    }
    first = last;
  }
}

template <class Item>
void SortShuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed, bool islands) {
  std::vector<Keyed> keys = SortedKeys(n, seed, islands ? IslandKeyBits(n) : 64);
  if (islands) ShuffleIslands(keys, seed);
  ParallelBlocks(n, kSortBlock, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t j = begin; j < end; ++j) out[j] = in[keys[j].index];
  });
}

std::unique_ptr<Shuffler> MakeSortShuffle(bool islands) {
  return MakeItemMethod([islands](auto... a) { SortShuffle(a..., islands); });
}

RETABLE_REGISTER(Shuffler, sort_shuffle,
                 {.name = "SortShuffle",
                  .summary = "sorts by random 64-bit keys",
                  .citation = "Mitchell et al. 2022, section 6",
                  .make = [](const Parameters&) { return MakeSortShuffle(false); }});

RETABLE_REGISTER(Shuffler, sort_islands,
                 {.name = "SortIslands",
                  .summary = "sorts by short random keys, then shuffles runs of equal keys",
                  .citation = "the method of PyTorch's randperm",
                  .make = [](const Parameters&) { return MakeSortShuffle(true); }});

}  // namespace
}  // namespace retable::shuffle

//! @file
//! MergeShuffle: shuffle blocks, then merge neighbours at random.
//!
//! A merge takes from either side by a fair coin until one side is empty; each item then left goes
//! to a uniform place among those before it. Every order is equally likely for ideal bits. Blocks
//! and merges of one level run in parallel, the last merge on one thread: O(n log n) work, O(n)
//! span, in place. Source: Bacher, Bodini, Hollender, Lumbroso, "MergeShuffle", arXiv:1508.03167,
//! 2015.

#include <algorithm>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "base/parallel.hpp"
#include "baselines/shuffle/fisher_yates.hpp"

namespace retable::shuffle {
namespace {

constexpr std::uint64_t kMergeBlock = 1 << 16;

// Merges the shuffled items [0, middle) and [middle, n).
template <class Item>
void Merge(Item* items, std::uint64_t middle, std::uint64_t n, PhiloxEngine& random) {
  std::uint64_t i = 0, j = middle, bits = 0;
  int left = 0;
  for (;; ++i) {
    if (left == 0) {
      bits = random();
      left = 64;
    }
    const bool right = bits & 1;
    bits >>= 1;
    --left;
    if (right) {
      if (j == n) break;
      std::swap(items[i], items[j++]);
    } else if (i == j) {
      break;
    }
  }
  for (; i < n; ++i) std::swap(items[i], items[random.Below(i + 1)]);
}

template <class Item>
void MergeShuffle(const Item* in, Item* items, std::uint64_t n, std::uint64_t seed) {
  std::copy_n(in, n, items);
  ParallelFor((n + kMergeBlock - 1) / kMergeBlock, [&](std::uint64_t b) {
    PhiloxEngine random(seed, kCoinStream + ((2 * b + 1) << 8));
    FisherYates(items + b * kMergeBlock, std::min(kMergeBlock, n - b * kMergeBlock), random);
  });
  std::uint64_t level = 1;
  for (std::uint64_t width = kMergeBlock; width < n; width *= 2, ++level) {
    ParallelFor((n + 2 * width - 1) / (2 * width), [&](std::uint64_t p) {
      const std::uint64_t first = p * 2 * width;
      if (first + width >= n) return;
      PhiloxEngine random(seed, kCoinStream + ((2 * p) << 8) + (level << 48));
      Merge(items + first, width, std::min(2 * width, n - first), random);
    });
  }
}

RETABLE_REGISTER(Shuffler, merge_shuffle,
                 {.name = "MergeShuffle",
                  .summary = "shuffled blocks, merged at random, level by level",
                  .citation = "Bacher et al. 2015, arXiv:1508.03167",
                  .make = [](const Parameters&) {
                    return MakeItemMethod([](auto... a) { MergeShuffle(a...); });
                  }});

}  // namespace
}  // namespace retable::shuffle

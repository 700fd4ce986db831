#pragma once
//! @file
//! What one treelet adds to the interventional values, as a table over what it sees of a row.
//!
//! A treelet is the leaves below a node. Of a row they see a pattern: a bit for each feature above
//! the node (does the row follow the path?) and a bit for each split below it. A leaf needs some of
//! the bits of each feature on its path to be just so: the row follows that feature or lacks it.
//! Let x lack n of a leaf's d features and a background row b those of a set u. The pair reaches
//! the leaf only where x follows what b lacks; then each feature of u gains (|u| - 1)! n! / (|u| +
//! n)! of the leaf's value, and each that x lacks loses |u|! (n - 1)! / (|u| + n)! of it. So counts
//! of the background's patterns are enough: for each size of u, sums of counts over the subsets of
//! what x follows give the table, in O(d^2 2^d) a leaf. Sums of counts are whole numbers.
//! The patterns as in WOODELF (Nadel and Wettenstein 2025); weights as in Lundberg et al. 2020,
//! algorithm 3.
//!
//! A team is one thread of the host or a block of the device: both run the same functions.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "algorithms/treeshap/interventional/tuning.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! A bit of a pattern: x in [lower, upper), or in a set of categories.
struct alignas(16) PatternBit {
  float lower = -std::numeric_limits<float>::infinity();
  float upper = std::numeric_limits<float>::infinity();
  std::uint32_t feature = 0;  //!< its number, and kMissingFollows
  std::uint32_t set = kNoSet;

  static constexpr std::uint32_t kMissingFollows = 1u << 31;
  static constexpr std::uint32_t kFeature = kMissingFollows - 1;
  static constexpr std::uint32_t kNoSet = 0xffffffffu;
};

//! Offsets into the arrays of PatternModel.
struct Treelet {
  std::uint64_t counts = 0;  //!< its 2^bits counts
  std::uint64_t table = 0;   //!< its columns of 2^bits doubles
  std::uint32_t first_bit = 0, bits = 0;
  std::uint32_t first_column = 0, columns = 0;  //!< distinct features of its leaves
  std::uint32_t first_leaf = 0, leaves = 0;
};

//! A feature of a leaf: the row follows it where (pattern & mask) == bits.
struct LeafFeature {
  std::uint16_t mask = 0, bits = 0;
  std::uint32_t column = 0;  //!< its place among the treelet's
};

struct TreeletLeaf {
  double value = 0;
  std::uint32_t first_feature = 0, features = 0;
};

//! Whether x, infinities clamped, has the bit.
RETABLE_HD bool HasBit(const PatternBit& bit, const std::uint32_t* sets, float x) {
  if (x != x) return (bit.feature & PatternBit::kMissingFollows) != 0;
  if (bit.set == PatternBit::kNoSet) return x >= bit.lower && x < bit.upper;
  return InSet([sets](std::uint32_t i) { return sets[i]; }, bit.set, x);
}

//! w(a, b) = a! b! / (a + b + 1)!, for a, b <= kPatternBits.
struct ShapleyWeights {
  static constexpr std::uint32_t kSide = kPatternBits + 1;
  double weight[kSide][kSide];

  // w(a, 0) = 1 / (a + 1), w(a, b) = w(a, b - 1) b / (a + b + 1): products of small ratios.
  constexpr ShapleyWeights() : weight{} {
    for (std::uint32_t a = 0; a < kSide; ++a) {
      weight[a][0] = 1.0 / (a + 1);
      for (std::uint32_t b = 1; b < kSide; ++b) weight[a][b] = weight[a][b - 1] * b / (a + b + 1);
    }
  }
};

//! Memory of a team, 2^bits of each. A row that follows q, as a background row that lacks u,
//! reaches the leaf for subsets u of q: what each feature of u gains, and each that the row lacks
//! loses, but for background rows that lack none.
struct TableScratch {
  std::uint32_t* lacking;   //!< background rows by the set of features they lack
  std::uint32_t* subsets;   //!< those that lack so many features, summed over subsets
  std::uint16_t* followed;  //!< what a row of each pattern follows
  double *gain, *loss;      //!< over background rows, by q
};

//! One thread of the host.
struct OneThread {
  static constexpr std::uint32_t index() { return 0; }
  static constexpr std::uint32_t size() { return 1; }
  static void Sync() {}
  static void Add(std::uint32_t* to, std::uint32_t count) { *to += count; }
};

RETABLE_HD std::uint32_t BitCount(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(bits));
#else
  return static_cast<std::uint32_t>(std::popcount(bits));
#endif
}

//! The leaf's background rows by the set of its features that they lack; what each pattern follows.
template <class Team>
RETABLE_HD void CountLacking(const Team& team, const TreeletLeaf& leaf, const LeafFeature* features,
                             std::uint32_t bits, const std::uint32_t* counts,
                             const TableScratch& scratch) {
  const std::uint32_t all = (1u << leaf.features) - 1;
  for (std::uint32_t u = team.index(); u <= all; u += team.size()) scratch.lacking[u] = 0;
  team.Sync();
  for (std::uint32_t p = team.index(); p < 1u << bits; p += team.size()) {
    std::uint32_t followed = 0;
    for (std::uint32_t i = 0; i < leaf.features; ++i) {
      followed |= ((p & features[i].mask) == features[i].bits ? 1u : 0u) << i;
    }
    scratch.followed[p] = static_cast<std::uint16_t>(followed);
    if (counts[p] != 0) team.Add(scratch.lacking + (all & ~followed), counts[p]);
  }
  team.Sync();
}

//! subsets[q] = the sum of lacking[u] over subsets u of q with `size` elements.
template <class Team>
RETABLE_HD void SumSubsets(const Team& team, std::uint32_t features, std::uint32_t size,
                           const TableScratch& scratch) {
  for (std::uint32_t u = team.index(); u < 1u << features; u += team.size()) {
    scratch.subsets[u] = BitCount(u) == size ? scratch.lacking[u] : 0;
  }
  for (std::uint32_t i = 0; i < features; ++i) {
    team.Sync();
    const std::uint32_t low = (1u << i) - 1;
    for (std::uint32_t j = team.index(); j < 1u << features >> 1; j += team.size()) {
      const std::uint32_t without = (j & ~low) << 1 | (j & low);
      scratch.subsets[without | (1u << i)] += scratch.subsets[without];
    }
  }
  team.Sync();
}

//! Weighs what background rows that lack `size` > 0 features contribute, for each set that a row
//! may follow.
template <class Team>
RETABLE_HD void AddWeighted(const Team& team, std::uint32_t features, std::uint32_t size,
                            const ShapleyWeights& weights, const TableScratch& scratch) {
  for (std::uint32_t q = team.index(); q < 1u << features; q += team.size()) {
    const double sum = scratch.subsets[q];
    const std::uint32_t n = features - BitCount(q);
    scratch.gain[q] += weights.weight[size - 1][n] * sum;
    if (n > 0) scratch.loss[q] += weights.weight[size][n - 1] * sum;
  }
  team.Sync();
}

//! Adds a leaf to the table, in columns of 2^bits. A feature of q gains where the background lacks
//! it: what sums over subsets of q have beyond those without it, whose weights w(s - 1, n - 1) are
//! w(s - 1, n) + w(s, n - 1).
template <class Team>
RETABLE_HD void AddLeaf(const Team& team, const TreeletLeaf& leaf, const LeafFeature* features,
                        std::uint32_t bits, double share, const TableScratch& scratch,
                        double* table) {
  const double all = scratch.lacking[0];
  for (std::uint32_t i = 0; i < leaf.features; ++i) {
    double* to = table + (static_cast<std::size_t>(features[i].column) << bits);
    for (std::uint32_t p = team.index(); p < 1u << bits; p += team.size()) {
      const std::uint32_t followed = scratch.followed[p];
      if ((followed >> i & 1u) != 0) {
        const std::uint32_t without = followed & ~(1u << i);
        to[p] += share * (scratch.gain[followed] - (scratch.gain[without] + scratch.loss[without]));
      } else {
        const std::uint32_t n = leaf.features - BitCount(followed);
        to[p] -= share * (scratch.loss[followed] + all / n);
      }
    }
  }
  team.Sync();
}

//! The arrays of a PatternModel that a table is made from.
struct TreeletArrays {
  const TreeletLeaf* leaves;
  const LeafFeature* features;
  const std::uint32_t* counts;
  double background_rows;
};

//! Writes the treelet's table, and how many background rows reach each of its leaves. O(leaves d^2
//! 2^bits)
template <class Team>
RETABLE_HD void MakeTable(const Team& team, const Treelet& treelet, const TreeletArrays& from,
                          const ShapleyWeights& weights, const TableScratch& scratch, double* table,
                          std::uint32_t* reached) {
  for (std::uint32_t i = team.index(); i < treelet.columns << treelet.bits; i += team.size()) {
    table[i] = 0;
  }
  for (std::uint32_t l = treelet.first_leaf; l < treelet.first_leaf + treelet.leaves; ++l) {
    const TreeletLeaf leaf = from.leaves[l];
    const LeafFeature* features = from.features + leaf.first_feature;
    CountLacking(team, leaf, features, treelet.bits, from.counts, scratch);
    if (team.index() == 0) reached[l] = scratch.lacking[0];
    for (std::uint32_t q = team.index(); q < 1u << leaf.features; q += team.size()) {
      scratch.gain[q] = scratch.loss[q] = 0;
    }
    for (std::uint32_t size = 1; size <= leaf.features; ++size) {
      SumSubsets(team, leaf.features, size, scratch);
      AddWeighted(team, leaf.features, size, weights, scratch);
    }
    AddLeaf(team, leaf, features, treelet.bits, leaf.value / from.background_rows, scratch, table);
  }
}

}  // namespace retable::treeshap

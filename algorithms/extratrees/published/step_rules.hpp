#pragma once
//! @file
//! The report's algorithm (Phang, Tanna, "Extremely Randomized Trees on GPUs", section IV), one
//! element at a time: what one thread of each of its kernels does. CPU and CUDA forms loop over the
//! same functions.
//!
//! Problem: grow R trees in parallel without copying the data per tree. Approach, theirs: step
//! tree_pos grows node tree_pos of every tree. batch_pos (R x N) says in which node each sample is;
//! a kernel that needs a node's samples reads all of them and masks. trees is 6 x M x R: left,
//! right, depth, feature, cut, class; a node that is not split points to itself, so that walking on
//! from it changes nothing. Features are drawn with replacement from those not constant in the
//! node. Cost: O(N F) a node, whatever its size, which is why it lost to scikit-learn on MNIST.
//! Random numbers are named by (seed, tree, node, draw) instead of a generator's state per thread.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "algorithms/extratrees/splits/split_rules.hpp"

namespace retable::extratrees::published {

//! How features are drawn among the valid ones (section IV.A, item 5; appendix B).
enum class Sampling { kUniform, kBinomial, kNormal };

enum Field { kLeft, kRight, kDepth, kFeature, kCut, kClass, kFields };

union Cell {
  std::int32_t integer;
  float real;
};

struct TrainingRows {
  const float* lines;           //!< X, [N][F]
  const float* columns;         //!< the transposed copy of X, [F][N]
  const std::uint32_t* labels;  //!< [N]
};

struct Shape {
  std::uint32_t rows, features, classes, trees, k;
};

//! Whose elements in a tree a rule is for, if not for the tree.
enum class Each { kTree, kRow, kFeature, kCandidate };

RETABLE_HD std::uint32_t CountOf(Each each, const Shape& shape) {
  if (each == Each::kRow) return shape.rows;
  return each == Each::kFeature ? shape.features : shape.k;
}

struct Progress {
  std::int32_t* batch_pos;  //!< [R][N]
  std::int32_t* length;     //!< [R] tree_length
  std::int32_t* done;       //!< [R] tree_is_done
  std::int32_t* branch;     //!< [R] 1: the current node is to be split
};

struct FeatureScan {
  float* minimum;           //!< [R][F]
  float* maximum;           //!< [R][F]
  std::int32_t* valid;      //!< [R][F] indices of features that are not constant
  std::int32_t* num_valid;  //!< [R]
};

struct Draws {
  std::int32_t* feature;      //!< [R][K]
  float* cut;                 //!< [R][K]
  std::int32_t* left_count;   //!< [R][K][C]
  std::int32_t* right_count;  //!< [R][K][C]
  std::int32_t* best;         //!< [R]
  std::int32_t* scratch;      //!< [R][C]
};

//! All structures of a fit; pointers of the device that runs it.
struct View {
  TrainingRows data;
  Shape shape;
  std::uint64_t seed;
  Sampling sampling;
  std::uint32_t capacity;  //!< M
  Cell* nodes;             //!< [R][M][6]
  Progress progress;
  FeatureScan scan;
  Draws draws;

  RETABLE_HD Cell* Node(std::uint32_t tree, std::int32_t node) const {
    return nodes + (std::size_t{tree} * capacity + static_cast<std::size_t>(node)) * kFields;
  }
};

RETABLE_HD void MakeLeafNode(const View& v, std::uint32_t tree, std::int32_t node,
                             std::int32_t depth) {
  Cell* cell = v.Node(tree, node);
  cell[kLeft].integer = node;
  cell[kRight].integer = node;
  cell[kDepth].integer = depth;
  cell[kFeature].integer = 0;
  cell[kCut].real = 0;
  cell[kClass].integer = 0;
}

RETABLE_HD void InitializeTree(const View& v, std::uint32_t tree) {
  MakeLeafNode(v, tree, 0, 0);
  v.progress.length[tree] = 1;
  v.progress.done[tree] = 0;
}

RETABLE_HD void InitializePosition(const View& v, std::uint32_t tree, std::uint32_t sample) {
  v.progress.batch_pos[std::size_t{tree} * v.shape.rows + sample] = 0;
}

//! Moves a sample down by at most one level.
RETABLE_HD void Advance(const View& v, std::uint32_t tree, std::uint32_t sample) {
  std::int32_t& at = v.progress.batch_pos[std::size_t{tree} * v.shape.rows + sample];
  const Cell* node = v.Node(tree, at);
  const auto feature = static_cast<std::size_t>(node[kFeature].integer);
  const float x = v.data.lines[std::size_t{sample} * v.shape.features + feature];
  at = x < node[kCut].real ? node[kLeft].integer : node[kRight].integer;
}

RETABLE_HD void RefreshDone(const View& v, std::uint32_t tree, std::int32_t tree_pos) {
  v.progress.done[tree] = tree_pos >= v.progress.length[tree] ? 1 : 0;
}

//! Scans all labels: a node whose samples share a class becomes a leaf of that class.
RETABLE_HD void CheckTermination(const View& v, std::uint32_t tree, std::int32_t tree_pos) {
  v.progress.branch[tree] = 0;
  if (v.progress.done[tree] != 0) return;
  const std::int32_t* at = v.progress.batch_pos + std::size_t{tree} * v.shape.rows;
  bool found = false;
  bool same = true;
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < v.shape.rows; ++i) {
    if (at[i] != tree_pos) continue;
    const std::uint32_t label = v.data.labels[i];
    if (!found) first = label;
    found = true;
    same = same && label == first;
  }
  if (same) {
    v.Node(tree, tree_pos)[kClass].integer = static_cast<std::int32_t>(first);
  } else {
    v.progress.branch[tree] = 1;
  }
}

RETABLE_HD void CollectMinMax(const View& v, std::uint32_t tree, std::uint32_t feature,
                              std::int32_t tree_pos) {
  if (v.progress.branch[tree] == 0) return;
  const std::int32_t* at = v.progress.batch_pos + std::size_t{tree} * v.shape.rows;
  const float* column = v.data.columns + std::size_t{feature} * v.shape.rows;
  float low = HUGE_VALF;
  float high = -HUGE_VALF;
  for (std::uint32_t i = 0; i < v.shape.rows; ++i) {
    if (at[i] != tree_pos) continue;
    const float x = column[i];
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  v.scan.minimum[std::size_t{tree} * v.shape.features + feature] = low;
  v.scan.maximum[std::size_t{tree} * v.shape.features + feature] = high;
}

RETABLE_HD bool IsValid(const View& v, std::uint32_t tree, std::uint32_t feature) {
  const std::size_t at = std::size_t{tree} * v.shape.features + feature;
  return v.scan.minimum[at] != v.scan.maximum[at];
}

RETABLE_HD void CollectNumValid(const View& v, std::uint32_t tree) {
  if (v.progress.branch[tree] == 0) return;
  std::int32_t count = 0;
  for (std::uint32_t f = 0; f < v.shape.features; ++f) count += IsValid(v, tree, f) ? 1 : 0;
  v.scan.num_valid[tree] = count;
}

RETABLE_HD void DepopulateValid(const View& v, std::uint32_t tree, std::uint32_t feature) {
  v.scan.valid[std::size_t{tree} * v.shape.features + feature] = -1;
}

RETABLE_HD void PopulateValid(const View& v, std::uint32_t tree) {
  if (v.progress.branch[tree] == 0) return;
  std::int32_t* valid = v.scan.valid + std::size_t{tree} * v.shape.features;
  for (std::uint32_t f = 0; f < v.shape.features; ++f) {
    if (IsValid(v, tree, f)) *valid++ = static_cast<std::int32_t>(f);
  }
}

//! A cut on (minimum, maximum]: "x < cut" leaves neither side empty.
RETABLE_HD float PublishedCut(float low, float high, std::uint32_t bits) {
  const double u = static_cast<double>((bits >> 8) + 1) * 5.9604644775390625e-8;
  const double wide = AddRn(MulRn(u, AddRn(static_cast<double>(high), -static_cast<double>(low))),
                            static_cast<double>(low));
  const auto cut = static_cast<float>(wide);
  return cut <= low || cut > high ? high : cut;
}

//! Inversion: the number of successes of n trials at p, p <= 1. O(n), no tables.
RETABLE_HD std::int32_t BinomialDraw(std::int32_t n, double p, double u) {
  if (p >= 1) return n;
  const double odds = DivRn(p, AddRn(1.0, -p));
  double mass = 1;
  for (std::int32_t i = 0; i < n; ++i) mass = MulRn(mass, AddRn(1.0, -p));
  std::int32_t k = 0;
  while (k < n && u >= mass) {
    u = AddRn(u, -mass);
    mass = MulRn(MulRn(mass, odds), DivRn(static_cast<double>(n - k), static_cast<double>(k + 1)));
    ++k;
  }
  return k;
}

//! The report's compromise: a normal with the binomial's mean and variance, rounded and clamped.
RETABLE_HD std::int32_t NormalDraw(std::int32_t n, double p, const PhiloxBlock& bits) {
  if (p >= 1) return n;
  const double radius = std::sqrt(-2 * std::log(UniformDoubleOpenBelow(bits.half(0))));
  const double z = radius * std::cos(6.283185307179586 * UniformDouble(bits.half(1)));
  const double x = std::floor(n * p + std::sqrt(n * p * (1 - p)) * z + 0.5);
  return x < 0 ? 0 : x > n ? n : static_cast<std::int32_t>(x);
}

//! Draw k of a node, with replacement.
RETABLE_HD void PopulateFeatCut(const View& v, std::uint32_t tree, std::uint32_t k,
                                std::int32_t tree_pos) {
  if (v.progress.branch[tree] == 0 || v.scan.num_valid[tree] == 0) return;
  const std::size_t at = std::size_t{tree} * v.shape.k + k;
  const PhiloxBlock bits = NodeBits(v.seed, tree, static_cast<std::uint64_t>(tree_pos) + 1, k);
  std::int32_t feature = v.draws.feature[at];
  if (v.sampling == Sampling::kUniform) {
    const auto count = static_cast<std::uint64_t>(v.scan.num_valid[tree]);
    feature =
        v.scan.valid[std::size_t{tree} * v.shape.features + UniformBelow(bits.half(0), count)];
    v.draws.feature[at] = feature;
  }
  const std::size_t range =
      std::size_t{tree} * v.shape.features + static_cast<std::size_t>(feature);
  v.draws.cut[at] = PublishedCut(v.scan.minimum[range], v.scan.maximum[range], bits.word[2]);
}

//! Appendix B, algorithm 2: how often each valid feature is taken, in their order.
RETABLE_HD void SampleInOrder(const View& v, std::uint32_t tree, std::int32_t tree_pos) {
  if (v.progress.branch[tree] == 0 || v.scan.num_valid[tree] == 0) return;
  const std::int32_t valid = v.scan.num_valid[tree];
  auto left = static_cast<std::int32_t>(v.shape.k);
  std::int32_t* out = v.draws.feature + std::size_t{tree} * v.shape.k;
  for (std::int32_t i = 0; i < valid && left > 0; ++i) {
    const double p = DivRn(1.0, static_cast<double>(valid - i));
    const PhiloxBlock bits = NodeBits(v.seed, tree, static_cast<std::uint64_t>(tree_pos) + 1,
                                      0x40000000u + static_cast<std::uint32_t>(i));
    const std::int32_t taken = v.sampling == Sampling::kBinomial
                                   ? BinomialDraw(left, p, UniformDouble(bits.half(0)))
                                   : NormalDraw(left, p, bits);
    for (std::int32_t j = 0; j < taken; ++j) {
      *out++ = v.scan.valid[std::size_t{tree} * v.shape.features + static_cast<std::size_t>(i)];
    }
    left -= taken;
  }
}

//! Scans all samples for one drawn cut.
RETABLE_HD void PopulateClassCounts(const View& v, std::uint32_t tree, std::uint32_t k,
                                    std::int32_t tree_pos) {
  if (v.progress.branch[tree] == 0 || v.scan.num_valid[tree] == 0) return;
  const std::size_t at = std::size_t{tree} * v.shape.k + k;
  std::int32_t* left = v.draws.left_count + at * v.shape.classes;
  std::int32_t* right = v.draws.right_count + at * v.shape.classes;
  for (std::uint32_t c = 0; c < v.shape.classes; ++c) left[c] = right[c] = 0;
  const std::int32_t* pos = v.progress.batch_pos + std::size_t{tree} * v.shape.rows;
  const float* column =
      v.data.columns + static_cast<std::size_t>(v.draws.feature[at]) * v.shape.rows;
  const float cut = v.draws.cut[at];
  for (std::uint32_t i = 0; i < v.shape.rows; ++i) {
    if (pos[i] != tree_pos) continue;
    ++(column[i] < cut ? left : right)[v.data.labels[i]];
  }
}

//! One side's term of the proxy: -N (1 - sum (n / N)^2).
RETABLE_HD double ProxyTerm(const std::int32_t* count, std::uint32_t classes) {
  double total = 0;
  for (std::uint32_t c = 0; c < classes; ++c) total = AddRn(total, static_cast<double>(count[c]));
  double sum = 0;
  for (std::uint32_t c = 0; c < classes; ++c) {
    const double share = DivRn(static_cast<double>(count[c]), total);
    sum = AddRn(sum, MulRn(share, share));
  }
  return -MulRn(total, AddRn(1.0, -sum));
}

RETABLE_HD void PlaceBest(const View& v, std::uint32_t tree) {
  if (v.progress.branch[tree] == 0 || v.scan.num_valid[tree] == 0) return;
  double best_score = -HUGE_VAL;
  for (std::uint32_t k = 0; k < v.shape.k; ++k) {
    const std::size_t at = (std::size_t{tree} * v.shape.k + k) * v.shape.classes;
    const double score = AddRn(ProxyTerm(v.draws.left_count + at, v.shape.classes),
                               ProxyTerm(v.draws.right_count + at, v.shape.classes));
    if (score > best_score) {
      best_score = score;
      v.draws.best[tree] = static_cast<std::int32_t>(k);
    }
  }
}

//! Registers the best cut and makes the children; a node without a valid feature takes the mode of
//! its labels.
RETABLE_HD void UpdateTree(const View& v, std::uint32_t tree, std::int32_t tree_pos) {
  if (v.progress.branch[tree] == 0) return;
  Cell* node = v.Node(tree, tree_pos);
  if (v.scan.num_valid[tree] == 0) {
    std::int32_t* counts = v.draws.scratch + std::size_t{tree} * v.shape.classes;
    for (std::uint32_t c = 0; c < v.shape.classes; ++c) counts[c] = 0;
    const std::int32_t* at = v.progress.batch_pos + std::size_t{tree} * v.shape.rows;
    for (std::uint32_t i = 0; i < v.shape.rows; ++i) {
      if (at[i] == tree_pos) ++counts[v.data.labels[i]];
    }
    std::uint32_t mode = 0;
    for (std::uint32_t c = 1; c < v.shape.classes; ++c) mode = counts[c] > counts[mode] ? c : mode;
    node[kClass].integer = static_cast<std::int32_t>(mode);
    return;
  }
  const std::size_t best =
      std::size_t{tree} * v.shape.k + static_cast<std::size_t>(v.draws.best[tree]);
  const std::int32_t left = v.progress.length[tree];
  node[kFeature].integer = v.draws.feature[best];
  node[kCut].real = v.draws.cut[best];
  node[kLeft].integer = left;
  node[kRight].integer = left + 1;
  MakeLeafNode(v, tree, left, node[kDepth].integer + 1);
  MakeLeafNode(v, tree, left + 1, node[kDepth].integer + 1);
  v.progress.length[tree] = left + 2;
}

//! Walks one row of `lines` to its leaf and returns the leaf's node.
RETABLE_HD std::int32_t Traverse(const View& v, std::uint32_t tree, std::uint32_t row) {
  const float* x = v.data.lines + std::size_t{row} * v.shape.features;
  std::int32_t at = 0;
  for (;;) {
    const Cell* node = v.Node(tree, at);
    const std::int32_t next =
        x[node[kFeature].integer] < node[kCut].real ? node[kLeft].integer : node[kRight].integer;
    if (next == at) return at;
    at = next;
  }
}

RETABLE_HD void GoToLeaf(const View& v, std::uint32_t tree, std::uint32_t row) {
  v.progress.batch_pos[std::size_t{tree} * v.shape.rows + row] = Traverse(v, tree, row);
}

}  // namespace retable::extratrees::published

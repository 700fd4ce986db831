#pragma once
//! @file
//! What a tree learns, for the CPU's grower: three kinds of targets behind one interface.
//!
//! - PlainClasses: classes of equal weight, nothing missing: whole counts, scores compared exactly.
//! - WeighedClasses, RealTargets: integer sums (encoding/target_sums.hpp), missing values.
//!
//! Each knows a node's state (Node), what a cut is worth (Score; Better), and a leaf's value.
//! Nodes' samples are ascending rows of the encoded matrix, sorted by class or by target.

#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/encoding/target_sums.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"

namespace retable::extratrees {

//! Counts codes <= cut; sixteen byte lanes keep the loop in vector registers.
template <class Code>
std::uint32_t CountUpTo(const Code* codes, std::uint32_t n, Code cut) {
  std::uint32_t count = 0;
  std::uint32_t i = 0;
  if constexpr (sizeof(Code) == 1) {
    while (n - i >= 16) {
      const std::uint32_t blocks = std::min<std::uint32_t>((n - i) / 16, 255);
      std::array<std::uint8_t, 16> lanes{};
      for (std::uint32_t b = 0; b < blocks; ++b, i += 16) {
        for (std::uint32_t j = 0; j < 16; ++j) {
          lanes[j] = static_cast<std::uint8_t>(lanes[j] + (codes[i + j] <= cut ? 1 : 0));
        }
      }
      for (const std::uint8_t lane : lanes) count += lane;
    }
  }
  for (; i < n; ++i) count += codes[i] <= cut ? 1 : 0;
  return count;
}

//! The runs of equal class in a node's samples.
class ClassRuns {
 public:
  struct Run {
    std::uint32_t label, end;  //!< `end` counts from the node's first sample
  };
  explicit ClassRuns(const EncodedMatrix& matrix) : matrix_(matrix) {}

  const std::vector<Run>& Find(const std::uint32_t* ids, std::uint32_t count) {
    runs_.clear();
    std::uint32_t at = 0;
    std::uint32_t c = 0;
    while (at < count) {
      while (ids[at] >= matrix_.class_start[c + 1]) ++c;
      const auto* end = std::lower_bound(ids + at, ids + count, matrix_.class_start[c + 1]);
      at = static_cast<std::uint32_t>(end - ids);
      runs_.push_back({c, at});
    }
    return runs_;
  }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  const EncodedMatrix& matrix_;
  std::vector<Run> runs_;
};

//! A cut that was tried; `left`, `right`: the children's states.
template <class Node, class Score>
struct TriedCut {
  bool found = false;
  Score score{};
  double threshold = 0;
  std::uint32_t feature = 0;
  std::uint32_t code = 0;
  std::uint32_t n_left = 0;
  std::uint32_t shift = 0;  //!< 1: missing values go left
  bool saw_missing = false;
  Node left{}, right{};
};

class PlainClasses {
 public:
  using Node = std::uint64_t;  //!< sum of squared class counts
  using Score = SplitScore;
  using Cut = TriedCut<Node, Score>;
  static constexpr bool kMissing = false;

  PlainClasses(const EncodedMatrix& matrix, const GrowthLimits& limits)
      : matrix_(matrix), limits_(limits), runs_(matrix) {}

  Node Whole(const std::uint32_t* ids, std::uint32_t n) {
    Node squares = 0;
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_.Find(ids, n)) {
      squares += std::uint64_t{end - from} * (end - from);
      from = end;
    }
    return squares;
  }
  bool Pure(const Node& node, const std::uint32_t*, std::uint32_t n) const {
    return node == std::uint64_t{n} * n;
  }
  double Impurity(const Node& node, std::uint32_t n, bool) const { return GiniImpurity(node, n); }
  double Weight(const Node&, std::uint32_t n) const { return n; }

  void Enter(const Node&, const std::uint32_t* ids, std::uint32_t n) { runs_.Find(ids, n); }

  template <class Code>
  void Measure(const Code* codes, std::uint32_t n, Cut& cut) const {
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_.runs()) {
      const std::uint64_t left = CountUpTo(codes + from, end - from, static_cast<Code>(cut.code));
      const std::uint64_t right = end - from - left;
      cut.left += left * left;
      cut.right += right * right;
      cut.n_left += static_cast<std::uint32_t>(left);
      from = end;
    }
    cut.score = GiniScore(cut.left, cut.right, cut.n_left, n - cut.n_left);
  }
  static bool Better(const Score& a, const Score& b) { return extratrees::Better(a, b); }
  bool Refuses(const Node& node, std::uint32_t n, const Cut& cut) const {
    return limits_.Refuses(node, n, cut.left, cut.n_left, cut.right);
  }

  void Leaf(const Node&, const std::uint32_t* ids, std::uint32_t n, TreeNode& leaf, Tree& tree) {
    const auto& runs = runs_.Find(ids, n);
    leaf.value = runs[0].label;
    if (runs.size() == 1) return;
    const std::size_t row = tree.leaf_values.size();
    leaf.value = kMixed | static_cast<std::uint32_t>(row / matrix_.classes);
    tree.leaf_values.resize(row + matrix_.classes, 0.0);
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs) {
      tree.leaf_values[row + c] = DivRn(end - from, n);
      from = end;
    }
  }

 private:
  const EncodedMatrix& matrix_;
  const GrowthLimits& limits_;
  ClassRuns runs_;
};

class WeighedClasses {
 public:
  using Node = NodeSums;
  using Score = double;
  using Cut = TriedCut<Node, Score>;
  static constexpr bool kMissing = true;

  WeighedClasses(const EncodedMatrix& matrix, const GrowthLimits& limits)
      : matrix_(matrix), targets_(matrix.targets), limits_(limits), runs_(matrix) {}

  Node Whole(const std::uint32_t* ids, std::uint32_t n) {
    Node node;
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_.Find(ids, n)) {
      const std::int64_t weight = Sum(ids + from, end - from);
      AddClass(weight, node);
      from = end;
    }
    return node;
  }
  bool Pure(const Node&, const std::uint32_t* ids, std::uint32_t n) const {
    const auto& start = matrix_.class_start;
    return *std::upper_bound(start.begin(), start.end(), ids[0]) > ids[n - 1];
  }
  double Impurity(const Node& node, std::uint32_t, bool pure) const {
    return pure ? 0.0 : ClassImpurity(node);
  }
  double Weight(const Node& node, std::uint32_t) const { return NodeWeight(targets_.scale, node); }

  void Enter(const Node&, const std::uint32_t* ids, std::uint32_t n) {
    runs_.Find(ids, n);
    weights_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) weights_[i] = targets_.weight[ids[i]];
    totals_.clear();
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_.runs()) {
      std::int64_t total = 0;
      for (; from < end; ++from) total += weights_[from];
      totals_.push_back(total);
    }
  }

  template <class Code>
  void Measure(const Code* codes, std::uint32_t, Cut& cut) const {
    std::uint32_t i = 0;
    for (std::size_t r = 0; r < totals_.size(); ++r) {
      std::int64_t left = 0;
      for (const std::uint32_t end = runs_.runs()[r].end; i < end; ++i) {
        const bool goes_left = GoesLeft(codes[i], cut.code, cut.shift);
        left += goes_left ? weights_[i] : 0;
        cut.n_left += goes_left ? 1 : 0;
      }
      AddClass(left, cut.left);
      AddClass(totals_[r] - left, cut.right);
    }
    cut.score = ClassScore(cut.left, cut.right);
  }
  static bool Better(Score a, Score b) { return a > b; }
  bool Refuses(const Node& node, std::uint32_t, const Cut& cut) const {
    return GainsTooLittle(targets_.scale, node, cut.score, false, limits_.min_decrease);
  }

  void Leaf(const Node& node, const std::uint32_t* ids, std::uint32_t n, TreeNode& leaf,
            Tree& tree) {
    const auto& runs = runs_.Find(ids, n);
    leaf.value = runs[0].label;
    if (runs.size() == 1) return;
    const std::size_t row = tree.leaf_values.size();
    leaf.value = kMixed | static_cast<std::uint32_t>(row / matrix_.classes);
    tree.leaf_values.resize(row + matrix_.classes, 0.0);
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs) {
      tree.leaf_values[row + c] =
          DivRn(static_cast<double>(Sum(ids + from, end - from)), static_cast<double>(node.weight));
      from = end;
    }
  }

 private:
  static void AddClass(std::int64_t weight, Node& node) {
    const auto wide = static_cast<double>(weight);
    node.weight += weight;
    node.class_squares = AddRn(node.class_squares, MulRn(wide, wide));
  }
  std::int64_t Sum(const std::uint32_t* ids, std::uint32_t n) const {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) sum += targets_.weight[ids[i]];
    return sum;
  }

  const EncodedMatrix& matrix_;
  const EncodedTargets& targets_;
  const GrowthLimits& limits_;
  ClassRuns runs_;
  std::vector<std::int64_t> weights_,
      totals_;  //!< weights: one a sample of the node; totals: one a run
};

class RealTargets {
 public:
  using Node = NodeSums;
  using Score = double;
  using Cut = TriedCut<Node, Score>;
  static constexpr bool kMissing = true;

  RealTargets(const EncodedMatrix& matrix, const GrowthLimits& limits)
      : targets_(matrix.targets), limits_(limits) {}

  Node Whole(const std::uint32_t* ids, std::uint32_t n) {
    Node node;
    for (std::uint32_t i = 0; i < n; ++i) {
      node.weight += targets_.weight[ids[i]];
      node.sum += targets_.sum[ids[i]];
      node.squares += targets_.squares[ids[i]];
    }
    return node;
  }
  bool Pure(const Node&, const std::uint32_t* ids, std::uint32_t n) const {
    return targets_.value[ids[0]] == targets_.value[ids[n - 1]];
  }
  double Impurity(const Node& node, std::uint32_t, bool pure) const {
    return pure ? 0.0 : TargetVariance(targets_.scale, node);
  }
  double Weight(const Node& node, std::uint32_t) const { return NodeWeight(targets_.scale, node); }

  void Enter(const Node& node, const std::uint32_t* ids, std::uint32_t n) {
    whole_ = node;
    weights_.resize(n);
    sums_.resize(n);
    squares_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      weights_[i] = targets_.weight[ids[i]];
      sums_[i] = targets_.sum[ids[i]];
      squares_[i] = targets_.squares[ids[i]];
    }
  }

  template <class Code>
  void Measure(const Code* codes, std::uint32_t n, Cut& cut) const {
    Node& left = cut.left;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::int64_t mask = GoesLeft(codes[i], cut.code, cut.shift) ? -1 : 0;
      cut.n_left += static_cast<std::uint32_t>(mask & 1);
      left.weight += weights_[i] & mask;
      left.sum += sums_[i] & mask;
      left.squares += squares_[i] & mask;
    }
    cut.right.weight = whole_.weight - left.weight;
    cut.right.sum = whole_.sum - left.sum;
    cut.right.squares = whole_.squares - left.squares;
    cut.score = TargetScore(left, cut.right);
  }
  static bool Better(Score a, Score b) { return a > b; }
  bool Refuses(const Node& node, std::uint32_t, const Cut& cut) const {
    return GainsTooLittle(targets_.scale, node, cut.score, true, limits_.min_decrease);
  }

  void Leaf(const Node& node, const std::uint32_t* ids, std::uint32_t n, TreeNode& leaf,
            Tree& tree) {
    leaf.value = kMixed | static_cast<std::uint32_t>(tree.leaf_values.size());
    tree.leaf_values.push_back(Pure(node, ids, n) ? targets_.value[ids[0]]
                                                  : TargetMean(targets_.scale, node));
  }

 private:
  const EncodedTargets& targets_;
  const GrowthLimits& limits_;
  Node whole_;
  std::vector<std::int64_t> weights_, sums_, squares_;  //!< one a sample of the node
};

}  // namespace retable::extratrees

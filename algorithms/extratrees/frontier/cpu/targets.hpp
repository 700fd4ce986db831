#pragma once
//! @file
//! What a tree learns, for the CPU's grower: three kinds of targets behind one interface.
//!
//! - PlainClasses: classes of equal weight, nothing missing: whole counts, scores compared exactly.
//! - WeighedClasses, RealTargets: integer sums (encoding/target_sums.hpp), missing values.
//!
//! Each knows a node's state (Node), what cuts are worth (Measure, eight at a time; Better), and a
//! leaf's value. Nodes' samples are ascending rows of the encoded matrix, sorted by class or by
//! target.

#include <algorithm>
#include <array>

#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "algorithms/extratrees/encoding/target_sums.hpp"
#include "algorithms/extratrees/frontier/cpu/lanes.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"

namespace retable::extratrees {

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

  //! Makes a leaf of a node: its class, or each class's part(from, end), a fraction of the samples.
  template <class Part>
  void WriteLeaf(const std::uint32_t* ids, std::uint32_t count, TreeNode& leaf, Tree& tree,
                 const Part& part) {
    leaf.value = Find(ids, count)[0].label;
    if (runs_.size() == 1) return;
    const std::size_t row = tree.leaf_values.size();
    leaf.value = kMixed | static_cast<std::uint32_t>(row / matrix_.classes);
    tree.leaf_values.resize(row + matrix_.classes, 0.0);
    std::uint32_t from = 0;
    for (const auto& [c, end] : runs_) {
      tree.leaf_values[row + c] = part(from, end);
      from = end;
    }
  }

 private:
  const EncodedMatrix& matrix_;
  std::vector<Run> runs_;
};

//! What a cut makes of a node: the children's states.
template <class NodeType, class ScoreType>
struct TriedCut {
  using Node = NodeType;
  ScoreType score{};
  std::uint32_t n_left = 0;
  Node left{}, right{};
};

class PlainClasses {
 public:
  using Node = std::uint64_t;  //!< sum of squared class counts
  using Score = SplitScore;
  using Cut = TriedCut<Node, Score>;
  static constexpr bool kMissing = false;

  explicit PlainClasses(const EncodedMatrix& matrix) : matrix_(matrix), runs_(matrix) {}

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

  //! Tries the cuts of n samples, whose codes stand in lines of eight; fills `width` of `tried`.
  template <class Code>
  void Measure(const Candidates<Code>& c, const Code* lines, std::uint32_t n, Cut* tried) const {
    const LaneCuts<false, Code> cuts(c);
    std::uint32_t from = 0;
    for (const auto& [label, end] : runs_.runs()) {
      const auto counts = CountLeft(cuts, lines + std::size_t{from} * kLanes, end - from);
      for (std::uint32_t j = 0; j < c.width; ++j) {
        const std::uint64_t left = counts[j];
        const std::uint64_t right = end - from - left;
        tried[j].left += left * left;
        tried[j].right += right * right;
        tried[j].n_left += counts[j];
      }
      from = end;
    }
    for (std::uint32_t j = 0; j < c.width; ++j) {
      const std::uint32_t n_left = tried[j].n_left;
      tried[j].score = GiniScore(tried[j].left, tried[j].right, n_left, n - n_left);
    }
  }
  void Complete(const Node&, const std::uint32_t*, Cut&) const {}
  static bool Better(const Score& a, const Score& b) { return extratrees::Better(a, b); }
  //! The weighted impurity decrease of the best cut (scikit-learn's definition).
  double Gain(const Node& node, std::uint32_t n, const Cut& cut) const {
    return ImpurityDecrease(node, n, cut.left, cut.n_left, cut.right, matrix_.rows);
  }

  void Leaf(const Node&, const std::uint32_t* ids, std::uint32_t n, TreeNode& leaf, Tree& tree) {
    runs_.WriteLeaf(ids, n, leaf, tree,
                    [&](std::uint32_t from, std::uint32_t end) { return DivRn(end - from, n); });
  }

 private:
  const EncodedMatrix& matrix_;
  ClassRuns runs_;
};

class WeighedClasses {
 public:
  using Node = NodeSums;
  using Score = double;
  using Cut = TriedCut<Node, Score>;
  static constexpr bool kMissing = true;

  explicit WeighedClasses(const EncodedMatrix& matrix)
      : matrix_(matrix), targets_(matrix.targets), runs_(matrix) {}

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
  void Measure(const Candidates<Code>& c, const Code* lines, std::uint32_t, Cut* tried) const {
    const LaneCuts<true, Code> cuts(c);
    LaneSums::Wide left;
    LaneSums count;
    std::uint32_t i = 0;
    for (std::size_t r = 0; r < totals_.size(); ++r) {
      LaneSums sum;
      for (const std::uint32_t end = runs_.runs()[r].end; i < end; ++i) {
        LaneSums::Widen(cuts, lines + std::size_t{i} * kLanes, left);
        count.Add(left, 1);
        sum.Add(left, weights_[i]);
      }
      for (std::uint32_t j = 0; j < c.width; ++j) {
        AddClass(sum[j], tried[j].left);
        AddClass(totals_[r] - sum[j], tried[j].right);
      }
    }
    for (std::uint32_t j = 0; j < c.width; ++j) {
      tried[j].n_left = static_cast<std::uint32_t>(count[j]);
      tried[j].score = ClassScore(tried[j].left, tried[j].right);
    }
  }
  void Complete(const Node&, const std::uint32_t*, Cut&) const {}
  static bool Better(Score a, Score b) { return a > b; }
  double Gain(const Node& node, std::uint32_t, const Cut& cut) const {
    return ClassDecrease(targets_.scale, node, cut.score);
  }

  void Leaf(const Node& node, const std::uint32_t* ids, std::uint32_t n, TreeNode& leaf,
            Tree& tree) {
    runs_.WriteLeaf(ids, n, leaf, tree, [&](std::uint32_t from, std::uint32_t end) {
      return DivRn(static_cast<double>(Sum(ids + from, end - from)),
                   static_cast<double>(node.weight));
    });
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

  explicit RealTargets(const EncodedMatrix& matrix)
      : targets_(matrix.targets),
        all_weigh_one_(matrix.targets.scale.total == std::int64_t{matrix.rows}) {}

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
    sums_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) sums_[i] = targets_.sum[ids[i]];
    if (all_weigh_one_) return;
    weights_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) weights_[i] = targets_.weight[ids[i]];
  }

  template <class Code>
  void Measure(const Candidates<Code>& c, const Code* lines, std::uint32_t n, Cut* tried) const {
    const LaneCuts<true, Code> cuts(c);
    LaneSums::Wide left;
    LaneSums count, sum, weight;
    for (std::uint32_t i = 0; i < n; ++i, lines += kLanes) {
      LaneSums::Widen(cuts, lines, left);
      count.Add(left, 1);
      sum.Add(left, sums_[i]);
      if (!all_weigh_one_) weight.Add(left, weights_[i]);
    }
    for (std::uint32_t j = 0; j < c.width; ++j) {
      Cut& cut = tried[j];
      cut.n_left = static_cast<std::uint32_t>(count[j]);
      cut.left.weight = all_weigh_one_ ? count[j] : weight[j];
      cut.left.sum = sum[j];
      cut.right.weight = whole_.weight - cut.left.weight;
      cut.right.sum = whole_.sum - cut.left.sum;
      cut.score = TargetScore(cut.left, cut.right);
    }
  }
  //! The squares, which no score asks for, once the node is split; `ids`: its samples.
  void Complete(const Node& node, const std::uint32_t* ids, Cut& cut) const {
    for (std::uint32_t i = 0; i < cut.n_left; ++i) cut.left.squares += targets_.squares[ids[i]];
    cut.right.squares = node.squares - cut.left.squares;
  }
  static bool Better(Score a, Score b) { return a > b; }
  double Gain(const Node& node, std::uint32_t, const Cut& cut) const {
    return TargetDecrease(targets_.scale, node, cut.score);
  }

  void Leaf(const Node& node, const std::uint32_t* ids, std::uint32_t n, TreeNode& leaf,
            Tree& tree) {
    leaf.value = kMixed | static_cast<std::uint32_t>(tree.leaf_values.size());
    tree.leaf_values.push_back(Pure(node, ids, n) ? targets_.value[ids[0]]
                                                  : TargetMean(targets_.scale, node));
  }

 private:
  const EncodedTargets& targets_;
  bool all_weigh_one_;  //!< no weight is below 1, and together they are as many as the rows
  Node whole_;
  std::vector<std::int64_t> weights_, sums_;  //!< one a sample of the node
};

}  // namespace retable::extratrees

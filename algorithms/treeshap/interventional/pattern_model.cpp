#include "algorithms/treeshap/interventional/pattern_model.hpp"

#include <algorithm>
#include <limits>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/model/path_features.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// Cuts one tree after the other.
class TreeCutter {
 public:
  TreeCutter(const TreeEnsemble& model, const TableLimits& limits, PatternModel& to)
      : model_(model), limits_(limits), to_(to) {
    above_.category_sets = model.category_sets;
  }

  void Cut(const Tree& tree) {
    tree_ = &tree;
    splits_.assign(tree.nodes.size(), 0);
    CountSplits(0);
    roots_.clear();
    above_.trees = {tree};
    path_.clear();
    const std::size_t before = bytes_;
    served_ = 0;
    Visit(0);
    if (2 * served_ < splits_[0] + 1) {  // pairs would visit most of the tree all the same
      bytes_ = before;
      to_.deep.trees.push_back(tree);
      return;
    }
    const PathList paths = ExtractPaths(above_);
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      if (roots_[i] >= 0) AddTreelet(roots_[i], paths, paths.paths[i]);
    }
    if (std::ranges::count(roots_, -1) > 0) to_.deep.trees.push_back(above_.trees[0]);
  }

 private:
  std::uint32_t CountSplits(std::int32_t n) {
    const TreeNode& node = tree_->at(n);
    if (node.is_leaf()) return 0;
    const std::uint32_t below = CountSplits(node.left) + CountSplits(node.right);
    return splits_[static_cast<std::size_t>(n)] = below + 1;
  }

  // Treelets become leaves of 0 in the tree above them, in the order of ExtractPaths.
  void Visit(std::int32_t n) {
    const TreeNode& node = tree_->at(n);
    const auto at = static_cast<std::size_t>(n);
    const auto features = static_cast<std::uint32_t>(path_.size());
    if (splits_[at] <= kTreeletSplits && Fits(features + splits_[at], splits_[at] + 1)) {
      roots_.push_back(n);
      served_ += splits_[at] + 1;
      above_.trees[0].nodes[at] = TreeNode{.cover = node.cover};
      return;
    }
    if (node.is_leaf()) {
      roots_.push_back(-1);
      return;
    }
    path_.With({node.feature}, [&] {
      Visit(node.left);
      Visit(node.right);
    });
  }

  // Takes the room of a treelet with so many bits, hence columns, at most.
  bool Fits(std::uint32_t bits, std::uint32_t leaves) {
    if (bits > limits_.bits || (std::size_t{bits} << bits) / leaves > limits_.sums) return false;
    const std::size_t more = (sizeof(std::uint32_t) + bits * sizeof(double)) << bits;
    if (bytes_ + more > limits_.bytes) return false;
    bytes_ += more;
    return true;
  }

  void AddTreelet(std::int32_t root, const PathList& paths, const Path& path) {
    Treelet treelet;
    treelet.first_bit = static_cast<std::uint32_t>(to_.bits.size());
    treelet.first_column = static_cast<std::uint32_t>(to_.columns.size());
    treelet.first_leaf = static_cast<std::uint32_t>(to_.leaves.size());
    std::vector<LeafFeature> features;
    for (const PathElement& element : paths.of(path).subspan(1)) {
      const auto bit = static_cast<std::uint16_t>(1u << features.size());
      features.push_back({bit, bit, static_cast<std::uint32_t>(features.size())});
      to_.bits.push_back(BitOf(element, paths.category_sets, to_.sets));
      to_.columns.push_back(element.feature);
    }
    AddNode(root, treelet, features);
    treelet.bits = static_cast<std::uint32_t>(to_.bits.size()) - treelet.first_bit;
    treelet.columns = static_cast<std::uint32_t>(to_.columns.size()) - treelet.first_column;
    treelet.leaves = static_cast<std::uint32_t>(to_.leaves.size()) - treelet.first_leaf;
    treelet.counts = to_.counts;
    treelet.table = to_.table;
    to_.counts += std::size_t{1} << treelet.bits;
    to_.table += std::size_t{treelet.columns} << treelet.bits;
    to_.most_bits = std::max(to_.most_bits, treelet.bits);
    to_.treelets.push_back(treelet);
    to_.groups.push_back(tree_->group);
  }

  // `features`: those on the path to the node, with the pattern that follows each.
  void AddNode(std::int32_t n, const Treelet& treelet, const std::vector<LeafFeature>& features) {
    const TreeNode& node = tree_->at(n);
    if (node.is_leaf()) {
      to_.leaves.push_back({node.value, static_cast<std::uint32_t>(to_.leaf_features.size()),
                            static_cast<std::uint32_t>(features.size())});
      to_.leaf_features.insert(to_.leaf_features.end(), features.begin(), features.end());
      return;
    }
    const auto bit = static_cast<std::uint16_t>(1u << (to_.bits.size() - treelet.first_bit));
    PathElement left{.feature = node.feature,
                     .lower = -std::numeric_limits<float>::infinity(),
                     .upper = node.threshold,
                     .categories = node.categories,
                     .missing_follows = node.default_left};
    to_.bits.push_back(BitOf(left, model_.category_sets, to_.sets));
    const auto columns = std::span(to_.columns).subspan(treelet.first_column);
    const auto column =
        static_cast<std::uint32_t>(std::ranges::find(columns, node.feature) - columns.begin());
    if (column == columns.size()) to_.columns.push_back(node.feature);
    for (const bool goes_left : {true, false}) {
      std::vector<LeafFeature> below = features;
      auto own = std::ranges::find(below, column, &LeafFeature::column);
      if (own == below.end()) own = below.insert(own, {0, 0, column});
      own->mask |= bit;
      if (goes_left) own->bits |= bit;
      AddNode(goes_left ? node.left : node.right, treelet, below);
    }
  }

  const TreeEnsemble& model_;
  TableLimits limits_;
  PatternModel& to_;
  const Tree* tree_ = nullptr;
  TreeEnsemble above_;                 // the tree without what is below treelets
  std::vector<std::uint32_t> splits_;  // at and below each node
  PathFeatures<FeatureOnPath> path_;   // above the node
  std::vector<std::int32_t> roots_;    // of treelets; -1: a deep leaf
  std::size_t served_ = 0;             // leaves of treelets
  std::size_t bytes_ = 0;
};

}  // namespace

PatternBit BitOf(const PathElement& element, std::span<const CategorySet> categories,
                 std::vector<std::uint32_t>& sets) {
  PatternBit bit{element.lower, element.upper, static_cast<std::uint32_t>(element.feature)};
  if (element.missing_follows) bit.feature |= PatternBit::kMissingFollows;
  if (element.categories >= 0) {
    bit.set = AppendSet(categories[static_cast<std::size_t>(element.categories)], sets);
  }
  return bit;
}

PatternModel MakePatternModel(const TreeEnsemble& model, const TableLimits& limits) {
  PatternModel made;
  made.deep.features = model.features;
  made.deep.groups = model.groups;
  made.deep.base_score = model.base_score;
  made.deep.category_sets = model.category_sets;
  std::vector<const Tree*> order;
  for (const Tree& tree : model.trees) order.push_back(&tree);
  std::ranges::stable_sort(order, {}, &Tree::group);
  TreeCutter cutter(model, limits, made);
  for (const Tree* tree : order) cutter.Cut(*tree);
  return made;
}

std::vector<double> BackgroundMargins(const PatternModel& model,
                                      std::span<const std::uint32_t> reached,
                                      const RowBlock& background) {
  const auto rows = static_cast<double>(background.rows);
  std::vector<double> expected(model.deep.base_score.size(), 0.0);
  if (!model.deep.trees.empty()) {
    constexpr std::size_t kRows = 1024;
    std::vector<std::vector<double>> sums((background.rows + kRows - 1) / kRows);
    ParallelFor(sums.size(), [&](std::size_t i) {
      sums[i].assign(expected.size(), 0.0);
      for (std::size_t b = i * kRows; b < std::min(background.rows, (i + 1) * kRows); ++b) {
        const auto margin = Predict(model.deep, background.row(b));
        for (std::size_t g = 0; g < margin.size(); ++g) {
          sums[i][g] += margin[g] - model.deep.base_score[g];
        }
      }
    });
    for (const auto& sum : sums) {
      for (std::size_t g = 0; g < sum.size(); ++g) expected[g] += sum[g] / rows;
    }
  }
  for (std::size_t t = 0; t < model.treelets.size(); ++t) {
    const Treelet& treelet = model.treelets[t];
    for (std::size_t l = treelet.first_leaf; l < treelet.first_leaf + treelet.leaves; ++l) {
      expected[static_cast<std::size_t>(model.groups[t])] +=
          model.leaves[l].value * (reached[l] / rows);
    }
  }
  for (std::size_t g = 0; g < expected.size(); ++g) expected[g] += model.deep.base_score[g];
  return expected;
}

void ValidateBackground(const TreeEnsemble& shape, const RowBlock& background) {
  ValidateRows(shape, background);
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  Require(background.rows > 0, "the background has no rows");
  Require(background.rows <= kMost, "a background has at most ", kMost, " rows, not ",
          background.rows);
}

}  // namespace retable::treeshap

#include "algorithms/treeshap/model/rank_splits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "algorithms/common/require.hpp"

namespace retable::treeshap {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostCuts = std::size_t{1} << 24;   // larger ranks are no floats
constexpr std::size_t kMostWords = std::size_t{1} << 26;  // of all sets of ranks together

// All splits on one feature. Sets by number: trees of several outputs share theirs.
struct FeatureSplits {
  std::vector<DoubleSplit> numbers;
  std::set<std::int32_t> sets;
  bool zero_missing = false;  // in some split by number
  bool set_of_ranks = false;  // some split is no interval of the values
};

using SplitsByFeature = std::map<std::int32_t, FeatureSplits>;

double Before(double x) {
  return std::nextafter(x, -kUnlimited);
}

// Visits the inner nodes: f(tree, node).
template <class F>
void ForEachSplit(const TreeEnsemble& model, F f) {
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const auto& nodes = model.trees[t].nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (!nodes[n].is_leaf()) f(t, n);
    }
  }
}

// Calls f(k) for every category k > 0 that lies on another side of the split than k - 1 does.
template <class F>
void ForEachChange(const CategorySet& set, F f) {
  if (set.left.empty()) return;
  bool before = (set.left[0] & 1u) != 0;
  for (std::size_t w = 0; w < set.left.size(); ++w) {
    if (set.left[w] == (before ? ~0u : 0u)) continue;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const bool in = ((set.left[w] >> bit) & 1u) != 0;
      if (in != before) f(32.0 * static_cast<double>(w) + bit);
      before = in;
    }
  }
  if (before != set.others_left) f(32.0 * static_cast<double>(set.left.size()));
}

bool InSet(const CategorySet& set, double x, RowRule rule) {
  const double category = std::trunc(x);
  const bool negative = rule == RowRule::kSingle ? x < 0 : category < 0;
  if (negative || category >= 32.0 * static_cast<double>(set.left.size())) return set.others_left;
  return set.holds(static_cast<std::size_t>(category));
}

// The values between which some split of the feature may decide otherwise: each is the upper end,
// included, of an interval.
std::vector<double> FindCuts(const TreeEnsemble& model, const FeatureSplits& splits) {
  std::vector<double> cuts;
  for (const DoubleSplit& split : splits.numbers) cuts.push_back(split.limit);
  if (splits.set_of_ranks && splits.zero_missing) cuts.insert(cuts.end(), {Before(0), 0});
  for (const std::int32_t s : splits.sets) {
    cuts.insert(cuts.end(), {-1, Before(0)});  // where category 0 may begin
    ForEachChange(model.category_sets[static_cast<std::size_t>(s)],
                  [&](double k) { cuts.push_back(Before(k)); });
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  Require(cuts.size() < kMostCuts, "a feature has more than 2^24 limits; train with fewer splits");
  return cuts;
}

// The ranks whose values go left; `left` says it of one value of each interval between cuts.
template <class Left>
CategorySet RankSet(const std::vector<double>& cuts, std::size_t& words, const Left& left) {
  CategorySet set;
  set.left.resize(cuts.size() / 32 + 1);
  words += set.left.size();
  Require(words <= kMostWords, "the category sets are larger than any trained model's");
  for (std::size_t r = 0; r <= cuts.size(); ++r) {
    const double x = r < cuts.size() ? cuts[r] : std::nextafter(cuts.back(), kUnlimited);
    if (left(x)) set.left[r / 32] |= 1u << (r % 32);
  }
  return set;
}

void RankFeature(TreeEnsemble& model, std::int32_t feature, const FeatureSplits& splits,
                 RowRule rule, std::size_t& words) {
  FeatureEncoding& encoding = model.encodings[feature];
  encoding.rule = {.ranked = true,
                   .single = rule == RowRule::kSingle,
                   .zero_interval = rule == RowRule::kLightgbm,
                   .zero_missing = splits.zero_missing && !splits.set_of_ranks};
  encoding.cuts = FindCuts(model, splits);
  for (const std::int32_t s : splits.sets) {
    CategorySet& set = model.category_sets[static_cast<std::size_t>(s)];
    set = RankSet(encoding.cuts, words, [&](double x) { return InSet(set, x, rule); });
  }
  for (const DoubleSplit& split : splits.numbers) {
    TreeNode& node = model.trees[split.tree].nodes[split.node];
    const auto cut = std::lower_bound(encoding.cuts.begin(), encoding.cuts.end(), split.limit);
    node.threshold = static_cast<float>(cut - encoding.cuts.begin()) + 1;
    if (!splits.set_of_ranks) continue;
    node.threshold = 0;
    node.categories = static_cast<std::int32_t>(model.category_sets.size());
    model.category_sets.push_back(RankSet(encoding.cuts, words, [&](double x) {
      return split.zero_missing && x == 0 ? node.default_left : x <= split.limit;
    }));
  }
}

// The largest category that a set names: tells other values from categories.
void NoteLargestCategory(TreeEnsemble& model, const TreeNode& node) {
  double& largest = model.encodings[node.feature].largest_category;
  const CategorySet& set = model.category_sets[static_cast<std::size_t>(node.categories)];
  std::size_t k = set.left.size() * 32;
  while (k > 0 && set.holds(--k) == set.others_left) continue;
  largest = std::max(largest, static_cast<double>(k));
}

}  // namespace

void RankSplits(TreeEnsemble& model, const std::vector<DoubleSplit>& splits, RowRule rule) {
  SplitsByFeature features;
  for (const DoubleSplit& split : splits) {
    FeatureSplits& of = features[model.trees[split.tree].nodes[split.node].feature];
    of.numbers.push_back(split);
    of.zero_missing = of.zero_missing || split.zero_missing;
  }
  ForEachSplit(model, [&](std::size_t t, std::size_t n) {
    const TreeNode& node = model.trees[t].nodes[n];
    if (node.categories < 0) return;
    NoteLargestCategory(model, node);
    if (rule == RowRule::kSingle && !features.contains(node.feature)) return;
    features[node.feature].sets.insert(node.categories);
  });
  std::size_t words = 0;
  for (auto& [feature, of] : features) {
    const auto like_one =
        std::ranges::count(of.numbers, of.zero_missing, &DoubleSplit::zero_missing);
    of.set_of_ranks = !of.sets.empty() || like_one < std::ssize(of.numbers);
    RankFeature(model, feature, of, rule, words);
  }
}

void RankMixedFeatures(TreeEnsemble& model) {
  const std::set<std::int32_t> by_category = CategoricalFeatures(model);
  std::vector<DoubleSplit> splits;
  ForEachSplit(model, [&](std::size_t t, std::size_t n) {
    const TreeNode& node = model.trees[t].nodes[n];
    const bool mixed = node.categories < 0 && by_category.contains(node.feature);
    if (!mixed || std::isnan(node.threshold)) return;  // NaN: Validate refuses it
    const float limit = std::nextafter(node.threshold, -std::numeric_limits<float>::infinity());
    splits.push_back({.tree = t, .node = n, .limit = static_cast<double>(limit)});
  });
  RankSplits(model, splits, RowRule::kSingle);
}

std::vector<float> EncodeRows(const TreeEnsemble& model, std::span<const double> values) {
  std::vector<float> rows(values.begin(), values.end());
  const auto columns = static_cast<std::size_t>(model.features);
  for (const auto& [feature, encoding] : model.encodings) {
    for (std::size_t i = static_cast<std::size_t>(feature); i < rows.size(); i += columns) {
      rows[i] = encoding.encode(values[i]);
    }
  }
  return rows;
}

std::vector<double> Predict(const TreeEnsemble& model, std::span<const double> row) {
  return Predict(model, std::span<const float>(EncodeRows(model, row)));
}

}  // namespace retable::treeshap

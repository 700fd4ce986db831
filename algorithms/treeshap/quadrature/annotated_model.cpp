#include "algorithms/treeshap/quadrature/annotated_model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/path_features.hpp"
#include "algorithms/treeshap/published/paths.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

void Summarise(const AnnotatedTree& tree, AnnotatedNode& split) {
  const AnnotatedNode& left = tree.at(split.left);
  const AnnotatedNode& right = tree.at(split.right);
  split.height = static_cast<std::int16_t>(1 + std::max(left.height, right.height));
  split.leaves = left.leaves + right.leaves;
  split.value = split.left_weight * left.value + (1 - split.left_weight) * right.value;
}

namespace {

class Annotator {
 public:
  Annotator(const TreeEnsemble& model, const Tree& tree) : model_(model), tree_(tree) {}

  //! Sets of the path's categories are appended to `sets`, and numbered in it.
  AnnotatedTree Run(std::vector<CategorySet>& sets) {
    sets_ = &sets;
    result_.group = tree_.group;
    result_.nodes.reserve(tree_.nodes.size());
    Visit(0);
    // A float holds the differences from the mean, not those beside a large mean.
    const double mean = result_.nodes[0].value;
    for (AnnotatedNode& node : result_.nodes) node.value -= mean;
    return std::move(result_);
  }

 private:
  std::int32_t Visit(std::int32_t n) {
    const TreeNode& node = tree_.at(n);
    const auto at = static_cast<std::int32_t>(result_.nodes.size());
    result_.nodes.emplace_back();
    AnnotatedNode out;
    if (node.is_leaf()) {
      out.value = node.value;
      result_.path_features =
          std::max(result_.path_features, static_cast<std::int32_t>(path_.size()));
    } else {
      const PathElement above = path_.ValueOf({.feature = node.feature});
      Describe(node, above, out);
      out.left = Follow(node, above, true);
      out.right = Follow(node, above, false);
      Summarise(result_, out);
    }
    result_.nodes[static_cast<std::size_t>(at)] = out;
    return at;
  }

  void Describe(const TreeNode& node, const PathElement& above, AnnotatedNode& out) const {
    out.feature = node.feature;
    out.threshold = node.threshold;
    out.lower = above.lower;
    out.upper = above.upper;
    out.inside_set = above.categories;
    out.left_set = node.categories;
    out.missing_inside = above.missing_follows;
    out.missing_left = node.default_left;
    out.cover_above = above.zero_fraction;
    out.left_weight = LeftWeight(tree_, node);
  }

  std::int32_t Follow(const TreeNode& node, const PathElement& above, bool left) {
    std::int32_t child = -1;
    path_.With(Narrowed(above, model_, tree_, node, left, *sets_),
               [&] { child = Visit(left ? node.left : node.right); });
    return child;
  }

  const TreeEnsemble& model_;
  const Tree& tree_;
  std::vector<CategorySet>* sets_ = nullptr;
  AnnotatedTree result_;
  PathFeatures<PathElement> path_;
};

}  // namespace

QuadratureRule GaussLegendre(int n) {
  QuadratureRule rule{std::vector<double>(static_cast<std::size_t>(n)),
                      std::vector<double>(static_cast<std::size_t>(n))};
  for (int i = 0; i < n; ++i) {
    // Root number i of P_n on (-1, 1), from Tricomi's estimate, in extended precision.
    long double x = std::cos(std::numbers::pi_v<long double> * (i + 0.75L) / (n + 0.5L));
    long double slope = 1;
    for (int step = 0; step < 8; ++step) {
      long double p = 1;
      long double previous = 0;
      for (int k = 0; k < n; ++k) {
        const long double next = ((2 * k + 1) * x * p - k * previous) / (k + 1);
        previous = p;
        p = next;
      }
      slope = n * (x * p - previous) / (x * x - 1);
      x -= p / slope;
    }
    const auto at = static_cast<std::size_t>(n - 1 - i);
    rule.node[at] = static_cast<double>((1 + x) / 2);
    rule.weight[at] = static_cast<double>(1 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

int ExactPoints(int d) {
  return std::max(1, (d + 1) / 2);
}

namespace {

// The largest number of points that a leaf of the tree needs.
class LeafErrors {
 public:
  LeafErrors(const AnnotatedTree& tree, int least)
      : tree_(tree), largest_(LargestLeaf(tree)), points_(least) {}

  int Run() {
    Visit(0);
    return points_;
  }

 private:
  struct Factor {
    std::int32_t feature;
    double cover;
  };

  void Visit(std::int32_t n) {
    const AnnotatedNode& node = tree_.at(n);
    if (node.feature < 0) {
      Leaf(std::abs(node.value));
      return;
    }
    for (const bool left : {true, false}) {
      const double share = left ? node.left_weight : 1 - node.left_weight;
      path_.With({node.feature, node.cover_above * share},
                 [&] { Visit(left ? node.left : node.right); });
    }
  }

  void Leaf(double value) {
    constexpr double kError = 0x1p-23;
    constexpr double kMost = 2 * 4 * 1.02;  // 1 / (4 n^2 - 1) of an integral beside its estimate
    const std::size_t d = path_.size();
    const auto least = 2 * static_cast<std::size_t>(points_) + 1;
    if (value == 0 || d < least) return;
    // beyond_[i]: the chance of i - d or beyond, whichever way the row goes at every factor.
    beyond_.assign(2 * d + 3, 0);
    std::fill_n(beyond_.begin(), d + 1, 1.0);
    // After m factors those below least + m no longer matter, and those above d + m are 0.
    std::size_t m = 0;
    for (const Factor& f : path_) {
      const double inside = (1 - f.cover) / 4, outside = f.cover / 4;
      double before = beyond_[least + m++];
      for (std::size_t i = least + m; i <= d + m; ++i) {
        const double here = beyond_[i];
        const double sides = before + beyond_[i + 1];
        beyond_[i] = std::max((1 + f.cover) / 2 * here + inside * sides,
                              2 * outside * here + outside * sides);
        before = here;
      }
    }
    while (d > 2 * static_cast<std::size_t>(points_) &&
           kMost * value * beyond_[d + 2 * static_cast<std::size_t>(points_) + 1] >
               kError * largest_) {
      ++points_;
    }
  }

  const AnnotatedTree& tree_;
  double largest_;
  int points_;
  PathFeatures<Factor> path_;
  std::vector<double> beyond_;
};

}  // namespace

int FloatPoints(const AnnotatedTree& tree) {
  constexpr int kLeast = 4;  // where fewer are exact, no fewer will do
  const int exact = ExactPoints(tree.path_features);
  return exact <= kLeast ? exact : std::min(exact, LeafErrors(tree, kLeast).Run());
}

AnnotatedModel Annotate(const TreeEnsemble& model) {
  Validate(model);
  AnnotatedModel out;
  out.features = model.features;
  out.groups = model.groups;
  out.sets = model.category_sets;
  out.expected = ExpectedMargins(model);
  out.trees.resize(model.trees.size());
  std::vector<std::vector<CategorySet>> sets(model.trees.size());  // of the paths
  ParallelFor(out.trees.size(),
              [&](std::size_t t) { out.trees[t] = Annotator(model, model.trees[t]).Run(sets[t]); });
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    if (!sets[t].empty()) {
      const auto before = static_cast<std::int32_t>(out.sets.size());
      for (AnnotatedNode& node : out.trees[t].nodes) {
        if (node.inside_set >= 0) node.inside_set += before;
      }
      std::ranges::move(sets[t], std::back_inserter(out.sets));
    }
    Require(out.trees[t].path_features <= kMaxPathFeatures, "tree ", t,
            " has a path with more than ", kMaxPathFeatures,
            " distinct features; train it less deep");
  }
  return out;
}

double LargestLeaf(const AnnotatedTree& tree) {
  double largest = 0;
  for (const AnnotatedNode& node : tree.nodes) {
    if (node.feature < 0) largest = std::max(largest, std::abs(node.value));
  }
  return largest;
}

std::size_t SplitCount(const AnnotatedModel& model) {
  std::size_t splits = 0;
  for (const AnnotatedTree& tree : model.trees) splits += tree.nodes.size() / 2;
  return splits;
}

}  // namespace retable::treeshap

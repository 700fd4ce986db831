#include "algorithms/treeshap/testing/random_trees.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "algorithms/common/philox.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// A sequential reader of one Philox stream.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream)
      : philox_(Philox4x32::FromSeed(seed)), stream_(stream) {}
  std::uint64_t bits() {
    if (half_ == 2) {
      block_ = philox_.Block(index_++, stream_);
      half_ = 0;
    }
    return block_.half(half_++);
  }
  double uniform() { return UniformDouble(bits()); }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(UniformBelow(bits(), n)); }
  bool chance(double p) { return uniform() < p; }

 private:
  Philox4x32 philox_;
  std::uint64_t stream_;
  std::uint64_t index_ = 0;
  PhiloxBlock block_{};
  int half_ = 2;
};

constexpr int kGrid = 8;  // thresholds are multiples of 1 / kGrid in [0, 1]
constexpr int kCategories = 40;

struct Grower {
  const RandomEnsembleOptions& options;
  const std::vector<char>& categorical;
  TreeEnsemble& model;
  Draws& draws;
  Tree tree{};

  std::int32_t Grow(int depth, double cover) {
    const auto n = static_cast<std::int32_t>(tree.nodes.size());
    tree.nodes.emplace_back();
    TreeNode node;
    node.cover = cover;
    if (depth == 0 || (depth < options.depth && draws.chance(options.leaf_probability))) {
      node.value = std::round((draws.uniform() * 2 - 1) * 64) / 16;
    } else {
      node.feature = static_cast<std::int32_t>(draws.below(categorical.size()));
      node.default_left = draws.chance(0.5);
      if (categorical[static_cast<std::size_t>(node.feature)] != 0) {
        node.categories = AddCategories();
      } else {
        node.threshold = static_cast<float>(static_cast<double>(draws.below(kGrid + 1)) / kGrid);
      }
      const double fraction = draws.chance(options.zero_cover_probability)
                                  ? (draws.chance(0.5) ? 0.0 : 1.0)
                                  : 0.05 + 0.9 * draws.uniform();
      node.left = Grow(depth - 1, cover * fraction);
      node.right = Grow(depth - 1, cover * (1 - fraction));
    }
    tree.nodes[static_cast<std::size_t>(n)] = node;
    return n;
  }

  std::int32_t AddCategories() {
    CategorySet set;
    set.left.resize(1 + draws.below(2));
    for (auto& word : set.left) word = static_cast<std::uint32_t>(draws.bits());
    set.others_left = draws.chance(0.5);
    model.category_sets.push_back(set);
    return static_cast<std::int32_t>(model.category_sets.size() - 1);
  }
};

// Column-major synthetic data: uniform, normal-like and skewed columns, then binary ones.
std::vector<float> SyntheticColumns(const SyntheticShape& shape, std::size_t rows,
                                    std::uint64_t seed) {
  std::vector<float> columns(rows * static_cast<std::size_t>(shape.features));
  for (int f = 0; f < shape.features; ++f) {
    Draws draws(seed, static_cast<std::uint64_t>(f));
    const bool binary = f >= shape.features - shape.binary;
    const double rate = 0.05 + 0.9 * Draws(7, static_cast<std::uint64_t>(f)).uniform();
    for (std::size_t i = 0; i < rows; ++i) {
      const double u = draws.uniform();
      const double x = binary ? (u < rate ? 1.0 : 0.0)
                              : (f % 3 == 0 ? u : (f % 3 == 1 ? -std::log1p(-u) : u * u * u));
      columns[static_cast<std::size_t>(f) * rows + i] = static_cast<float>(x);
    }
  }
  return columns;
}

struct ShapeGrower {
  const SyntheticShape& shape;
  const std::vector<float>& columns;
  std::size_t rows;
  Draws draws;
  Tree tree{};
  std::vector<std::uint32_t> order{};

  float value(std::size_t feature, std::uint32_t row) const {
    return columns[feature * rows + row];
  }

  // Picks a random split that leaves rows on both sides; false when ten tries find none.
  bool Split(std::size_t begin, std::size_t end, TreeNode& node, std::size_t& middle) {
    for (int attempt = 0; attempt < 10; ++attempt) {
      const std::size_t f = draws.below(static_cast<std::size_t>(shape.features));
      const float a = value(f, order[begin + draws.below(end - begin)]);
      const float b = value(f, order[begin + draws.below(end - begin)]);
      const float threshold = std::max(a, b);
      const auto split = std::partition(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                        order.begin() + static_cast<std::ptrdiff_t>(end),
                                        [&](std::uint32_t r) { return value(f, r) < threshold; });
      middle = static_cast<std::size_t>(split - order.begin());
      if (middle == begin || middle == end) continue;
      node.feature = static_cast<std::int32_t>(f);
      node.threshold = threshold;
      return true;
    }
    return false;
  }

  std::int32_t Grow(int depth, std::size_t begin, std::size_t end) {
    const auto n = static_cast<std::int32_t>(tree.nodes.size());
    tree.nodes.emplace_back();
    TreeNode node;
    node.cover = static_cast<double>(end - begin);
    std::size_t middle = 0;
    if (depth > 0 && end - begin >= static_cast<std::size_t>(shape.min_rows) &&
        Split(begin, end, node, middle)) {
      node.default_left = draws.chance(0.5);
      node.left = Grow(depth - 1, begin, middle);
      node.right = Grow(depth - 1, middle, end);
    } else {
      node.value = static_cast<double>(static_cast<float>(draws.uniform() * 0.02 - 0.01));
    }
    tree.nodes[static_cast<std::size_t>(n)] = node;
    return n;
  }

  void GrowLeafWise() {
    struct Open {
      std::size_t node, begin, end;
      int depth;
    };
    std::vector<Open> open;
    const auto add = [&](std::size_t begin, std::size_t end, int depth) {
      open.push_back({tree.nodes.size(), begin, end, depth});
      TreeNode leaf;
      leaf.cover = static_cast<double>(end - begin);
      leaf.value = static_cast<double>(static_cast<float>(draws.uniform() * 0.02 - 0.01));
      tree.nodes.push_back(leaf);
    };
    add(0, rows, shape.depth);
    for (int leaves = 1; leaves < shape.leaves && !open.empty();) {
      std::swap(open[draws.below(open.size())], open.back());
      const Open at = open.back();
      open.pop_back();
      TreeNode node = tree.nodes[at.node];
      std::size_t middle = 0;
      if (at.depth == 0 || at.end - at.begin < static_cast<std::size_t>(shape.min_rows) ||
          !Split(at.begin, at.end, node, middle)) {
        continue;
      }
      ++leaves;
      node.value = 0;
      node.default_left = draws.chance(0.5);
      node.left = static_cast<std::int32_t>(tree.nodes.size());
      node.right = node.left + 1;
      tree.nodes[at.node] = node;
      add(at.begin, middle, at.depth - 1);
      add(middle, at.end, at.depth - 1);
    }
  }
};

}  // namespace

TreeEnsemble RandomEnsemble(const RandomEnsembleOptions& options, std::uint64_t seed) {
  TreeEnsemble model;
  model.features = options.features;
  model.groups = options.groups;
  Draws draws(seed, 0);
  model.base_score.clear();
  for (int g = 0; g < options.groups; ++g) model.base_score.push_back(draws.uniform());
  std::vector<char> categorical;
  for (int f = 0; f < options.features; ++f) {
    categorical.push_back(draws.chance(options.categorical_probability) ? 1 : 0);
  }
  for (int t = 0; t < options.trees; ++t) {
    Grower grower{options, categorical, model, draws};
    grower.tree.group = t % options.groups;
    grower.Grow(options.depth, 1000);
    for (int i = 1; i < options.repeats; ++i) {
      model.trees.push_back(grower.tree);
      for (TreeNode& node : model.trees.back().nodes) {
        node.value *= draws.uniform();
        node.cover *= 0.5 + draws.uniform();
      }
    }
    model.trees.push_back(std::move(grower.tree));
  }
  return model;
}

TreeEnsemble ChainEnsemble(int depth, int features, double hot_cover, std::uint64_t seed) {
  TreeEnsemble model;
  model.features = features;
  Draws draws(seed, 0);
  Tree tree;
  double cover = 1e6;
  for (int i = 0; i < depth; ++i) {
    const auto n = static_cast<std::int32_t>(tree.nodes.size());
    const bool hot_left = draws.chance(0.5);
    TreeNode split;
    split.feature = static_cast<std::int32_t>(i % features);
    // Thresholds tighten around 0.5 so that rows near it stay on the chain.
    const double margin = 0.5 / (1 + i / features);
    split.threshold = static_cast<float>(hot_left ? 0.5 + margin : 0.5 - margin);
    split.default_left = hot_left;
    split.left = hot_left ? n + 2 : n + 1;
    split.right = hot_left ? n + 1 : n + 2;
    split.cover = cover;
    tree.nodes.push_back(split);
    TreeNode side;
    side.cover = cover * (1 - hot_cover);
    side.value = draws.uniform() * 2 - 1;
    tree.nodes.push_back(side);
    cover *= hot_cover;
  }
  TreeNode end;
  end.cover = cover;
  end.value = 1 + draws.uniform();
  tree.nodes.push_back(end);
  model.trees.push_back(std::move(tree));
  return model;
}

std::vector<float> RandomRows(const TreeEnsemble& model, std::size_t rows, double missing,
                              std::uint64_t seed) {
  Draws draws(seed, 1);
  const auto columns = static_cast<std::size_t>(model.features);
  const std::set<std::int32_t> categorical = CategoricalFeatures(model);
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float x = 0;
    if (categorical.contains(static_cast<std::int32_t>(i % columns))) {
      x = static_cast<float>(draws.below(kCategories + 30)) - 2;
    } else if (draws.chance(0.5)) {
      x = static_cast<float>(static_cast<double>(draws.below(kGrid + 1)) / kGrid);  // a threshold
    } else {
      x = static_cast<float>(draws.uniform() * 1.2 - 0.1);
    }
    if (draws.chance(missing)) {
      x = std::numeric_limits<float>::quiet_NaN();
    } else if (missing > 0 && draws.chance(0.02)) {
      x = draws.chance(0.5) ? std::numeric_limits<float>::infinity()
                            : -std::numeric_limits<float>::infinity();
    }
    values[i] = x;
  }
  return values;
}

TreeEnsemble SyntheticEnsemble(const SyntheticShape& shape, std::uint64_t seed) {
  TreeEnsemble model;
  model.features = shape.features;
  model.groups = shape.groups;
  model.base_score.assign(static_cast<std::size_t>(shape.groups), 0.5);
  const auto rows = static_cast<std::size_t>(shape.rows);
  const std::vector<float> columns = SyntheticColumns(shape, rows, seed);
  model.trees.resize(static_cast<std::size_t>(shape.trees));
  ParallelFor(model.trees.size(), 0, [&](std::size_t t) {
    ShapeGrower grower{shape, columns, rows, Draws(seed + 1, t)};
    grower.order.resize(rows);
    std::iota(grower.order.begin(), grower.order.end(), 0u);
    if (shape.leaves > 0) {
      grower.GrowLeafWise();
    } else {
      grower.Grow(shape.depth, 0, rows);
    }
    grower.tree.group = static_cast<std::int32_t>(t) % shape.groups;
    model.trees[t] = std::move(grower.tree);
  });
  return model;
}

std::vector<float> SyntheticRows(const SyntheticShape& shape, std::size_t rows,
                                 std::uint64_t seed) {
  const std::vector<float> columns = SyntheticColumns(shape, rows, seed);
  const auto features = static_cast<std::size_t>(shape.features);
  std::vector<float> values(columns.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t f = 0; f < features; ++f) values[i * features + f] = columns[f * rows + i];
  }
  return values;
}

}  // namespace retable::treeshap

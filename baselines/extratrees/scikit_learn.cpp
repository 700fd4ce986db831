#include "baselines/extratrees/scikit_learn.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <queue>
#include <random>
#include <stdexcept>

namespace retable::extratrees {
namespace {

constexpr float kFeatureThreshold = 1e-7f;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr std::uint32_t kSeeds = 0x7FFFFFFF;  //!< seeds of trees and generators are below

//! NumPy's RandomState.randint(0, n): as many bits as n - 1 has, drawn again when out of range.
std::uint32_t RandBelow(std::mt19937& generator, std::uint32_t n) {
  const std::uint32_t mask = n > 1 ? std::bit_ceil(n) - 1 : 0;
  if (mask == 0) return 0;
  for (;;) {
    const auto bits = static_cast<std::uint32_t>(generator()) & mask;
    if (bits < n) return bits;
  }
}

//! scikit-learn's generator within a tree: xorshift (13, 17, 5), 31 bits of it.
class XorShift {
 public:
  explicit XorShift(std::uint32_t seed) : state_(seed) {}
  std::uint32_t Next() {
    if (state_ == 0) state_ = 1;
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_ % 0x80000000u;
  }
  std::size_t Below(std::size_t low, std::size_t high) { return low + Next() % (high - low); }
  double Uniform(double low, double high) { return (high - low) * Next() / 2147483647.0 + low; }

 private:
  std::uint32_t state_;
};

//! Features in either layout.
struct Matrix {
  const float* values;
  std::size_t row_step, column_step;
  std::size_t rows, columns;
  float At(std::size_t row, std::size_t column) const {
    return values[row * row_step + column * column_step];
  }
};

struct Split {
  std::size_t feature = 0;
  double threshold = 0;
  std::size_t position = 0;
  bool missing_left = false;
  double impurity_left = 0;
  double impurity_right = 0;
  double improvement = 0;
};

struct Record {
  std::size_t start, end;
  int depth;
  std::int32_t parent;
  bool is_left;
  double impurity;
  std::size_t n_constant;
};

//! The samples of a node and of a cut's two sides. Both criteria add up in scikit-learn's order:
//! over the shorter side, from its far end.
struct Sides {
  const std::vector<std::uint32_t>& samples;
  std::size_t start, position, end;
  bool forward() const { return position - start <= end - position; }
};

//! Weighted class counts.
class GiniSums {
 public:
  GiniSums(const Targets& targets, const double* weights, std::uint32_t classes)
      : labels_(targets.labels), weights_(weights), total_(classes), left_(classes) {}

  void Enter(const Sides& node) {
    std::fill(total_.begin(), total_.end(), 0.0);
    weight_ = 0;
    for (std::size_t p = node.start; p < node.end; ++p) {
      const double w = WeightOf(node.samples[p]);
      total_[labels_[node.samples[p]]] += w;
      weight_ += w;
    }
  }
  double weight() const { return weight_; }
  double Impurity() const {
    double squares = 0;
    for (const double count : total_) squares += count * count;
    return 1.0 - squares / (weight_ * weight_);
  }

  void Update(const Sides& cut) {
    if (cut.forward()) {
      std::fill(left_.begin(), left_.end(), 0.0);
      weight_left_ = 0;
      for (std::size_t p = cut.start; p < cut.position; ++p) {
        const double w = WeightOf(cut.samples[p]);
        left_[labels_[cut.samples[p]]] += w;
        weight_left_ += w;
      }
    } else {
      left_ = total_;
      weight_left_ = weight_;
      for (std::size_t p = cut.end; p-- > cut.position;) {
        const double w = WeightOf(cut.samples[p]);
        left_[labels_[cut.samples[p]]] -= w;
        weight_left_ -= w;
      }
    }
  }
  double weight_left() const { return weight_left_; }
  void Children(const Sides&, double& left, double& right) const {
    double left_squares = 0;
    double right_squares = 0;
    for (std::size_t c = 0; c < total_.size(); ++c) {
      const double other = total_[c] - left_[c];
      left_squares += left_[c] * left_[c];
      right_squares += other * other;
    }
    const double weight_right = weight_ - weight_left_;
    left = 1.0 - left_squares / (weight_left_ * weight_left_);
    right = 1.0 - right_squares / (weight_right * weight_right);
  }
  double Proxy(const Sides& cut) const {
    double left = 0;
    double right = 0;
    Children(cut, left, right);
    return -(weight_ - weight_left_) * right - weight_left_ * left;
  }

  void Leaf(TreeNode& leaf, Tree& tree) const {
    for (std::uint32_t c = 0; c < total_.size(); ++c) {
      if (total_[c] != weight_) continue;
      leaf.value = c;
      return;
    }
    leaf.value = kMixed | static_cast<std::uint32_t>(tree.leaf_values.size() / total_.size());
    for (const double count : total_) tree.leaf_values.push_back(count / weight_);
  }

 private:
  double WeightOf(std::uint32_t row) const { return weights_ == nullptr ? 1.0 : weights_[row]; }

  std::span<const std::uint32_t> labels_;
  const double* weights_;
  std::vector<double> total_, left_;
  double weight_ = 0;
  double weight_left_ = 0;
};

//! Weighted sums of real targets.
class SquaredErrorSums {
 public:
  SquaredErrorSums(const Targets& targets, const double* weights, std::uint32_t)
      : values_(targets.values), weights_(weights) {}

  void Enter(const Sides& node) {
    sum_ = squares_ = weight_ = 0;
    for (std::size_t p = node.start; p < node.end; ++p) {
      const double y = values_[node.samples[p]];
      const double w = WeightOf(node.samples[p]);
      const double wy = w * y;
      sum_ += wy;
      squares_ += wy * y;
      weight_ += w;
    }
  }
  double weight() const { return weight_; }
  double Impurity() const {
    const double mean = sum_ / weight_;
    return squares_ / weight_ - mean * mean;
  }

  void Update(const Sides& cut) {
    sum_left_ = cut.forward() ? 0.0 : sum_;
    weight_left_ = cut.forward() ? 0.0 : weight_;
    if (cut.forward()) {
      for (std::size_t p = cut.start; p < cut.position; ++p) Move(cut.samples[p], 1.0);
    } else {
      for (std::size_t p = cut.end; p-- > cut.position;) Move(cut.samples[p], -1.0);
    }
  }
  double weight_left() const { return weight_left_; }
  double Proxy(const Sides&) const {
    const double right = sum_ - sum_left_;
    return sum_left_ * sum_left_ / weight_left_ + right * right / (weight_ - weight_left_);
  }
  void Children(const Sides& cut, double& left, double& right) const {
    double squares_left = 0;
    for (std::size_t p = cut.start; p < cut.position; ++p) {
      const double y = values_[cut.samples[p]];
      squares_left += WeightOf(cut.samples[p]) * y * y;
    }
    const double weight_right = weight_ - weight_left_;
    const double mean_left = sum_left_ / weight_left_;
    const double mean_right = (sum_ - sum_left_) / weight_right;
    left = squares_left / weight_left_ - mean_left * mean_left;
    right = (squares_ - squares_left) / weight_right - mean_right * mean_right;
  }

  void Leaf(TreeNode& leaf, Tree& tree) const {
    leaf.value = kMixed | static_cast<std::uint32_t>(tree.leaf_values.size());
    tree.leaf_values.push_back(sum_ / weight_);
  }

 private:
  double WeightOf(std::uint32_t row) const { return weights_ == nullptr ? 1.0 : weights_[row]; }
  void Move(std::uint32_t row, double sign) {
    sum_left_ += sign * (WeightOf(row) * values_[row]);
    weight_left_ += sign * WeightOf(row);
  }

  std::span<const double> values_;
  const double* weights_;
  double sum_ = 0;
  double squares_ = 0;
  double weight_ = 0;
  double sum_left_ = 0;
  double weight_left_ = 0;
};

template <class Sums>
class Grower {
 public:
  //! @param weights one a row, or null: all 1.
  Grower(const Matrix& data, const Targets& targets, const double* weights, std::uint32_t classes,
         const ForestOptions& options, std::uint32_t seed)
      : data_(data),
        options_(options),
        max_features_(ResolveMaxFeatures(options.max_features, data.columns, targets.regression())),
        min_split_(std::max(options.min_samples_split, 2 * options.min_samples_leaf)),
        random_(seed),
        sums_(targets, weights, classes),
        features_(data.columns),
        constants_(data.columns),
        values_(data.rows) {
    for (std::size_t i = 0; i < data.rows; ++i) {
      const double weight = weights == nullptr ? 1.0 : weights[i];
      if (weight != 0) samples_.push_back(static_cast<std::uint32_t>(i));
      total_weight_ += weight;
    }
    for (std::size_t f = 0; f < data.columns; ++f) features_[f] = f;
  }

  Tree Grow() {
    const Record root{0, samples_.size(), 0, -1, false, 0, 0};
    if (options_.max_leaf_nodes > 0) {
      GrowBestFirst(root);
    } else {
      GrowDepthFirst(root);
    }
    return std::move(tree_);
  }

 private:
  //! A node of the tree, and the cut that may split it.
  struct Visited {
    Record node;
    Split split;
    std::int32_t at = 0;
    bool leaf = false;
    Record Child(bool left) const {
      return {left ? node.start : split.position,
              left ? split.position : node.end,
              node.depth + 1,
              at,
              left,
              left ? split.impurity_left : split.impurity_right,
              node.n_constant};
    }
    bool operator<(const Visited& other) const { return Gain() < other.Gain(); }
    double Gain() const { return leaf ? 0 : split.improvement; }
  };

  Visited Visit(const Record& record) {
    Visited visited{.node = record};
    Record& node = visited.node;
    sums_.Enter({samples_, node.start, node.start, node.end});
    const std::size_t n = node.end - node.start;
    if (node.parent < 0) node.impurity = sums_.Impurity();
    visited.leaf = (options_.max_depth > 0 && node.depth >= options_.max_depth) ||
                   n < static_cast<std::size_t>(min_split_) || node.impurity <= kEpsilon;
    if (!visited.leaf) {
      visited.split = BestSplit(node);
      visited.leaf = visited.split.position >= node.end ||
                     visited.split.improvement + kEpsilon < options_.min_impurity_decrease;
    }
    visited.at = Append(node, visited.split, visited.leaf);
    return visited;
  }

  void GrowDepthFirst(const Record& root) {
    std::vector<Record> stack{root};
    while (!stack.empty()) {
      const Record node = stack.back();
      stack.pop_back();
      const Visited visited = Visit(node);
      if (visited.leaf) continue;
      for (const bool left : {false, true}) stack.push_back(visited.Child(left));
    }
  }

  //! Nodes are numbered in the order of their making. Leaves wait in the heap as scikit-learn's do:
  //! which of equal gains is taken depends on them.
  void GrowBestFirst(const Record& root) {
    std::priority_queue<Visited> open;
    open.push(Visit(root));
    for (int splits = options_.max_leaf_nodes - 1; !open.empty();) {
      Visited next = open.top();
      open.pop();
      if (next.leaf) continue;
      if (splits == 0) {
        sums_.Enter({samples_, next.node.start, next.node.start, next.node.end});
        TreeNode& leaf = tree_.nodes[static_cast<std::size_t>(next.at)];
        leaf.feature = -1;
        leaf.threshold = 0;
        leaf.missing_left = false;
        sums_.Leaf(leaf, tree_);
        continue;
      }
      --splits;
      next.node.n_constant = 0;  // scikit-learn forgets them here
      const Visited left = Visit(next.Child(true));
      const Visited right = Visit(next.Child(false));
      open.push(left);
      open.push(right);
    }
  }

  //! Impurities of the chosen cut's children and what it gains.
  void Judge(const Record& node, Split& split) {
    const Sides cut{samples_, node.start, split.position, node.end};
    sums_.Update(cut);
    sums_.Children(cut, split.impurity_left, split.impurity_right);
    const double weight = sums_.weight();
    const double weight_right = weight - sums_.weight_left();
    split.improvement = weight / total_weight_ *
                        (node.impurity - weight_right / weight * split.impurity_right -
                         sums_.weight_left() / weight * split.impurity_left);
  }

  //! Copies a feature's values of the node; false where it is constant: all values missing, or none
  //! and all within 1e-7.
  bool Scan(const Record& node, std::size_t feature, float& low, float& high,
            std::size_t& n_missing) {
    low = std::numeric_limits<float>::infinity();
    high = -low;
    n_missing = 0;
    for (std::size_t p = node.start; p < node.end; ++p) {
      const float x = data_.At(samples_[p], feature);
      values_[p] = x;
      n_missing += std::isnan(x) ? 1 : 0;
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
    if (n_missing == node.end - node.start) return false;
    return n_missing > 0 || !(high <= low + kFeatureThreshold);
  }

  static bool GoesLeft(float x, const Split& split) {
    return std::isnan(x) ? split.missing_left : static_cast<double>(x) <= split.threshold;
  }

  //! Swaps samples, and where they are read the values that Scan copied, to the left first; the
  //! order within a side is scikit-learn's.
  template <bool kCopied>
  std::size_t Partition(const Record& node, const Split& split) {
    std::size_t begin = node.start;
    std::size_t end = node.end;
    while (begin < end) {
      if (GoesLeft(kCopied ? values_[begin] : data_.At(samples_[begin], split.feature), split)) {
        ++begin;
        continue;
      }
      --end;
      if (kCopied) std::swap(values_[begin], values_[end]);
      std::swap(samples_[begin], samples_[end]);
    }
    return end;
  }

  //! Draws features by a Fisher-Yates walk over `features_`, whose parts are: drawn constants,
  //! known constants not drawn, constants found here, open ones, and drawn ones from the back.
  Split BestSplit(Record& node) {
    const std::size_t known = node.n_constant;
    std::size_t open_end = data_.columns;
    std::size_t found = 0;
    std::size_t drawn = 0;
    std::size_t total = known;
    std::size_t visited = 0;
    std::size_t last_feature = data_.columns;
    double best_proxy = -std::numeric_limits<double>::infinity();
    Split best;
    best.position = node.end;
    while (open_end > total && (visited < max_features_ || visited <= found + drawn)) {
      ++visited;
      std::size_t j = random_.Below(drawn, open_end - found);
      if (j < known) {
        std::swap(features_[drawn], features_[j]);
        ++drawn;
        continue;
      }
      j += found;
      Split split;
      split.feature = features_[j];
      last_feature = split.feature;
      float low = 0;
      float high = 0;
      std::size_t n_missing = 0;
      if (!Scan(node, split.feature, low, high, n_missing)) {
        std::swap(features_[j], features_[total]);
        ++found;
        ++total;
        continue;
      }
      --open_end;
      std::swap(features_[open_end], features_[j]);
      split.threshold = random_.Uniform(static_cast<double>(low), static_cast<double>(high));
      split.missing_left = n_missing > 0 && random_.Below(0, 2) == 1;
      if (split.threshold == static_cast<double>(high)) split.threshold = static_cast<double>(low);
      split.position = Partition<true>(node, split);
      const std::size_t n_left = split.position - node.start;
      const std::size_t n_right = node.end - split.position;
      const auto min_leaf = static_cast<std::size_t>(options_.min_samples_leaf);
      if (n_left < min_leaf || n_right < min_leaf) continue;
      const Sides cut{samples_, node.start, split.position, node.end};
      sums_.Update(cut);
      const double proxy = sums_.Proxy(cut);
      if (proxy > best_proxy) {
        best_proxy = proxy;
        best = split;
        if (n_missing == 0) best.missing_left = n_left > n_right;
      }
    }
    if (best.position < node.end) {
      if (last_feature != best.feature) Partition<false>(node, best);
      Judge(node, best);
    }
    // The order of the known constants must be the same for siblings and children.
    std::copy_n(constants_.begin(), known, features_.begin());
    std::copy_n(features_.begin() + static_cast<std::ptrdiff_t>(known), found,
                constants_.begin() + static_cast<std::ptrdiff_t>(known));
    node.n_constant = total;
    return best;
  }

  std::int32_t Append(const Record& node, const Split& split, bool leaf) {
    const auto at = static_cast<std::int32_t>(tree_.nodes.size());
    TreeNode made;
    made.samples = static_cast<std::uint32_t>(node.end - node.start);
    made.weight = sums_.weight();
    made.impurity = node.impurity;
    if (leaf) {
      sums_.Leaf(made, tree_);
    } else {
      made.feature = static_cast<std::int32_t>(split.feature);
      made.threshold = split.threshold;
      made.missing_left = split.missing_left;
    }
    tree_.nodes.push_back(made);
    if (node.parent >= 0) {
      TreeNode& parent = tree_.nodes[static_cast<std::size_t>(node.parent)];
      (node.is_left ? parent.left : parent.right) = at;
    }
    return at;
  }

  const Matrix data_;
  const ForestOptions& options_;
  std::size_t max_features_;
  int min_split_;
  XorShift random_;
  Sums sums_;
  double total_weight_ = 0;
  std::vector<std::uint32_t> samples_;
  std::vector<std::size_t> features_, constants_;
  std::vector<float> values_;
  Tree tree_;
};

//! A tree on all rows, or, for a bootstrap, on rows that weigh as often as they were drawn.
Tree GrowTree(const Matrix& matrix, const Targets& targets, std::uint32_t classes,
              const ForestOptions& options, std::uint32_t tree_seed) {
  std::vector<double> counts;
  const double* weights = targets.weights.empty() ? nullptr : targets.weights.data();
  if (options.bootstrap) {
    counts.assign(matrix.rows, 0.0);
    std::mt19937 random(tree_seed);
    const auto n = static_cast<std::uint32_t>(matrix.rows);
    for (std::size_t i = 0; i < matrix.rows; ++i) counts[RandBelow(random, n)] += 1.0;
    weights = counts.data();
  }
  std::mt19937 tree_random(tree_seed);
  const std::uint32_t seed = RandBelow(tree_random, kSeeds);
  if (targets.regression()) {
    return Grower<SquaredErrorSums>(matrix, targets, weights, classes, options, seed).Grow();
  }
  return Grower<GiniSums>(matrix, targets, weights, classes, options, seed).Grow();
}

void CheckFeatures(const FeatureMatrix& data) {
  for (std::size_t i = 0; i < data.rows * data.columns; ++i) {
    if (!std::isinf(data.values[i])) continue;
    throw std::invalid_argument("value at row " + std::to_string(i / data.columns) + ", column " +
                                std::to_string(i % data.columns) +
                                " is infinite: clip it, or make it NaN (missing)");
  }
}

void CheckRule(const Targets& targets, const ForestOptions& options) {
  if (options.bootstrap && !targets.weights.empty()) {
    throw std::invalid_argument("the baseline draws bootstrap rows uniformly: leave out weights");
  }
  if (options.constant_rule != ConstantRule::kScikitLearn) {
    throw std::invalid_argument("the baseline knows the scikit-learn rule alone");
  }
  if (options.seed > 0xFFFFFFFFull) {
    throw std::invalid_argument("scikit-learn's random_state is at most 2^32 - 1");
  }
}

}  // namespace

Layout ParseLayout(const std::string& name) {
  if (name == "rows") return Layout::kRows;
  if (name == "columns") return Layout::kColumns;
  throw std::invalid_argument("layout is rows or columns, not " + name);
}

std::unique_ptr<FittedForest> ScikitLearnExtraTrees::fit(const FeatureMatrix& data,
                                                         const Targets& targets,
                                                         const ForestOptions& options) {
  CheckRule(targets, options);
  const std::uint32_t classes = CheckTraining(data, targets, options);
  if (options.min_weight_fraction_leaf > 0) {
    throw std::invalid_argument("this baseline has no min_weight_fraction_leaf");
  }
  CheckFeatures(data);
  Forest forest = EmptyForest(data, targets, classes, options);
  forest.trees.resize(static_cast<std::size_t>(options.n_trees));
  std::mt19937 forest_random(static_cast<std::uint32_t>(options.seed));
  std::vector<std::uint32_t> seeds;
  for (int t = 0; t < options.n_trees; ++t) seeds.push_back(RandBelow(forest_random, kSeeds));
  WithThreads(threads_, [&] {
    Matrix matrix{data.values, data.columns, 1, data.rows, data.columns};
    std::vector<float> columns;
    if (layout_ == Layout::kColumns) {
      columns = Transposed(data);
      matrix = {columns.data(), 1, data.rows, data.rows, data.columns};
    }
    ParallelFor(forest.trees.size(), [&](std::size_t t) {
      forest.trees[t] = GrowTree(matrix, targets, classes, options, seeds[t]);
    });
  });
  return std::make_unique<HostForest>(std::move(forest));
}

RETABLE_REGISTER(ForestTrainer, scikit_learn,
                 {.name = "scikit-learn",
                  .summary = "ExtraTrees by scikit-learn's rules and random numbers, in C++",
                  .citation = "Pedregosa et al. 2011 (behaviour of 1.9.1)",
                  .parameters = {{"layout", std::string("rows"), "rows or columns"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<ScikitLearnExtraTrees>(
                        ParseLayout(TextParameter(p, "layout", "rows")),
                        IntParameter(p, "threads", 0));
                  }});

}  // namespace retable::extratrees

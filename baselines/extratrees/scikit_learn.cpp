#include "baselines/extratrees/scikit_learn.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace retable::extratrees {
namespace {

constexpr float kFeatureThreshold = 1e-7f;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

//! NumPy's RandomState.randint(0, 2^31 - 1): 31 bits, drawn again when out of range.
std::uint32_t RandInt31(std::mt19937& generator) {
  for (;;) {
    const auto bits = static_cast<std::uint32_t>(generator()) & 0x7FFFFFFFu;
    if (bits <= 0x7FFFFFFEu) return bits;
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
  double impurity_left = 0;
  double impurity_right = 0;
};

struct Record {
  std::size_t start, end;
  int depth;
  std::int32_t parent;
  bool is_left;
  double impurity;
  std::size_t n_constant;
};

class Grower {
 public:
  Grower(const Matrix& data, std::span<const std::uint32_t> labels, std::uint32_t classes,
         const ForestOptions& options, std::uint32_t seed)
      : data_(data),
        labels_(labels),
        options_(options),
        max_features_(ResolveMaxFeatures(options.max_features, data.columns)),
        min_split_(std::max(options.min_samples_split, 2 * options.min_samples_leaf)),
        random_(seed),
        samples_(data.rows),
        features_(data.columns),
        constants_(data.columns),
        values_(data.rows),
        total_(classes),
        left_(classes) {
    for (std::size_t i = 0; i < data.rows; ++i) samples_[i] = static_cast<std::uint32_t>(i);
    for (std::size_t f = 0; f < data.columns; ++f) features_[f] = f;
  }

  Tree Grow() {
    std::vector<Record> stack{{0, data_.rows, 0, -1, false, 0, 0}};
    bool first = true;
    while (!stack.empty()) {
      Record node = stack.back();
      stack.pop_back();
      CountTotals(node.start, node.end);
      const std::size_t n = node.end - node.start;
      if (first) node.impurity = Gini(total_, n);
      first = false;
      bool leaf = (options_.max_depth > 0 && node.depth >= options_.max_depth) ||
                  n < static_cast<std::size_t>(min_split_) || node.impurity <= kEpsilon;
      Split split;
      if (!leaf) {
        split = BestSplit(node);
        leaf = split.position >= node.end ||
               Improvement(node, split) + kEpsilon < options_.min_impurity_decrease;
      }
      const std::int32_t at = Append(node, split, leaf);
      if (leaf) continue;
      stack.push_back({split.position, node.end, node.depth + 1, at, false, split.impurity_right,
                       node.n_constant});
      stack.push_back({node.start, split.position, node.depth + 1, at, true, split.impurity_left,
                       node.n_constant});
    }
    return std::move(tree_);
  }

 private:
  static double Gini(const std::vector<double>& counts, std::size_t n) {
    double squares = 0;
    for (const double count : counts) squares += count * count;
    const auto weight = static_cast<double>(n);
    return 1.0 - squares / (weight * weight);
  }

  void CountTotals(std::size_t start, std::size_t end) {
    std::fill(total_.begin(), total_.end(), 0.0);
    for (std::size_t p = start; p < end; ++p) total_[labels_[samples_[p]]] += 1.0;
  }

  //! Impurities of the two sides of samples [start, position) and [position, end).
  void Impurities(const Record& node, std::size_t position, double& left, double& right) {
    std::fill(left_.begin(), left_.end(), 0.0);
    for (std::size_t p = node.start; p < position; ++p) left_[labels_[samples_[p]]] += 1.0;
    double left_squares = 0;
    double right_squares = 0;
    for (std::size_t c = 0; c < total_.size(); ++c) {
      const double other = total_[c] - left_[c];
      left_squares += left_[c] * left_[c];
      right_squares += other * other;
    }
    const auto n_left = static_cast<double>(position - node.start);
    const auto n_right = static_cast<double>(node.end - position);
    left = 1.0 - left_squares / (n_left * n_left);
    right = 1.0 - right_squares / (n_right * n_right);
  }

  double Improvement(const Record& node, const Split& split) const {
    const auto n = static_cast<double>(node.end - node.start);
    const auto n_left = static_cast<double>(split.position - node.start);
    const auto n_right = static_cast<double>(node.end - split.position);
    return n / static_cast<double>(data_.rows) *
           (node.impurity - n_right / n * split.impurity_right - n_left / n * split.impurity_left);
  }

  //! Copies a feature's values of the node; false where they are constant.
  bool Scan(const Record& node, std::size_t feature, float& low, float& high) {
    low = high = data_.At(samples_[node.start], feature);
    for (std::size_t p = node.start; p < node.end; ++p) {
      const float x = data_.At(samples_[p], feature);
      values_[p] = x;
      if (x < low) {
        low = x;
      } else if (x > high) {
        high = x;
      }
    }
    return !(high <= low + kFeatureThreshold);
  }

  //! Swaps samples and values to "<= threshold" first; the order within a side is scikit-learn's.
  std::size_t PartitionValues(const Record& node, double threshold) {
    std::size_t begin = node.start;
    std::size_t end = node.end;
    while (begin < end) {
      if (static_cast<double>(values_[begin]) <= threshold) {
        ++begin;
      } else {
        --end;
        std::swap(values_[begin], values_[end]);
        std::swap(samples_[begin], samples_[end]);
      }
    }
    return end;
  }

  void PartitionFinal(const Record& node, const Split& split) {
    std::size_t begin = node.start;
    std::size_t end = node.end;
    while (begin < end) {
      if (static_cast<double>(data_.At(samples_[begin], split.feature)) <= split.threshold) {
        ++begin;
      } else {
        --end;
        std::swap(samples_[begin], samples_[end]);
      }
    }
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
      if (!Scan(node, split.feature, low, high)) {
        std::swap(features_[j], features_[total]);
        ++found;
        ++total;
        continue;
      }
      --open_end;
      std::swap(features_[open_end], features_[j]);
      split.threshold = random_.Uniform(static_cast<double>(low), static_cast<double>(high));
      if (split.threshold == static_cast<double>(high)) split.threshold = static_cast<double>(low);
      split.position = PartitionValues(node, split.threshold);
      const std::size_t n_left = split.position - node.start;
      const std::size_t n_right = node.end - split.position;
      const auto min_leaf = static_cast<std::size_t>(options_.min_samples_leaf);
      if (n_left < min_leaf || n_right < min_leaf) continue;
      Impurities(node, split.position, split.impurity_left, split.impurity_right);
      const double proxy = -static_cast<double>(n_right) * split.impurity_right -
                           static_cast<double>(n_left) * split.impurity_left;
      if (proxy > best_proxy) {
        best_proxy = proxy;
        best = split;
      }
    }
    if (best.position < node.end && last_feature != best.feature) PartitionFinal(node, best);
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
    made.impurity = node.impurity;
    if (leaf) {
      made.value = LeafValue(made.samples);
    } else {
      made.feature = static_cast<std::int32_t>(split.feature);
      made.threshold = split.threshold;
    }
    tree_.nodes.push_back(made);
    if (node.parent >= 0) {
      TreeNode& parent = tree_.nodes[static_cast<std::size_t>(node.parent)];
      (node.is_left ? parent.left : parent.right) = at;
    }
    return at;
  }

  std::uint32_t LeafValue(std::uint32_t n) {
    for (std::uint32_t c = 0; c < total_.size(); ++c) {
      if (static_cast<std::uint32_t>(total_[c]) == n) return c;
    }
    const std::size_t row = tree_.leaf_counts.size() / total_.size();
    for (const double count : total_) {
      tree_.leaf_counts.push_back(static_cast<std::uint32_t>(count));
    }
    return kMixed | static_cast<std::uint32_t>(row);
  }

  const Matrix data_;
  std::span<const std::uint32_t> labels_;
  const ForestOptions& options_;
  std::size_t max_features_;
  int min_split_;
  XorShift random_;
  std::vector<std::uint32_t> samples_;
  std::vector<std::size_t> features_, constants_;
  std::vector<float> values_;
  std::vector<double> total_, left_;
  Tree tree_;
};

void CheckFinite(const FeatureMatrix& data) {
  for (std::size_t i = 0; i < data.rows * data.columns; ++i) {
    if (std::isfinite(data.values[i])) continue;
    throw std::invalid_argument("value at row " + std::to_string(i / data.columns) + ", column " +
                                std::to_string(i % data.columns) +
                                " is missing or infinite: impute it before training");
  }
}

std::vector<float> ByColumns(const FeatureMatrix& data) {
  std::vector<float> columns(data.rows * data.columns);
  tbb::parallel_for(std::size_t{0}, data.columns, [&](std::size_t f) {
    for (std::size_t i = 0; i < data.rows; ++i) {
      columns[f * data.rows + i] = data.values[i * data.columns + f];
    }
  });
  return columns;
}

void CheckRule(const ForestOptions& options) {
  if (options.bootstrap)
    throw std::invalid_argument("the baseline grows on all rows: no bootstrap");
  if (options.constant_rule != ConstantRule::kScikitLearn) {
    throw std::invalid_argument("the baseline knows the scikit-learn rule alone");
  }
  if (options.seed > 0xFFFFFFFFull) {
    throw std::invalid_argument("scikit-learn's random_state is at most 2^32 - 1");
  }
}

}  // namespace

std::unique_ptr<FittedForest> ScikitLearnExtraTrees::fit(const FeatureMatrix& data,
                                                         std::span<const std::uint32_t> labels,
                                                         const ForestOptions& options) {
  CheckRule(options);
  Forest forest;
  forest.classes = CheckTraining(data, labels, options);
  CheckFinite(data);
  forest.columns = data.columns;
  forest.trees.resize(static_cast<std::size_t>(options.n_trees));
  std::mt19937 forest_random(static_cast<std::uint32_t>(options.seed));
  std::vector<std::uint32_t> seeds;
  for (int t = 0; t < options.n_trees; ++t) {
    std::mt19937 tree_random(RandInt31(forest_random));
    seeds.push_back(RandInt31(tree_random));
  }
  tbb::task_arena arena(threads_ > 0 ? threads_ : tbb::task_arena::automatic);
  arena.execute([&] {
    Matrix matrix{data.values, data.columns, 1, data.rows, data.columns};
    std::vector<float> columns;
    if (layout_ == Layout::kColumns) {
      columns = ByColumns(data);
      matrix = {columns.data(), 1, data.rows, data.rows, data.columns};
    }
    tbb::parallel_for(std::size_t{0}, forest.trees.size(), [&](std::size_t t) {
      forest.trees[t] = Grower(matrix, labels, forest.classes, options, seeds[t]).Grow();
    });
  });
  return std::make_unique<HostForest>(std::move(forest));
}

RETABLE_REGISTER(ForestTrainer, scikit_learn,
                 {.name = "scikit-learn",
                  .device = Device::kCpu,
                  .summary = "ExtraTrees by scikit-learn's rules and random numbers, in C++",
                  .citation = "Pedregosa et al. 2011 (behaviour of 1.9.1)",
                  .parameters = {{"layout", std::string("rows"), "rows or columns"},
                                 {"threads", std::int64_t{0}, "threads; 0: all"}},
                  .make = [](const Parameters& p) -> std::unique_ptr<ForestTrainer> {
                    const std::string layout = TextParameter(p, "layout", "rows");
                    if (layout != "rows" && layout != "columns") {
                      throw std::invalid_argument("layout is rows or columns, not " + layout);
                    }
                    return std::make_unique<ScikitLearnExtraTrees>(
                        layout == "rows" ? Layout::kRows : Layout::kColumns,
                        static_cast<int>(IntegerParameter(p, "threads", 0)));
                  }});

}  // namespace retable::extratrees

#include "experiments/shapley/boosted_trees.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace retable::experiments {
namespace {

using retable::treeshap::RowBlock;
using retable::treeshap::Tree;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeNode;

struct Gradient {
  double first = 0, second = 0;
  Gradient& operator+=(const Gradient& g) {
    first += g.first;
    second += g.second;
    return *this;
  }
};

struct Split {
  double gain = 0;
  std::int32_t feature = -1;
  float threshold = 0;
};

// A threshold t with low < t <= high, so that x < t parts them.
float Between(float low, float high) {
  const float middle = low + (high - low) / 2;
  return middle > low ? middle : high;
}

class Trainer {
 public:
  Trainer(const RowBlock& rows, std::span<const float> targets, const BoostingOptions& options)
      : rows_(rows), targets_(targets), options_(options), gradient_(rows.rows) {
    Check();
    presorted_.resize(rows.columns);
    for (std::size_t f = 0; f < rows.columns; ++f) {
      presorted_[f].resize(rows.rows);
      std::iota(presorted_[f].begin(), presorted_[f].end(), 0u);
      std::stable_sort(presorted_[f].begin(), presorted_[f].end(),
                       [&](std::uint32_t a, std::uint32_t b) { return At(a, f) < At(b, f); });
    }
  }

  TreeEnsemble Train() {
    TreeEnsemble model;
    model.features = static_cast<std::int32_t>(rows_.columns);
    model.base_score = {Start()};
    margin_.assign(rows_.rows, model.base_score[0]);
    for (int round = 0; round < options_.rounds; ++round) {
      SetGradients();
      order_ = presorted_;
      tree_ = Tree{};
      Grow(0, rows_.rows, options_.depth);
      model.trees.push_back(tree_);
    }
    return model;
  }

 private:
  void Check() const {
    if (rows_.rows == 0 || targets_.size() != rows_.rows) {
      throw std::invalid_argument("boosting needs rows and as many targets");
    }
    const auto finite = [](float x) { return std::isfinite(x); };
    if (!std::all_of(rows_.values.begin(), rows_.values.end(), finite) ||
        !std::all_of(targets_.begin(), targets_.end(), finite)) {
      throw std::invalid_argument("boosting here takes no missing values: drop or fill them");
    }
    const auto binary = [](float y) { return y == 0 || y == 1; };
    if (options_.logistic && !std::all_of(targets_.begin(), targets_.end(), binary)) {
      throw std::invalid_argument("logistic boosting takes targets 0 and 1");
    }
  }

  float At(std::uint32_t row, std::size_t f) const { return rows_.values[row * rows_.columns + f]; }

  // Logistic: margin zero, XGBoost's base score of one half; squared error: the mean.
  double Start() const {
    if (options_.logistic) return 0;
    return std::accumulate(targets_.begin(), targets_.end(), 0.0) /
           static_cast<double>(targets_.size());
  }

  void SetGradients() {
    for (std::size_t i = 0; i < rows_.rows; ++i) {
      const double y = targets_[i];
      if (options_.logistic) {
        const double p = 1 / (1 + std::exp(-margin_[i]));
        gradient_[i] = {p - y, std::max(p * (1 - p), 1e-16)};
      } else {
        gradient_[i] = {margin_[i] - y, 1};
      }
    }
  }

  double Score(const Gradient& g) const { return g.first * g.first / (g.second + options_.lambda); }

  Split Best(std::size_t from, std::size_t to, const Gradient& all) const {
    Split best;
    best.gain = 1e-6;  // nothing to win: a leaf
    for (std::size_t f = 0; f < rows_.columns; ++f) {
      const auto& order = order_[f];
      Gradient left;
      for (std::size_t k = from; k + 1 < to; ++k) {
        left += gradient_[order[k]];
        const float low = At(order[k], f), high = At(order[k + 1], f);
        if (!(low < high)) continue;
        const Gradient right{all.first - left.first, all.second - left.second};
        if (left.second < options_.min_child_weight || right.second < options_.min_child_weight) {
          continue;
        }
        const double gain = Score(left) + Score(right) - Score(all);
        if (gain > best.gain) best = {gain, static_cast<std::int32_t>(f), Between(low, high)};
      }
    }
    return best;
  }

  // Grows the node of the rows at places from..to of every order; returns its index.
  std::int32_t Grow(std::size_t from, std::size_t to, int depth) {
    const auto node = static_cast<std::int32_t>(tree_.nodes.size());
    tree_.nodes.emplace_back();
    Gradient all;
    for (std::size_t k = from; k < to; ++k) all += gradient_[order_[0][k]];
    const Split split = depth > 0 ? Best(from, to, all) : Split{};
    tree_.nodes[static_cast<std::size_t>(node)].cover = static_cast<double>(to - from);
    if (split.feature < 0) {
      const double value = -options_.learning_rate * all.first / (all.second + options_.lambda);
      tree_.nodes[static_cast<std::size_t>(node)].value = value;
      for (std::size_t k = from; k < to; ++k) margin_[order_[0][k]] += value;
      return node;
    }
    const auto f = static_cast<std::size_t>(split.feature);
    std::size_t middle = from;
    for (auto& order : order_) {
      const auto begin = order.begin();
      const auto end = std::stable_partition(
          begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to),
          [&](std::uint32_t row) { return At(row, f) < split.threshold; });
      middle = static_cast<std::size_t>(end - begin);
    }
    const std::int32_t left = Grow(from, middle, depth - 1);
    const std::int32_t right = Grow(middle, to, depth - 1);
    TreeNode& inner = tree_.nodes[static_cast<std::size_t>(node)];
    inner.feature = split.feature;
    inner.threshold = split.threshold;
    inner.left = left;
    inner.right = right;
    return node;
  }

  RowBlock rows_;
  std::span<const float> targets_;
  BoostingOptions options_;
  std::vector<Gradient> gradient_;
  std::vector<double> margin_;
  std::vector<std::vector<std::uint32_t>> presorted_, order_;
  Tree tree_;
};

}  // namespace

TreeEnsemble TrainBoostedTrees(const RowBlock& rows, std::span<const float> targets,
                               const BoostingOptions& options) {
  return Trainer(rows, targets, options).Train();
}

}  // namespace retable::experiments

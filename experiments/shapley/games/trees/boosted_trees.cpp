#include "experiments/shapley/games/trees/boosted_trees.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
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
  Gradient operator-(const Gradient& g) const { return {first - g.first, second - g.second}; }
};

struct Split {
  double gain = 0;
  std::int32_t feature = -1;
  std::size_t bin = 0;  // the last one that goes left
};

// A threshold t with low < t <= high, so that x < t parts them.
float Between(float low, float high) {
  const float middle = low + (high - low) / 2;
  return middle > low ? middle : high;
}

// Every column in at most 256 bins, and every row as the bins that are not its columns' commonest:
// of a one-hot column, mostly nothing.
class Binned {
 public:
  explicit Binned(const RowBlock& rows) : rows_(rows.rows), codes_(rows.rows * rows.columns) {
    std::vector<std::uint8_t> commonest(rows.columns);
    for (std::size_t f = 0; f < rows.columns; ++f) {
      std::vector<float> values(rows.rows);
      for (std::size_t i = 0; i < rows.rows; ++i) values[i] = rows.values[i * rows.columns + f];
      cuts_.push_back(Cuts(values));
      first_.push_back(first_.back() + cuts_[f].size() + 1);
      std::vector<std::size_t> counts(cuts_[f].size() + 1, 0);
      for (std::size_t i = 0; i < rows.rows; ++i) {
        const auto at = std::upper_bound(cuts_[f].begin(), cuts_[f].end(), values[i]);
        codes_[f * rows_ + i] = static_cast<std::uint8_t>(at - cuts_[f].begin());
        ++counts[codes_[f * rows_ + i]];
      }
      commonest[f] = static_cast<std::uint8_t>(std::max_element(counts.begin(), counts.end()) -
                                               counts.begin());
      commonest_.push_back(first_[f] + commonest[f]);
    }
    for (std::size_t i = 0; i < rows.rows; ++i) {
      for (std::size_t f = 0; f < rows.columns; ++f) {
        if (code(i, f) == commonest[f]) continue;
        entries_.push_back(static_cast<std::uint32_t>(first_[f] + code(i, f)));
      }
      row_end_.push_back(entries_.size());
    }
  }

  std::size_t features() const { return cuts_.size(); }
  std::size_t bins() const { return first_.back(); }
  std::size_t first_bin(std::size_t f) const { return first_[f]; }
  std::size_t commonest_bin(std::size_t f) const { return commonest_[f]; }
  float cut(std::size_t f, std::size_t after) const { return cuts_[f][after]; }
  std::uint8_t code(std::size_t row, std::size_t f) const { return codes_[f * rows_ + row]; }
  std::span<const std::uint32_t> entries(std::size_t row) const {
    return std::span(entries_).subspan(row_end_[row], row_end_[row + 1] - row_end_[row]);
  }

 private:
  // Between all neighbours where there are at most 256 values, else at 255 quantiles.
  static std::vector<float> Cuts(std::vector<float> values) {
    std::sort(values.begin(), values.end());
    std::vector<float> distinct;
    std::unique_copy(values.begin(), values.end(), std::back_inserter(distinct));
    std::vector<float> cuts;
    const auto cut_below = [&](std::size_t k) {
      const float cut = Between(distinct[k - 1], distinct[k]);
      if (cuts.empty() || cuts.back() < cut) cuts.push_back(cut);
    };
    if (distinct.size() <= kBins) {
      for (std::size_t k = 1; k < distinct.size(); ++k) cut_below(k);
      return cuts;
    }
    for (std::size_t q = 1; q < kBins; ++q) {
      const float at = values[q * values.size() / kBins];
      const auto k = static_cast<std::size_t>(
          std::lower_bound(distinct.begin(), distinct.end(), at) - distinct.begin());
      if (k > 0) cut_below(k);
    }
    return cuts;
  }

  static constexpr std::size_t kBins = 256;
  std::size_t rows_;
  std::vector<std::vector<float>> cuts_;
  std::vector<std::size_t> first_ = {0}, commonest_;
  std::vector<std::uint8_t> codes_;  // column-major
  std::vector<std::uint32_t> entries_;
  std::vector<std::size_t> row_end_ = {0};
};

using Histogram = std::vector<Gradient>;

class BoostedTreeTrainer {
 public:
  BoostedTreeTrainer(const RowBlock& rows, std::span<const float> targets,
                     const BoostingOptions& options)
      : targets_(targets), options_(options), gradient_(rows.rows) {
    CheckTraining(rows, targets, options.logistic);
    binned_.emplace(rows);
  }

  TreeEnsemble Train() {
    TreeEnsemble model;
    model.features = static_cast<std::int32_t>(binned_->features());
    model.base_score = {Start()};
    margin_.assign(targets_.size(), model.base_score[0]);
    order_.resize(targets_.size());
    for (int round = 0; round < options_.rounds; ++round) {
      SetGradients();
      std::iota(order_.begin(), order_.end(), 0u);
      tree_ = Tree{};
      Grow(order_, Sum(order_), MakeHistogram(order_, Sum(order_)), options_.depth);
      model.trees.push_back(tree_);
    }
    return model;
  }

 private:
  // Logistic: margin zero, XGBoost's base score of one half; squared error: the mean.
  double Start() const {
    if (options_.logistic) return 0;
    return std::accumulate(targets_.begin(), targets_.end(), 0.0) /
           static_cast<double>(targets_.size());
  }

  void SetGradients() {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const double y = targets_[i];
      if (options_.logistic) {
        const double p = 1 / (1 + std::exp(-margin_[i]));
        gradient_[i] = {p - y, std::max(p * (1 - p), 1e-16)};
      } else {
        gradient_[i] = {margin_[i] - y, 1};
      }
    }
  }

  Gradient Sum(std::span<const std::uint32_t> rows) const {
    Gradient all;
    for (const std::uint32_t row : rows) all += gradient_[row];
    return all;
  }

  // A commonest bin has what the others of its feature leave.
  Histogram MakeHistogram(std::span<const std::uint32_t> rows, const Gradient& all) const {
    Histogram bins(binned_->bins());
    for (const std::uint32_t row : rows) {
      for (const std::uint32_t bin : binned_->entries(row)) bins[bin] += gradient_[row];
    }
    for (std::size_t f = 0; f < binned_->features(); ++f) {
      Gradient others;
      for (std::size_t b = binned_->first_bin(f); b < binned_->first_bin(f + 1); ++b) {
        others += bins[b];
      }
      bins[binned_->commonest_bin(f)] = all - others;
    }
    return bins;
  }

  double Score(const Gradient& g) const { return g.first * g.first / (g.second + options_.lambda); }

  Split Best(const Histogram& bins, const Gradient& all) const {
    Split best;
    best.gain = 1e-6;  // nothing to win: a leaf
    for (std::size_t f = 0; f < binned_->features(); ++f) {
      const std::size_t first = binned_->first_bin(f), end = binned_->first_bin(f + 1);
      Gradient left;
      for (std::size_t b = first; b + 1 < end; ++b) {
        left += bins[b];
        const Gradient right = all - left;
        if (left.second < options_.min_child_weight || right.second < options_.min_child_weight) {
          continue;
        }
        const double gain = Score(left) + Score(right) - Score(all);
        if (gain > best.gain) best = {gain, static_cast<std::int32_t>(f), b - first};
      }
    }
    return best;
  }

  // Grows the node of these rows; returns its index.
  std::int32_t Grow(std::span<std::uint32_t> rows, const Gradient& all, const Histogram& bins,
                    int depth) {
    const auto node = static_cast<std::int32_t>(tree_.nodes.size());
    tree_.nodes.emplace_back();
    tree_.nodes.back().cover = static_cast<double>(rows.size());
    const Split split = depth > 0 ? Best(bins, all) : Split{};
    if (split.feature < 0) {
      const double value = -options_.learning_rate * all.first / (all.second + options_.lambda);
      tree_.nodes.back().value = value;
      for (const std::uint32_t row : rows) margin_[row] += value;
      return node;
    }
    const auto f = static_cast<std::size_t>(split.feature);
    const auto middle = std::stable_partition(rows.begin(), rows.end(), [&](std::uint32_t row) {
      return binned_->code(row, f) <= split.bin;
    });
    const auto left_rows = static_cast<std::size_t>(middle - rows.begin());
    const std::span<std::uint32_t> side[2] = {rows.first(left_rows), rows.subspan(left_rows)};
    // Rows of the smaller side are read, the other is what remains.
    const int small = side[0].size() <= side[1].size() ? 0 : 1;
    Gradient sum[2];
    sum[small] = Sum(side[small]);
    sum[1 - small] = all - sum[small];
    Histogram part[2];
    if (depth > 1) {
      part[small] = MakeHistogram(side[small], sum[small]);
      part[1 - small] = bins;
      for (std::size_t b = 0; b < bins.size(); ++b) {
        part[1 - small][b] = bins[b] - part[small][b];
      }
    }
    const std::int32_t left = Grow(side[0], sum[0], part[0], depth - 1);
    const std::int32_t right = Grow(side[1], sum[1], part[1], depth - 1);
    TreeNode& inner = tree_.nodes[static_cast<std::size_t>(node)];
    inner.feature = split.feature;
    inner.threshold = binned_->cut(f, split.bin);
    inner.left = left;
    inner.right = right;
    return node;
  }

  std::span<const float> targets_;
  BoostingOptions options_;
  std::optional<Binned> binned_;
  std::vector<Gradient> gradient_;
  std::vector<double> margin_;
  std::vector<std::uint32_t> order_;
  Tree tree_;
};

}  // namespace

void CheckTraining(const RowBlock& rows, std::span<const float> targets, bool logistic) {
  if (rows.rows == 0 || rows.columns == 0 || targets.size() != rows.rows) {
    throw std::invalid_argument("training needs rows of features and as many targets");
  }
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(rows.values.begin(), rows.values.end(), finite) ||
      !std::all_of(targets.begin(), targets.end(), finite)) {
    throw std::invalid_argument("training here takes no missing or infinite values: drop or fill");
  }
  const auto binary = [](float y) { return y == 0 || y == 1; };
  if (logistic && !std::all_of(targets.begin(), targets.end(), binary)) {
    throw std::invalid_argument("logistic loss takes targets 0 and 1");
  }
}

TreeEnsemble TrainBoostedTrees(const RowBlock& rows, std::span<const float> targets,
                               const BoostingOptions& options) {
  return BoostedTreeTrainer(rows, targets, options).Train();
}

}  // namespace retable::experiments

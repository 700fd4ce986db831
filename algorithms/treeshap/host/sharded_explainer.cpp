#include "algorithms/treeshap/host/sharded_explainer.hpp"

#include <algorithm>
#include <functional>
#include <future>

#include "algorithms/common/require.hpp"

namespace retable::treeshap {

namespace {

class ShardedExplainer final : public TreeExplainer {
 public:
  explicit ShardedExplainer(std::vector<std::unique_ptr<TreeExplainer>> parts)
      : parts_(std::move(parts)) {}

  void prepare(const TreeEnsemble& model) override {
    shape_ = {.features = model.features, .groups = model.groups};
    Each([&](std::size_t i) { parts_[i]->prepare(model); });
  }

  void write_values(const RowBlock& rows, std::span<double> phi) override {
    Split(rows, phi, ValuesPerRow(shape_), &TreeExplainer::values_to);
  }

  void write_interactions(const RowBlock& rows, std::span<double> matrices) override {
    Split(rows, matrices, InteractionsPerRow(shape_), &TreeExplainer::interactions_to);
  }

  //! Of each part: they work at the same time.
  std::vector<Work> work(const TreeEnsemble& model, std::size_t rows,
                         bool interactions) const override {
    return parts_[0]->work(model, rows / parts_.size(), interactions);
  }

  //! The slowest share's.
  double device_seconds() const override {
    double most = parts_[0]->device_seconds();
    for (const auto& part : parts_) most = std::max(most, part->device_seconds());
    return most;
  }

 private:
  // Runs body(i) for every part at once, the first here and each other on a thread of its own; the
  // first exception is thrown on, when all have ended.
  void Each(const std::function<void(std::size_t)>& body) {
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      others.push_back(std::async(std::launch::async, body, i));
    }
    body(0);
    for (auto& other : others) other.get();
  }

  // Each part writes its rows' results where they belong.
  void Split(const RowBlock& rows, std::span<double> results, std::size_t per_row,
             void (TreeExplainer::*explain)(const RowBlock&, std::span<double>)) {
    Each([&](std::size_t i) {
      const std::size_t begin = rows.rows * i / parts_.size();
      const std::size_t count = rows.rows * (i + 1) / parts_.size() - begin;
      (parts_[i].get()->*explain)(rows.slice(begin, count),
                                  results.subspan(begin * per_row, count * per_row));
    });
  }

  std::vector<std::unique_ptr<TreeExplainer>> parts_;
};

}  // namespace

std::unique_ptr<TreeExplainer> ShardRows(std::vector<std::unique_ptr<TreeExplainer>> explainers) {
  Require(!explainers.empty(), "no explainer to share rows among");
  if (explainers.size() == 1) return std::move(explainers.front());
  return std::make_unique<ShardedExplainer>(std::move(explainers));
}

}  // namespace retable::treeshap

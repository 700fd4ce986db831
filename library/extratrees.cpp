#include "retable/extratrees.hpp"

#include <algorithm>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/model/binary.hpp"
#include "algorithms/extratrees/model/json.hpp"
#include "algorithms/extratrees/model/xgboost_export.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/on_device.hpp"
#include "base/parallel.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/extratrees/frontier/cuda/device_votes.hpp"
#endif

namespace retable {

struct Forest::State {
  State(extratrees::Forest grown, std::string where)
      : forest(std::move(grown)), device(std::move(where)) {}

  extratrees::Forest forest;
  std::string device;
#if defined(RETABLE_HAS_CUDA)
  mutable std::mutex mutex;
  mutable std::unique_ptr<extratrees::DeviceVotes> votes;
#endif
};

Forest::Forest(std::shared_ptr<const State> state) : state_(std::move(state)) {}

namespace {

// The trainer for the device asked for, and where it works.
std::pair<std::unique_ptr<extratrees::ForestTrainer>, std::string> MakeTrainer(
    const ForestOptions& options) {
  if (options.device != "auto" && options.device != "cpu" && options.device != "cuda") {
    throw std::invalid_argument("device is \"" + options.device + "\"; there are auto, cpu, cuda");
  }
  if (options.threads < 0) throw std::invalid_argument("threads is negative; 0 takes all");
  const auto& registry = Registry<extratrees::ForestTrainer>::Instance();
  if (options.device == "cuda" && !HasCudaDevice()) {
    throw std::invalid_argument("no CUDA device answers here: use device \"cpu\" or \"auto\"");
  }
  if (options.device == "cuda" || (options.device == "auto" && HasCudaDevice())) {
    return {registry.Make("frontier", Device::kCuda, {}), "cuda"};
  }
  return {registry.Make("frontier", Device::kCpu,
                        {{"threads", static_cast<std::int64_t>(options.threads)}}),
          "cpu"};
}

void CheckValues(const Rows& x) {
  if (x.values == nullptr && x.rows > 0 && x.columns > 0) {
    throw std::invalid_argument("the rows are null but not empty");
  }
}

std::pair<extratrees::Forest, std::string> Fit(const Rows& x, const extratrees::Targets& targets,
                                               const ForestOptions& options) {
  const extratrees::ForestOptions inner{
      .n_trees = options.trees,
      .max_depth = options.max_depth,
      .min_samples_split = options.min_samples_split,
      .min_samples_leaf = options.min_samples_leaf,
      .max_features = options.max_features,
      .max_leaf_nodes = options.max_leaf_nodes,
      .min_weight_fraction_leaf = options.min_weight_fraction_leaf,
      .min_impurity_decrease = options.min_impurity_decrease,
      .bootstrap = options.bootstrap,
      .seed = options.seed};
  CheckValues(x);
  auto [trainer, device] = MakeTrainer(options);
  const auto fitted = trainer->fit({x.values, x.rows, x.columns}, targets, inner);
  return {std::move(fitted->host()), device};
}

// The rows of a call of a forest, its threads, and the room for its results.
void CheckCall(const Rows& x, std::size_t columns, int threads, std::size_t results,
               std::size_t per_row) {
  if (x.columns != columns) {
    throw std::invalid_argument("rows of " + std::to_string(x.columns) +
                                " features for a forest of " + std::to_string(columns));
  }
  CheckValues(x);
  if (threads < 0) throw std::invalid_argument("threads is negative; 0 takes all");
  if (results % per_row != 0 || results / per_row != x.rows) {
    throw std::invalid_argument("the results need room for " + std::to_string(per_row) +
                                " numbers of each of " + std::to_string(x.rows) + " rows, not " +
                                std::to_string(results));
  }
}

}  // namespace

Forest Forest::FitClasses(const Rows& x, std::span<const std::uint32_t> labels,
                          std::span<const double> weights, const ForestOptions& options) {
  auto [forest, device] = Fit(x, extratrees::Targets(labels, weights), options);
  return Forest(std::make_shared<const State>(std::move(forest), device));
}

Forest Forest::FitTargets(const Rows& x, std::span<const double> targets,
                          std::span<const double> weights, const ForestOptions& options) {
  if (targets.empty()) throw std::invalid_argument("no targets: a forest needs at least one row");
  auto [forest, device] = Fit(x, extratrees::Targets::Regression(targets, weights), options);
  return Forest(std::make_shared<const State>(std::move(forest), device));
}

std::size_t Forest::columns() const {
  return state_->forest.columns;
}

int Forest::outputs() const {
  return static_cast<int>(state_->forest.classes);
}

bool Forest::regression() const {
  return state_->forest.regression;
}

std::size_t Forest::trees() const {
  return state_->forest.trees.size();
}

TreeArrays Forest::tree(std::size_t t) const {
  if (t >= trees())
    throw std::out_of_range("tree " + std::to_string(t) + " of " + std::to_string(trees()));
  const extratrees::Tree& tree = state_->forest.trees[t];
  const std::size_t outputs = state_->forest.classes;
  TreeArrays arrays;
  arrays.value.resize(tree.nodes.size() * outputs);
  for (const extratrees::TreeNode& node : tree.nodes) {
    arrays.feature.push_back(node.feature);
    arrays.left.push_back(node.left);
    arrays.right.push_back(node.right);
    arrays.threshold.push_back(node.threshold);
    arrays.impurity.push_back(node.impurity);
    arrays.weight.push_back(node.weight);
    arrays.samples.push_back(node.samples);
    arrays.missing_left.push_back(node.missing_left ? 1 : 0);
  }
  // From the back: children stand behind their parents.
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    const extratrees::TreeNode& node = tree.nodes[i];
    double* value = &arrays.value[i * outputs];
    for (std::size_t c = 0; c < outputs; ++c) {
      if (node.feature < 0) {
        value[c] = tree.LeafValue(node, static_cast<std::uint32_t>(c), state_->forest.classes);
        continue;
      }
      const auto l = static_cast<std::size_t>(node.left), r = static_cast<std::size_t>(node.right);
      value[c] = (arrays.weight[l] * arrays.value[l * outputs + c] +
                  arrays.weight[r] * arrays.value[r * outputs + c]) /
                 (arrays.weight[l] + arrays.weight[r]);
    }
  }
  return arrays;
}

void Forest::predict(const Rows& x, std::span<double> results, int threads) const {
  CheckCall(x, columns(), threads, results.size(), state_->forest.classes);
  WithThreads(threads, [&] { state_->forest.PredictProba(x.values, x.rows, results.data()); });
}

void Forest::predict_on_device([[maybe_unused]] const float* x, [[maybe_unused]] std::size_t rows,
                               [[maybe_unused]] double* results,
                               [[maybe_unused]] void* stream) const {
  const OnDevice current;
#if defined(RETABLE_HAS_CUDA)
  const std::lock_guard guard(state_->mutex);
  if (state_->votes == nullptr) {
    state_->votes = std::make_unique<extratrees::DeviceVotes>(state_->forest);
  }
  state_->votes->PredictProba(x, rows, results, stream);
#endif
}

void Forest::apply(const Rows& x, std::span<std::int64_t> leaves, int threads) const {
  CheckCall(x, columns(), threads, leaves.size(), trees());
  constexpr std::size_t kRows = 256;
  ParallelBlocks(x.rows, kRows, threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    std::uint32_t found[kRows];
    for (std::size_t t = 0; t < trees(); ++t) {
      state_->forest.Leaves(t, x.values + begin * x.columns, count, found);
      for (std::size_t i = 0; i < count; ++i) leaves[(begin + i) * trees() + t] = found[i];
    }
  });
}

std::vector<double> Forest::feature_importances() const {
  return state_->forest.FeatureImportances();
}

std::vector<std::byte> Forest::to_bytes() const {
  return extratrees::WriteForestBytes(state_->forest);
}

Forest Forest::from_bytes(std::span<const std::byte> bytes) {
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return Forest(std::make_shared<const State>(extratrees::ReadForest(content), "cpu"));
}

std::string Forest::to_json() const {
  std::ostringstream out;
  extratrees::WriteForestJson(state_->forest, out);
  return out.str();
}

std::string Forest::to_xgboost(const std::vector<std::string>& feature_names) const {
  std::ostringstream out;
  extratrees::WriteXgboostJson(state_->forest, out, feature_names);
  return out.str();
}

const std::string& Forest::device() const {
  return state_->device;
}

}  // namespace retable

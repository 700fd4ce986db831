#include "experiments/extratrees/peers/external_trainer.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "algorithms/extratrees/model/binary.hpp"
#include "experiments/common/external_method.hpp"

namespace retable::experiments::forests {

using extratrees::FeatureMatrix;
using extratrees::FittedForest;
using extratrees::Forest;
using extratrees::ForestOptions;
using extratrees::ForestTrainer;
using extratrees::Targets;

namespace {

// By scikit-learn's names; what is not given has its default there.
nlohmann::json NamedOptions(const ForestOptions& options) {
  nlohmann::json named{{"n_estimators", options.n_trees},
                       {"min_samples_split", options.min_samples_split},
                       {"min_samples_leaf", options.min_samples_leaf},
                       {"min_weight_fraction_leaf", options.min_weight_fraction_leaf},
                       {"min_impurity_decrease", options.min_impurity_decrease},
                       {"bootstrap", options.bootstrap},
                       {"random_state", options.seed}};
  if (options.max_depth > 0) named["max_depth"] = options.max_depth;
  if (options.max_features > 0) named["max_features"] = options.max_features;
  if (options.max_leaf_nodes > 0) named["max_leaf_nodes"] = options.max_leaf_nodes;
  return named;
}

Method<ForestTrainer> External(Device device) {
  auto method =
      ExternalMethod<ForestTrainer>([device](const std::string& command, const Parameters& p) {
        return std::make_unique<ExternalTrainer>(command, DeviceName(device),
                                                 IntParameter(p, "threads", 0));
      });
  method.device = device;
  method.parameters.push_back({"threads", std::int64_t{0}, "processor threads; 0: all"});
  return method;
}

RETABLE_REGISTER(ForestTrainer, external_cpu, (External(Device::kCpu)));
RETABLE_REGISTER(ForestTrainer, external_cuda, (External(Device::kCuda)));

}  // namespace

std::unique_ptr<FittedForest> ExternalTrainer::fit(const FeatureMatrix& data,
                                                   const Targets& targets,
                                                   const ForestOptions& options) {
  const std::uint32_t classes = CheckTraining(data, targets, options);
  if (options.constant_rule != extratrees::ConstantRule::kScikitLearn) {
    throw std::invalid_argument("a program in another language knows scikit-learn's rule alone");
  }
  const std::vector<double> y =
      targets.regression() ? std::vector<double>(targets.values.begin(), targets.values.end())
                           : std::vector<double>(targets.labels.begin(), targets.labels.end());
  program_.Load({{"task", "extratrees"},
                 {"device", device_},
                 {"threads", threads_},
                 {"regression", targets.regression()},
                 {"options", NamedOptions(options)}},
                {{"x",
                  "float32",
                  {data.rows, data.columns},
                  std::as_bytes(std::span(data.values, data.rows * data.columns))},
                 {"y", "float64", {y.size()}, std::as_bytes(std::span(y))},
                 {"weights", "float64", {targets.weights.size()}, std::as_bytes(targets.weights)}});
  const auto begun = std::chrono::steady_clock::now();
  program_.Run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  const auto answer = program_.Answer({});
  if (answer.size() != 1 || answer[0].type != "uint8") {
    throw std::runtime_error("the answer to \"extratrees\" is one uint8 array, a forest's bytes");
  }
  Forest forest = extratrees::ReadForestBytes(answer[0].bytes);
  const Forest asked = EmptyForest(data, targets, classes, options);
  if (forest.columns != asked.columns || forest.classes != asked.classes ||
      forest.regression != asked.regression ||
      forest.trees.size() != static_cast<std::size_t>(options.n_trees)) {
    throw std::runtime_error("the answer to \"extratrees\" is a forest of other data or size");
  }
  forest.value_bits = asked.value_bits;
  auto fitted = std::make_unique<extratrees::HostForest>(std::move(forest));
  fitted->own_seconds = took.count();
  fitted->parts = {{"fit by " + program_.description(), 1, took.count()}};
  return fitted;
}

}  // namespace retable::experiments::forests

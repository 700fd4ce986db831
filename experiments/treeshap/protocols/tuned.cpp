//! @file
//! What `retable tune treeshap` measures: values of a synthetic model for numbers of rows around
//! those at which the kernel's blocks change.

#include <memory>

#include "algorithms/treeshap/quadrature/cuda/tuning.cuh"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "harness/tune/sweep.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;

std::vector<harness::TuneTask> Tasks() {
  constexpr SyntheticShape kShape{.trees = 200, .depth = 8, .features = 50};
  constexpr std::size_t kRows = 16384;
  const std::shared_ptr<TreeExplainer> explainer =
      Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCuda, {});
  explainer->prepare(SyntheticEnsemble(kShape, 1));
  const auto rows = std::make_shared<std::vector<float>>(SyntheticRows(kShape, kRows, 2));
  return {{kRowsOfWideBlocks, [=] {
             double cost = 0;  // microseconds a row, added over the sizes
             for (std::size_t n = 512; n <= kRows; n *= 2) {
               explainer->values({std::span(*rows).first(n * kShape.features), n, kShape.features});
               cost += explainer->device_seconds() / static_cast<double>(n) * 1e6;
             }
             return cost;
           }}};
}

const harness::TuneRegistration registered({"treeshap", Tasks});

}  // namespace
}  // namespace retable::experiments::treeshap

// Every CUDA explainer on a device whose calls fail, one after the other.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/faults_testing.hpp"

namespace retable::treeshap {
namespace {

TEST(CudaFaults, OfExplainersAreReported) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  const TreeEnsemble model = RandomEnsemble(
      {.trees = 6, .features = 9, .groups = 2, .depth = 5, .categorical_probability = 0.2}, 1);
  const auto values = RandomRows(model, 50, 0.1, 2);
  const RowBlock rows = Block(model, values);
  for (const auto& method : Registry<TreeExplainer>::Instance().Methods()) {
    if (method.device != Device::kCuda) continue;
    const bool interventional = method.name == "Interventional";
    const auto prepared = [&] {
      auto explainer = method.make({});
      explainer->prepare(model);
      if (interventional) explainer->set_background(rows.slice(0, 20));
      return explainer;
    };
    cuda_faults::ExpectEveryFaultIsReported(method.name + ", values",
                                            [&] { return prepared()->values(rows); });
    if (interventional) continue;  // has no interactions
    cuda_faults::ExpectEveryFaultIsReported(method.name + ", interactions",
                                            [&] { return prepared()->interactions(rows); });
  }
}

}  // namespace
}  // namespace retable::treeshap

#endif

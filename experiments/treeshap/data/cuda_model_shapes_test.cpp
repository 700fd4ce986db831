// Quadrature on the GPU on models of the published shapes, where there is a device: every row's
// values must sum to its margin, and the published kernel must agree.

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "experiments/treeshap/data/model_shapes.hpp"
#include "harness/machine/device.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;

TEST(CudaModelShapes, ValuesSumToTheMarginAndMatchThePublishedKernel) {
  std::string why;
  if (!harness::CudaDevicePresent(&why)) GTEST_SKIP() << why;
  for (const ModelShape& shape : ModelShapes()) {
    SCOPED_TRACE(shape.name);
    const TreeEnsemble model = SyntheticEnsemble(shape.shape, 1);
    const auto values = SyntheticRows(shape.shape, 10'000, 2);
    const RowBlock rows = Block(model, values);
    const auto prepared = [&](const char* method) {
      auto explainer = Registry<TreeExplainer>::Instance().Make(method, Device::kCuda, {});
      explainer->prepare(model);
      return explainer;
    };
    const auto quadrature = prepared("Quadrature");
    const Results phi = quadrature->values(rows);
    // A margin takes as many steps as there are trees.
    const std::size_t step = std::clamp<std::size_t>(LeafCount(model) / 10'000, 1, 100);
    EXPECT_LE(AdditivityError(model, rows, phi, step), 1e-5);
    const RowBlock few = rows.slice(0, 64);
    EXPECT_LE(RelativeError(quadrature->values(few), prepared("GPUTreeShap")->values(few)), 1e-3);
  }
}

}  // namespace
}  // namespace retable::experiments::treeshap

// Interventional values against all subsets.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {
namespace {

TEST(Interventional, MatchesAllSubsets) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(seed % 7);
    options.depth = static_cast<int>(seed % 6);
    options.groups = 1 + static_cast<int>(seed % 2);
    options.categorical_probability = seed % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, seed);
    const auto columns = static_cast<std::size_t>(options.features);
    const auto values = RandomRows(model, 4, 0.2, seed);
    const auto background = RandomRows(model, 1 + seed % 5, 0.2, seed + 100);
    const RowBlock rows{values, 4, columns};
    const RowBlock others{background, 1 + seed % 5, columns};
    auto explainer = Registry<TreeExplainer>::Instance().Make("Interventional", Device::kCpu, {});
    explainer->prepare(model);
    explainer->set_background(others);
    const auto got = explainer->values(rows);
    const auto want = BruteForceInterventional(model, rows, others);
    double scale = 0;
    for (const double w : want) scale = std::max(scale, std::abs(w));
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12 * scale);
  }
}

TEST(Interventional, NeedsABackground) {
  const TreeEnsemble model = RandomEnsemble({.features = 2}, 1);
  const std::vector<float> row = {0.1f, 0.2f};
  auto explainer = Registry<TreeExplainer>::Instance().Make("Interventional", Device::kCpu, {});
  explainer->prepare(model);
  EXPECT_THROW(explainer->values({row, 1, 2}), std::logic_error);
  EXPECT_THROW(explainer->set_background({{}, 0, 2}), std::invalid_argument);
  auto quadrature = Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu, {});
  EXPECT_THROW(quadrature->set_background({row, 1, 2}), std::logic_error);
}

}  // namespace
}  // namespace retable::treeshap

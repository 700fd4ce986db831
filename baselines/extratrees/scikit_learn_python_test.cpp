#include "baselines/extratrees/scikit_learn_python.hpp"

#include <gtest/gtest.h>

namespace retable::extratrees {
namespace {

TEST(ScikitLearnPython, GrowsTheBaselinesTrees) {
  if (!WhyNoScikitLearn().empty()) GTEST_SKIP() << WhyNoScikitLearn();
  std::vector<float> x;
  std::vector<std::uint32_t> y;
  std::vector<double> weights;
  for (int i = 0; i < 80; ++i) {
    x.insert(x.end(), {static_cast<float>((i * 37) % 41), static_cast<float>((i * 11) % 13), 1.0f});
    y.push_back(static_cast<std::uint32_t>((i * 37) % 41 / 15));
    weights.push_back(1.0 + 0.5 * (i % 3));
  }
  const FeatureMatrix data{x.data(), 80, 3};
  const ForestOptions options{.n_trees = 3, .min_samples_leaf = 2, .seed = 5};
  for (const Layout layout : {Layout::kRows, Layout::kColumns}) {
    const auto theirs = ScikitLearnPython(layout, 1).fit(data, Targets(y, weights), options);
    const auto ours = ScikitLearnExtraTrees(layout, 1).fit(data, Targets(y, weights), options);
    EXPECT_GT(theirs->own_seconds.value(), 0);
    for (std::size_t t = 0; t < 3; ++t) {
      const auto& a = theirs->host().trees[t].nodes;
      const auto& b = ours->host().trees[t].nodes;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].feature, b[i].feature);
        EXPECT_EQ(a[i].threshold, b[i].threshold);
        EXPECT_EQ(a[i].weight, b[i].weight);
      }
    }
    EXPECT_EQ(theirs->predict(x.data(), 80), ours->predict(x.data(), 80));
  }
}

}  // namespace
}  // namespace retable::extratrees

#include "baselines/extratrees/python_peer.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.hpp"

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

// A path is one word for the shell.
TEST(ScikitLearnPython, ItsPathMayHoldSpacesAndQuotes) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const auto python = [&](const char* name, int status) {
    const fs::path path = folder.path() / name;
    std::ofstream(path) << "#!/bin/sh\nexit " << status << "\n";
    fs::permissions(path, fs::perms::owner_all);
    setenv("RETABLE_PYTHON", path.c_str(), 1);
    return path.string();
  };
  python("my user's python; exit 1 #", 0);
  EXPECT_EQ(WhyNoScikitLearn(), "");
  python("a broken python", 1);
  EXPECT_EQ(WhyNoScikitLearn(), "");
  const std::string bare = python("a bare $HOME python", 3);
  EXPECT_EQ(WhyNoScikitLearn().rfind(bare + " has no scikit-learn", 0), 0u) << WhyNoScikitLearn();
  unsetenv("RETABLE_PYTHON");
}

}  // namespace
}  // namespace retable::extratrees

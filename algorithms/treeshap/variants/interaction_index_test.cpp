// Interactions of any order against the definition: all subsets of the features.

#include "algorithms/treeshap/variants/interaction_index.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/treeshap/testing/adversarial_trees.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

// The sets found, laid out as brute force has them.
std::vector<double> ByBits(const TreeEnsemble& model,
                           const std::vector<std::vector<SetValue>>& found) {
  const std::size_t subsets = std::size_t{1} << model.features;
  std::vector<double> all(found.size() * subsets, 0.0);
  for (std::size_t m = 0; m < found.size(); ++m) {
    for (const SetValue& set : found[m]) {
      std::size_t bits = 0;
      for (const std::int32_t f : set.features) bits |= std::size_t{1} << f;
      all[m * subsets + bits] += set.value;
    }
  }
  return all;
}

void ExpectExact(const TreeEnsemble& model, const RowBlock& rows, const std::string& what) {
  for (int order = 1; order <= std::min(4, static_cast<int>(model.features) + 1); ++order) {
    for (const bool banzhaf : {false, true}) {
      const auto found = InteractionIndex(model, {order, banzhaf}).find(rows);
      const auto got = ByBits(model, found);
      const auto want = BruteForceIndex(model, rows, order, banzhaf);
      ASSERT_EQ(got.size(), want.size());
      double scale = 1e-300;
      for (const double v : want) scale = std::max(scale, std::abs(v));
      for (const auto& sets : found) {
        for (std::size_t i = 1; i < sets.size(); ++i) {
          EXPECT_LT(sets[i - 1].features, sets[i].features) << what;
        }
      }
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-12 * std::max(scale, 1e-3))
            << what << ", order " << order << (banzhaf ? ", Banzhaf" : "");
      }
    }
  }
}

TEST(InteractionIndex, MatchesBruteForceOnRandomEnsembles) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(seed % 6);
    options.groups = 1 + static_cast<int>(seed % 2);
    options.depth = static_cast<int>(seed % 7);
    options.trees = 3;
    options.zero_cover_probability = seed % 4 == 0 ? 0.2 : 0;
    options.categorical_probability = seed % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, 40 + seed);
    const auto values = RandomRows(model, 2, 0.15, seed);
    ExpectExact(model, {values, 2, static_cast<std::size_t>(model.features)},
                "seed " + std::to_string(seed));
  }
}

TEST(InteractionIndex, IsExactOnAdversarialTrees) {
  for (const AdversarialCase& c : AdversarialCases()) {
    if (c.model.features <= 6) ExpectExact(c.model, c.Rows().slice(0, 1), c.name);
  }
}

TEST(InteractionIndex, OfTwoIsTheMatrixTwice) {
  const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 5, .depth = 5}, 3);
  const auto values = RandomRows(model, 2, 0, 3);
  const RowBlock rows{values, 2, 5};
  const auto matrices = BruteForceInteractions(model, rows);
  const auto found = InteractionIndex(model, {.order = 2}).find(rows);
  for (std::size_t r = 0; r < found.size(); ++r) {
    EXPECT_FALSE(found[r].empty());
    for (const SetValue& set : found[r]) {
      const auto at =
          static_cast<std::size_t>(set.features[0]) * 6 + static_cast<std::size_t>(set.features[1]);
      EXPECT_NEAR(set.value, 2 * matrices[r * 36 + at], 1e-12);
    }
  }
}

TEST(InteractionIndex, RefusesWhatItCannotDo) {
  const TreeEnsemble model = RandomEnsemble({.features = 4}, 7);
  EXPECT_THROW(InteractionIndex(model, {.order = 0}), std::invalid_argument);
  const std::vector<float> values(6);
  EXPECT_THROW(InteractionIndex(model, {}).find({values, 2, 3}), std::invalid_argument);
  // No path has five of four features, and no rows have no sets.
  EXPECT_TRUE(InteractionIndex(model, {.order = 5}).find({{}, 0, 4}).empty());
  // 100 choose 50 sets on one path.
  EXPECT_THROW(InteractionIndex(ChainEnsemble(100, 100, 0.5, 1), {.order = 50}),
               std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap

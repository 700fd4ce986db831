// The search against the whole matrix, on random ensembles and on nasty ones.

#include "algorithms/treeshap/variants/top_interactions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

// Same pairs in the same order, but for those closer than rounding.
void ExpectSame(const TreeEnsemble& model, const RowBlock& rows, std::size_t k,
                const std::vector<double>& matrices, const std::string& what) {
  const auto got = TopInteractions(model, {.k = k}).find(rows);
  const auto features = static_cast<std::size_t>(model.features);
  const std::size_t size = (features + 1) * (features + 1);
  ASSERT_EQ(got.size() * size, matrices.size());
  for (std::size_t m = 0; m < got.size(); ++m) {
    const std::span<const double> matrix(matrices.data() + m * size, size);
    double scale = 0;
    for (std::size_t i = 0; i + 1 < size; ++i) scale = std::max(scale, std::abs(matrix[i]));
    const double close = 2e-6 * scale;
    auto want = TopOfMatrix(matrix, features, k);
    std::erase_if(want, [&](const InteractionPair& p) { return std::abs(p.value) <= close; });
    ASSERT_LE(got[m].size(), k) << what;
    ASSERT_GE(got[m].size(), want.size()) << what << " matrix " << m;
    for (std::size_t p = 0; p < want.size(); ++p) {
      const InteractionPair& pair = got[m][p];
      ASSERT_LT(pair.first, pair.second);
      // The value at each place, and the value the matrix has for that very pair.
      EXPECT_NEAR(std::abs(pair.value), std::abs(want[p].value), close) << what << " " << p;
      const auto at = static_cast<std::size_t>(pair.first) * (features + 1) +
                      static_cast<std::size_t>(pair.second);
      EXPECT_NEAR(pair.value, matrix[at], close) << what << " " << p;
    }
  }
}

TEST(TopInteractions, FindsWhatTheMatrixHas) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(seed % 12);
    options.groups = 1 + static_cast<int>(seed % 3);
    options.depth = static_cast<int>(seed % 8);
    options.trees = 4;
    options.zero_cover_probability = seed % 4 == 0 ? 0.2 : 0;
    options.categorical_probability = seed % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, 300 + seed);
    const auto values = RandomRows(model, 19, 0.15, seed);
    const RowBlock rows = Block(model, values);
    const auto matrices = PathReferenceInteractions(model, rows);
    for (const std::size_t k : {1u, 3u, 10u, 1000u}) {
      ExpectSame(model, rows, k, matrices,
                 "seed " + std::to_string(seed) + " k " + std::to_string(k));
    }
  }
}

TEST(TopInteractions, AgreesWithTheDefinition) {
  const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 6, .depth = 6}, 12);
  const auto values = RandomRows(model, 5, 0.1, 12);
  const RowBlock rows = Block(model, values);
  ExpectSame(model, rows, 4, BruteForceInteractions(model, rows), "brute force");
}

TEST(TopInteractions, TakesDeepChains) {
  for (const int depth : {16, 24}) {
    for (const int features : {depth, depth / 2}) {
      const TreeEnsemble model = ChainEnsemble(depth, features, 0.5, 4);
      const std::vector<float> values(static_cast<std::size_t>(features), 0.5f);
      const RowBlock rows = Block(model, values);
      ExpectSame(model, rows, 5, PathReferenceInteractions(model, rows), "chain");
    }
  }
}

// Of 40 features few meet; the answer does not depend on the rows beside.
TEST(TopInteractions, KeepsThePairsThatMeet) {
  const SyntheticShape shape{.trees = 4, .depth = 3, .features = 40, .rows = 400, .min_rows = 8};
  const TreeEnsemble model = SyntheticEnsemble(shape, 3);
  const auto values = SyntheticRows(shape, 64, 4);
  const RowBlock rows = Block(model, values);
  TopInteractions search(model, {.k = 2});
  const auto all = search.find(rows);
  EXPECT_GT(search.pairs(), 3);
  EXPECT_LE(search.pairs(), 4 * (2 + 4 * 2));  // in each tree a root and two, and four leaf parents
  for (const std::size_t r : {0u, 17u, 63u}) {
    const auto one = search.find(rows.slice(r, 1));
    ASSERT_EQ(one[0].size(), all[r].size());
    for (std::size_t p = 0; p < one[0].size(); ++p) {
      EXPECT_EQ(one[0][p].first, all[r][p].first);
      EXPECT_EQ(one[0][p].second, all[r][p].second);
      EXPECT_EQ(one[0][p].value, all[r][p].value);
    }
  }
}

TEST(TopInteractions, RefusesWhatItCannotDo) {
  const TreeEnsemble model = RandomEnsemble({.features = 4}, 7);
  EXPECT_THROW(TopInteractions(model, {.k = 0}), std::invalid_argument);
  const std::vector<float> values(6);
  EXPECT_THROW(TopInteractions(model, {}).find({values, 2, 3}), std::invalid_argument);
  EXPECT_TRUE(TopInteractions(model, {}).find({{}, 0, 4}).empty());
}

}  // namespace
}  // namespace retable::treeshap

// Every CPU method against brute force over subsets, and against the path reference where trees are
// too deep for it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/treeshap/brute_force.hpp"
#include "algorithms/treeshap/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {
namespace {

struct Case {
  const char* method;
  const char* precision;
  double tolerance;  // of max |phi|
};

double MaxAbs(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

double Error(const std::vector<double>& got, const std::vector<double>& want) {
  EXPECT_EQ(got.size(), want.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    const double e = std::abs(got[i] - want[i]);
    most = std::isnan(e) ? INFINITY : std::max(most, e);
  }
  return want.empty() ? 0 : most / std::max(1e-300, MaxAbs(want));
}

std::unique_ptr<TreeExplainer> Make(const Case& c, const TreeEnsemble& model,
                                    Parameters extra = {}) {
  extra["precision"] = std::string(c.precision);
  auto explainer = Registry<TreeExplainer>::Instance().Make(c.method, Device::kCpu, extra);
  explainer->prepare(model);
  return explainer;
}

void ExpectAdditive(const TreeEnsemble& model, const RowBlock& rows, const std::vector<double>& phi,
                    double tolerance) {
  const auto side = static_cast<std::size_t>(model.features) + 1;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const auto margin = Predict(model, rows.row(r));
    for (std::size_t g = 0; g < margin.size(); ++g) {
      double sum = 0;
      double total = std::abs(margin[g]);
      for (std::size_t i = 0; i < side; ++i) {
        const double v = phi[(r * margin.size() + g) * side + i];
        sum += v;
        total += std::abs(v);
      }
      EXPECT_NEAR(sum, margin[g], tolerance * total) << "row " << r << " group " << g;
    }
  }
}

RowBlock Block(const TreeEnsemble& model, const std::vector<float>& values) {
  const auto columns = static_cast<std::size_t>(model.features);
  return {values, values.size() / columns, columns};
}

class Explainers : public testing::TestWithParam<Case> {};

TEST_P(Explainers, MatchBruteForceOnRandomEnsembles) {
  const Case c = GetParam();
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(seed % 8);
    options.groups = 1 + static_cast<int>(seed % 3);
    options.depth = static_cast<int>(seed % 7);
    options.trees = 4;
    options.zero_cover_probability = seed % 4 == 0 ? 0.2 : 0;
    options.categorical_probability = seed % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, seed);
    const auto values = RandomRows(model, 5, seed % 3 == 0 ? 0.0 : 0.2, seed);
    const RowBlock rows = Block(model, values);
    const auto phi = Make(c, model)->values(rows);
    EXPECT_LE(Error(phi, BruteForceValues(model, rows)), c.tolerance) << "seed " << seed;
    ExpectAdditive(model, rows, phi, c.tolerance);
  }
}

TEST_P(Explainers, MatchBruteForceInteractions) {
  const Case c = GetParam();
  if (std::string(c.method) == "TreeShap") GTEST_SKIP() << "TreeShap has no interactions here";
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(seed % 7);
    options.groups = 1 + static_cast<int>(seed % 2);
    options.depth = static_cast<int>(seed % 6);
    options.trees = 3;
    options.zero_cover_probability = seed % 4 == 0 ? 0.2 : 0;
    options.categorical_probability = seed % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, 100 + seed);
    const auto values = RandomRows(model, 3, 0.15, seed);
    const RowBlock rows = Block(model, values);
    const auto got = Make(c, model)->interactions(rows);
    EXPECT_LE(Error(got, BruteForceInteractions(model, rows)), 4 * c.tolerance) << "seed " << seed;
  }
}

TEST_P(Explainers, TakeRowCountsAroundTheLanes) {
  const Case c = GetParam();
  const TreeEnsemble model = RandomEnsemble({.trees = 2, .features = 4, .depth = 4}, 7);
  auto explainer = Make(c, model);
  for (const std::size_t n : {0u, 1u, 7u, 8u, 15u, 16u, 17u, 33u}) {
    const auto values = RandomRows(model, n, 0.1, n);
    const RowBlock rows = Block(model, values);
    EXPECT_LE(Error(explainer->values(rows), PathReferenceValues(model, rows)), c.tolerance);
  }
}

TEST_P(Explainers, RefuseRowsOfAnotherShape) {
  const Case c = GetParam();
  const TreeEnsemble model = RandomEnsemble({.features = 4}, 7);
  const std::vector<float> values(6);
  EXPECT_THROW(Make(c, model)->values({values, 2, 3}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, Explainers,
    testing::Values(Case{"TreeShap", "double", 1e-12}, Case{"TreeShap", "float", 2e-5},
                    Case{"GPUTreeShap", "double", 1e-12}, Case{"GPUTreeShap", "float", 2e-5},
                    Case{"Quadrature", "double", 1e-12}, Case{"Quadrature", "float", 5e-7}),
    [](const auto& each) { return std::string(each.param.method) + "_" + each.param.precision; });

// Long chains with small covers: where the subtraction of UNWIND loses everything.
TEST(QuadratureChains, StayExactAtAnyDepth) {
  for (const int depth : {16, 32, 64, 127}) {
    for (const double cover : {0.9, 0.5, 0.1}) {
      for (const int features : {depth, depth / 2}) {
        if (depth == 127 && cover == 0.5) continue;  // the reference is slow there
        const TreeEnsemble model = ChainEnsemble(depth, features, cover, 3);
        std::vector<float> values(2 * static_cast<std::size_t>(features), 0.5f);
        values[static_cast<std::size_t>(features) / 2] = 2.0f;  // the first row leaves half-way
        const RowBlock rows = Block(model, values);
        const auto want = PathReferenceValues(model, rows);
        EXPECT_LE(Error(Make({"Quadrature", "double", 0}, model)->values(rows), want), 1e-12)
            << depth << " " << cover;
        // 127 splits round 127 times: the limit of float is a little over 5e-7 there.
        EXPECT_LE(Error(Make({"Quadrature", "float", 0}, model)->values(rows), want),
                  depth > 64 ? 1e-6 : 5e-7)
            << depth << " " << cover;
      }
    }
  }
}

TEST(QuadratureChains, InteractionsStayExact) {
  for (const int depth : {8, 16, 24}) {
    const TreeEnsemble model = ChainEnsemble(depth, depth, 0.5, 4);
    const std::vector<float> values(static_cast<std::size_t>(depth), 0.5f);
    const RowBlock rows = Block(model, values);
    const auto got = Make({"Quadrature", "double", 0}, model)->interactions(rows);
    EXPECT_LE(Error(got, PathReferenceInteractions(model, rows)), 1e-12) << depth;
  }
}

TEST(Quadrature, BanzhafMatchesBruteForce) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 6, .depth = 6}, seed);
    const auto values = RandomRows(model, 4, 0.1, seed);
    const RowBlock rows = Block(model, values);
    const auto explainer =
        Make({"Quadrature", "double", 0}, model, {{"index", std::string("banzhaf")}});
    EXPECT_LE(Error(explainer->values(rows), BruteForceBanzhaf(model, rows)), 1e-12);
  }
}

TEST(Quadrature, EveryInstructionSetAgrees) {
  const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 6, .depth = 6}, 5);
  const auto values = RandomRows(model, 20, 0.1, 5);
  const RowBlock rows = Block(model, values);
  const auto want = PathReferenceValues(model, rows);
  for (const char* isa : {"baseline", "avx2", "avx512"}) {
    std::unique_ptr<TreeExplainer> explainer;
    try {
      explainer = Make({"Quadrature", "double", 0}, model, {{"isa", std::string(isa)}});
    } catch (const std::invalid_argument&) {
      continue;  // not on this processor
    }
    EXPECT_LE(Error(explainer->values(rows), want), 1e-12) << isa;
  }
}

TEST(Quadrature, ResultDoesNotDependOnThreads) {
  const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 6, .depth = 6}, 5);
  const auto values = RandomRows(model, 200, 0.1, 5);
  const RowBlock rows = Block(model, values);
  const auto one = Make({"Quadrature", "float", 0}, model, {{"threads", std::int64_t{1}}});
  const auto all = Make({"Quadrature", "float", 0}, model);
  EXPECT_EQ(one->values(rows), all->values(rows));
}

}  // namespace
}  // namespace retable::treeshap

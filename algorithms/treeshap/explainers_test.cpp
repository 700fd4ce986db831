// Every CPU method against brute force over subsets, and against the path reference where trees are
// too deep for it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "algorithms/treeshap/flop_count.hpp"
#include "algorithms/treeshap/published/paths.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {
namespace {

struct Case {
  const char* method;
  const char* precision;
  double tolerance;  // of max |phi|
};

double MaxAbs(std::span<const double> values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

std::unique_ptr<TreeExplainer> Make(const Case& c, const TreeEnsemble& model,
                                    Parameters extra = {}) {
  extra["precision"] = std::string(c.precision);
  auto explainer = Registry<TreeExplainer>::Instance().Make(c.method, Device::kCpu, extra);
  explainer->prepare(model);
  return explainer;
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
    EXPECT_LE(RelativeError(phi, BruteForceValues(model, rows)), c.tolerance) << "seed " << seed;
    EXPECT_LE(AdditivityError(model, rows, phi), c.tolerance) << "seed " << seed;
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
    EXPECT_LE(RelativeError(got, BruteForceInteractions(model, rows)), 4 * c.tolerance)
        << "seed " << seed;
  }
}

TEST_P(Explainers, TakeRowCountsAroundTheLanes) {
  const Case c = GetParam();
  const TreeEnsemble model = RandomEnsemble({.trees = 2, .features = 4, .depth = 4}, 7);
  auto explainer = Make(c, model);
  for (const std::size_t n : {0u, 1u, 7u, 8u, 15u, 16u, 17u, 33u}) {
    const auto values = RandomRows(model, n, 0.1, n);
    const RowBlock rows = Block(model, values);
    EXPECT_LE(RelativeError(explainer->values(rows), PathReferenceValues(model, rows)),
              c.tolerance);
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
        EXPECT_LE(RelativeError(Make({"Quadrature", "double", 0}, model)->values(rows), want),
                  1e-12)
            << depth << " " << cover;
        // 127 splits round 127 times: the limit of float is a little over 5e-7 there.
        EXPECT_LE(RelativeError(Make({"Quadrature", "float", 0}, model)->values(rows), want),
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
    EXPECT_LE(RelativeError(got, PathReferenceInteractions(model, rows)), 1e-12) << depth;
  }
}

// What all leaves of a tree have in common is nobody's contribution, and costs no digits.
TEST(Quadrature, FloatKeepsItsDigitsWhereLeavesAreFarFromZero) {
  const TreeEnsemble model = RandomEnsemble({.trees = 5, .depth = 6}, 3);
  TreeEnsemble far = model;
  for (Tree& tree : far.trees) {
    for (TreeNode& node : tree.nodes) node.value += 1e8;
  }
  const auto values = RandomRows(model, 40, 0.1, 3);
  const RowBlock rows = Block(model, values);
  const auto few = Make({"Quadrature", "float", 0}, model);
  const auto many = Make({"Quadrature", "float", 0}, far);
  const auto differences = [&](Results got, const Results& want, std::size_t block) {
    for (std::size_t i = block - 1; i < got.size(); i += block)
      got[i] = want[i];  // expected values
    return RelativeError(got, want);
  };
  const std::size_t side = static_cast<std::size_t>(model.features) + 1;
  EXPECT_LE(differences(many->values(rows), few->values(rows), side), 1e-6);
  EXPECT_LE(differences(many->interactions(rows), few->interactions(rows), side * side), 1e-6);
}

TEST(Quadrature, BanzhafMatchesBruteForce) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 6, .depth = 6}, seed);
    const auto values = RandomRows(model, 4, 0.1, seed);
    const RowBlock rows = Block(model, values);
    const auto explainer =
        Make({"Quadrature", "double", 0}, model, {{"index", std::string("banzhaf")}});
    EXPECT_LE(RelativeError(explainer->values(rows), BruteForceBanzhaf(model, rows)), 1e-12);
  }
}

TEST(Quadrature, BanzhafInteractionsMatchBruteForce) {
  const TreeEnsemble model = RandomEnsemble({.trees = 3, .features = 6, .depth = 6}, 2);
  const auto values = RandomRows(model, 3, 0.1, 2);
  const RowBlock rows = Block(model, values);
  const auto explainer =
      Make({"Quadrature", "double", 0}, model, {{"index", std::string("banzhaf")}});
  const auto phi = explainer->values(rows);
  const auto got = explainer->interactions(rows);
  const auto want = BruteForceIndex(model, rows, 2, true);
  const double scale = MaxAbs(want);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    for (std::size_t i = 0; i < 6; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 6; ++j) {
        const double entry = got[r * 49 + i * 7 + j];
        sum += entry;
        if (i == j) continue;
        const double index = want[r * 64 + (std::size_t{1} << i | std::size_t{1} << j)];
        EXPECT_NEAR(entry, index / 2, 1e-12 * scale);
      }
      EXPECT_NEAR(sum, phi[r * 7 + i], 1e-12 * scale);
    }
  }
}

TEST(Quadrature, EveryInstructionSetAgrees) {
  const TreeEnsemble model =
      RandomEnsemble({.trees = 3, .features = 20, .depth = 9, .categorical_probability = 0.2}, 5);
  const auto values = RandomRows(model, 37, 0.1, 5);
  const RowBlock rows = Block(model, values);
  const auto want = PathReferenceValues(model, rows);
  const auto pairs = PathReferenceInteractions(model, rows);
  for (const char* isa : {"baseline", "avx2", "avx512"}) {
    for (const Case& c : {Case{"Quadrature", "double", 1e-12}, Case{"Quadrature", "float", 5e-7}}) {
      std::unique_ptr<TreeExplainer> explainer;
      try {
        explainer = Make(c, model, {{"isa", std::string(isa)}});
      } catch (const std::invalid_argument&) {
        continue;  // not on this processor
      }
      EXPECT_LE(RelativeError(explainer->values(rows), want), c.tolerance)
          << isa << " " << c.precision;
      EXPECT_LE(RelativeError(explainer->interactions(rows), pairs), 4 * c.tolerance) << isa;
    }
  }
}

// Several segments of trees for each output: few rows are shared by segments, many by rows.
TEST(Quadrature, BitsDependNeitherOnThreadsNorOnCompany) {
  const TreeEnsemble model = RandomEnsemble(
      {.trees = 80, .features = 9, .groups = 2, .depth = 9, .leaf_probability = 0}, 5);
  const auto values = RandomRows(model, 75, 0.1, 5);
  const RowBlock rows = Block(model, values);
  for (const char* precision : {"float", "double"}) {
    const Case c{"Quadrature", precision, 0};
    const auto one = Make(c, model, {{"threads", std::int64_t{1}}});
    const auto phi = one->values(rows);
    const auto pairs = one->interactions(rows.slice(0, 33));
    const auto want = Make({"TreeShap", "double", 0}, model)->values(rows.slice(0, 2));
    EXPECT_LE(RelativeError({phi.begin(), phi.begin() + 2 * 20}, want), 5e-7);
    for (const int threads : {2, 7}) {
      const auto more = Make(c, model, {{"threads", std::int64_t{threads}}});
      EXPECT_EQ(phi, more->values(rows)) << precision << ", " << threads;
      EXPECT_EQ(pairs, more->interactions(rows.slice(0, 33))) << precision << ", " << threads;
      const auto alone = more->values(rows.slice(40, 1));
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), phi.begin() + 40 * 20)) << precision;
    }
  }
}

// A few rows go one by one through trees as lanes, many as lanes through one tree after the other;
// trees of like shape and of none, with leaves at any height, chains, splits by sets.
TEST(Quadrature, FewRowsHaveTheBitsOfMany) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    RandomEnsembleOptions options;
    options.trees = 1 + static_cast<int>(seed * 7 % 40);
    options.features = std::array{3, 9, 40, 300}[seed % 4];
    options.groups = 1 + static_cast<int>(seed % 3);
    options.depth = std::array{1, 2, 3, 6, 8, 14}[seed % 6];
    options.leaf_probability = options.depth > 8 ? 0.4 : 0.1 * static_cast<double>(seed % 5);
    options.zero_cover_probability = seed % 5 == 0 ? 0.2 : 0;
    options.categorical_probability = seed % 7 == 0 ? 0.1 : 0;
    options.repeats = seed % 3 == 0 ? 8 : 1;
    const TreeEnsemble model =
        seed == 23 ? ChainEnsemble(40, 17, 0.7, seed) : RandomEnsemble(options, 300 + seed);
    const auto values = RandomRows(model, 12, seed % 2 == 0 ? 0.2 : 0.0, seed);
    const RowBlock rows = Block(model, values);
    const auto want = PathReferenceValues(model, rows);
    for (const char* isa : {"baseline", "avx2", "avx512"}) {
      for (const Case& c :
           {Case{"Quadrature", "double", 1e-12}, Case{"Quadrature", "float", 5e-7}}) {
        std::unique_ptr<TreeExplainer> explainer;
        try {
          explainer = Make(c, model, {{"isa", std::string(isa)}});
        } catch (const std::invalid_argument&) {
          continue;  // not on this processor
        }
        const auto phi = explainer->values(rows);
        EXPECT_LE(RelativeError(phi, want), c.tolerance) << isa << " " << c.precision;
        for (const std::size_t count : {1u, 2u, 3u, 4u, 5u}) {
          const std::size_t first = (seed + count) % 8;
          const auto few = explainer->values(rows.slice(first, count));
          const auto at = static_cast<std::ptrdiff_t>(first * ValuesPerRow(model));
          EXPECT_TRUE(std::equal(few.begin(), few.end(), phi.begin() + at))
              << isa << " " << c.precision << ", seed " << seed << ", " << count << " rows";
        }
      }
    }
  }
}

TEST(Quadrature, WritesIntoTheCallersMemory) {
  const TreeEnsemble model = RandomEnsemble({.trees = 2, .features = 4, .groups = 2}, 7);
  const auto values = RandomRows(model, 5, 0.1, 7);
  const RowBlock rows = Block(model, values);
  for (const char* method : {"Quadrature", "GPUTreeShap", "TreeShap"}) {
    const auto explainer = Make({method, "float", 0}, model);
    Results phi(5 * ValuesPerRow(model), 7.0);  // nothing of this must be left
    explainer->values_to(rows, phi);
    EXPECT_EQ(phi, explainer->values(rows)) << method;
    EXPECT_THROW(explainer->values_to(rows, std::span(phi).first(10)), std::invalid_argument);
    if (std::string(method) == "TreeShap") continue;  // it has no interactions here
    Results matrices(5 * InteractionsPerRow(model), 7.0);
    explainer->interactions_to(rows, matrices);
    EXPECT_EQ(matrices, explainer->interactions(rows)) << method;
    EXPECT_THROW(explainer->interactions_to(rows, phi), std::invalid_argument);
  }
}

// 2^32 + 2 were cut to 2, less than none ran on all.
TEST(Methods, RefuseThreadsThatNobodyHas) {
  for (const auto& method : Registry<TreeExplainer>::Instance().Methods()) {
    for (const auto& parameter : method.parameters) {
      if (parameter.name != "threads") continue;
      for (const std::int64_t threads : {std::int64_t{4294967298}, std::int64_t{-3}}) {
        EXPECT_THROW(method.make({{"threads", threads}}), std::invalid_argument) << method.name;
      }
    }
  }
}

TEST(Operations, AreThoseOfEveryPath) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(seed);  // few: features come again on a path
    options.depth = static_cast<int>(seed);
    const TreeEnsemble model = RandomEnsemble(options, seed);
    double values = 0, extended = 0, pairs = 0;
    for (const Path& path : ExtractPaths(model).paths) {
      const double d = path.length - 1;
      values += 4 * d * d;
      for (double k = 1; k <= d; ++k) extended += 2 * (k + 1);  // weights after element k
      pairs += d > 0 ? d * 4 * (d - 1) * (d - 1) : 0;
    }
    EXPECT_EQ(PathFlops(model, false, false), values);
    EXPECT_EQ(PathFlops(model, false, true), values + extended);
    EXPECT_EQ(PathFlops(model, true, false), pairs);
  }
}

TEST(Operations, EveryMethodButTheInterventionalDeclaresThem) {
  TreeEnsemble stump;
  stump.features = 1;
  stump.trees.resize(1);
  stump.trees[0].nodes = {{0, 0.5f, 1, 2, -1, false, 2, 0}, {}, {}};
  stump.trees[0].nodes[1].cover = stump.trees[0].nodes[2].cover = 1;
  const auto amount = [&](const char* method, const char* precision) {
    const auto work = Make({method, precision, 0}, stump)->work(stump, 10, false);
    EXPECT_EQ(work.size(), 1u) << method;
    EXPECT_EQ(work.front().kind, precision == std::string("float") ? "FMA fp32" : "FMA fp64");
    return work.front().amount;
  };
  EXPECT_EQ(amount("TreeShap", "double"), 80);  // two paths of one feature, four operations each
  EXPECT_EQ(amount("GPUTreeShap", "float"), 160);
  EXPECT_EQ(amount("Quadrature", "float"), 40);
  EXPECT_EQ(QuadratureFlops(AnnotatedModel{}, true), 0);
  const AnnotatedModel chain = Annotate(ChainEnsemble(20, 20, 0.5, 1));
  EXPECT_EQ(QuadratureFlops(chain, false), (19 * 10 + 4) * 10);
  EXPECT_EQ(QuadratureFlops(chain, true), (19 * 10 + 4) * FloatPoints(chain.trees[0]));
}

}  // namespace
}  // namespace retable::treeshap

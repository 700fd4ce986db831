// The frontier on a GPU against its CPU backend: equal trees, node by node, and equal answers, bit
// for bit, on fresh random tables.

#include "algorithms/extratrees/frontier/cuda/trainer.hpp"

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "algorithms/extratrees/frontier/cpu/trainer.hpp"
#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"

namespace retable::extratrees {
namespace {

//! The shape of a table; the distinct values of a column decide the bytes of a code.
struct Shape {
  const char* name;
  std::size_t rows, columns;
  std::uint32_t classes, distinct;
  bool whole;  //!< values are whole numbers, which are their own codes up to 255
  int trees;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.name;
}

struct Table {
  std::vector<float> values;
  std::vector<std::uint32_t> labels;
  std::vector<double> targets, weights;
  std::size_t columns = 0;

  //! Every fifth column is constant, every third one follows the label.
  Table(const Shape& shape, bool holes, std::mt19937_64& random) : columns(shape.columns) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const float step = shape.whole ? 1.0f : 0.37f;
    for (std::size_t i = 0; i < shape.rows; ++i) {
      const std::uint32_t label = below(shape.classes);
      for (std::size_t f = 0; f < columns; ++f) {
        const float from = shape.whole ? 0.0f : -0.1f * static_cast<float>(shape.distinct);
        const float x = from + step * static_cast<float>(below(f % 5 == 4 ? 1 : shape.distinct)) +
                        (f % 3 == 0 ? static_cast<float>(label % 7) : 0.0f);
        values.push_back(holes && f % 2 == 1 && below(8) == 0 ? std::nanf("") : x);
      }
      labels.push_back(label);
      targets.push_back(1e3 + static_cast<double>(label % 5) + 0.01 * below(50));
      weights.push_back(0.3 * below(6));
    }
    weights[0] = 1;
  }
  FeatureMatrix matrix() const { return {values.data(), labels.size(), columns}; }
  Targets Given(bool regression, bool weighted) const {
    Targets given = regression ? Targets::Regression(targets) : Targets(labels);
    if (weighted) given.weights = weights;
    return given;
  }
};

std::vector<double> Answers(FittedForest& fitted, const Table& rows) {
  std::vector<double> answers(rows.labels.size() * fitted.host().classes, -1.0);
  fitted.predict_proba(rows.values.data(), rows.labels.size(), answers.data());
  return answers;
}

class CudaFrontier : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    random_.seed(FreshSeed());
  }
  ForestOptions Options() { return {.n_trees = GetParam().trees, .seed = random_()}; }
  Table Fresh(bool holes = false) { return Table(GetParam(), holes, random_); }

  static void ExpectSame(FrontierCuda& cuda, const Table& table, const Table& unseen,
                         const Targets& targets, const ForestOptions& options) {
    const auto cpu = FrontierCpu().fit(table.matrix(), targets, options);
    const auto gpu = cuda.fit(table.matrix(), targets, options);
    EXPECT_TRUE(cpu->host().trees == gpu->host().trees);
    EXPECT_TRUE(Answers(*cpu, unseen) == Answers(*gpu, unseen));
  }

  std::mt19937_64 random_;
};

TEST_P(CudaFrontier, EveryStepOfTheLadderGrowsTheSameTrees) {
  const Table table = Fresh(), unseen = Fresh();
  const ForestOptions options = Options();
  for (const char* steps : {"frontier", "class-sorted", "subtrees", "on-chip", "columns"}) {
    SCOPED_TRACE(steps);
    FrontierCuda cuda(ParseFrontierSteps(steps));
    ExpectSame(cuda, table, unseen, table.labels, options);
  }
}

TEST_P(CudaFrontier, RulesAndLimitsGiveTheSameTrees) {
  const Table table = Fresh(), unseen = Fresh();
  const std::uint64_t seed = random_();
  const int trees = GetParam().trees;
  const int all = static_cast<int>(table.columns);
  FrontierCuda cuda;
  for (ForestOptions options :
       {ForestOptions{.constant_rule = ConstantRule::kGeurts},
        ForestOptions{.constant_rule = ConstantRule::kPublished}, ForestOptions{.max_depth = 4},
        ForestOptions{.min_samples_leaf = 5}, ForestOptions{.min_samples_split = 9},
        ForestOptions{.min_impurity_decrease = 1e-3}, ForestOptions{.bootstrap = true},
        ForestOptions{.max_features = 1}, ForestOptions{.max_features = all}}) {
    options.n_trees = trees;
    options.seed = seed;
    ExpectSame(cuda, table, unseen, table.labels, options);
  }
}

TEST_P(CudaFrontier, WeightsTargetsAndHolesGiveTheSameTrees) {
  const int few = std::min<int>(3, static_cast<int>(GetParam().columns));
  const std::uint64_t seed = random_();
  FrontierCuda cuda;
  for (const bool holes : {false, true}) {
    const Table table = Fresh(holes), unseen = Fresh(holes);
    for (const bool weighted : {false, true}) {
      for (const bool regression : {false, true}) {
        SCOPED_TRACE(testing::Message() << "holes " << holes << ", weighted " << weighted
                                        << ", regression " << regression);
        for (ForestOptions options :
             {ForestOptions{},
              ForestOptions{.max_features = few, .constant_rule = ConstantRule::kGeurts},
              ForestOptions{.max_features = few, .constant_rule = ConstantRule::kPublished},
              ForestOptions{.max_depth = 9,
              .min_samples_split = 11,
              .min_samples_leaf = 3,
              .min_impurity_decrease = 1e-4},
              ForestOptions{.bootstrap = true}}) {
          options.n_trees = (GetParam().trees + 1) / 2;
          options.seed = seed;
          ExpectSame(cuda, table, unseen, table.Given(regression, weighted), options);
        }
      }
    }
  }
}

TEST_P(CudaFrontier, LimitsOfLeavesAndOfWeightGiveTheSameTrees) {
  const std::uint64_t seed = random_();
  FrontierCuda cuda({}, 2);  // trees are cut back batch by batch
  for (const bool weighted : {false, true}) {
    const Table table = Fresh(weighted), unseen = Fresh(weighted);
    for (const bool regression : {false, true}) {
      for (ForestOptions options :
           {ForestOptions{.max_leaf_nodes = 2}, ForestOptions{.max_leaf_nodes = 37},
            ForestOptions{.max_depth = 6, .min_samples_leaf = 4, .max_leaf_nodes = 21},
            ForestOptions{.max_leaf_nodes = 1 << 30},
            ForestOptions{.min_weight_fraction_leaf = 0.01},
            ForestOptions{
                .max_leaf_nodes = 9, .min_weight_fraction_leaf = 0.003, .bootstrap = true}}) {
        SCOPED_TRACE(testing::Message()
                     << "weighted " << weighted << ", regression " << regression << ", leaves "
                     << options.max_leaf_nodes << ", share " << options.min_weight_fraction_leaf);
        options.n_trees = std::min(GetParam().trees, 3);
        options.seed = seed;
        ExpectSame(cuda, table, unseen, table.Given(regression, weighted), options);
      }
    }
  }
}

TEST_P(CudaFrontier, BatchesChangeNothing) {
  const Table table = Fresh(), unseen = Fresh();
  ForestOptions options = Options();
  options.n_trees = 5;
  FrontierCuda batches({}, 2), little({}, 0, 1, 300), too_little({}, 0, 1, 1);
  ExpectSame(batches, table, unseen, table.labels, options);
  ExpectSame(little, table, unseen, table.labels, options);
  try {
    too_little.fit(table.matrix(), table.labels, options);
    FAIL() << "one MiB is enough";
  } catch (const std::runtime_error& problem) {
    EXPECT_NE(std::string(problem.what()).find("bytes to spare"), std::string::npos);
  }
}

TEST_P(CudaFrontier, SeveralDevicesGrowTheTreesOfOne) {
  if (CudaDeviceCount() < 2) GTEST_SKIP() << "one CUDA device";
  const Table table = Fresh(), unseen = Fresh();
  ForestOptions options = Options();
  options.n_trees = 2 * CudaDeviceCount() + 1;
  FrontierCuda cuda({}, 0, 0);
  ExpectSame(cuda, table, unseen, table.labels, options);
}

INSTANTIATE_TEST_SUITE_P(Tables, CudaFrontier,
                         testing::Values(Shape{"Small", 160, 4, 3, 30, false, 16},
                                         Shape{"Pixels", 1500, 64, 10, 17, true, 8},
                                         Shape{"OneByteCodes", 6000, 40, 3, 200, false, 4},
                                         Shape{"ValuesManyClasses", 6000, 40, 600, 2000, false, 4},
                                         Shape{"ValuesFewColumns", 90000, 7, 4, 80000, false, 3}),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace retable::extratrees

#endif

// Every CUDA method against brute force and the CPU on random models, where there is a device. The
// seed is fresh in every process and printed; RETABLE_TEST_SEED repeats a run.

#include <gtest/gtest.h>

#ifdef RETABLE_HAS_CUDA
#include <cuda_runtime_api.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>

#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/memory.hpp"
#include "base/seed_testing.hpp"

namespace retable::treeshap {
namespace {

// One seed for all tests of a run.
std::uint64_t Seed() {
  static const std::uint64_t seed = FreshSeed();
  return seed;
}

std::unique_ptr<TreeExplainer> Prepared(const std::string& name, Device device,
                                        const TreeEnsemble& model, Parameters parameters = {}) {
  auto explainer = Registry<TreeExplainer>::Instance().Make(name, device, parameters);
  explainer->prepare(model);
  return explainer;
}

// The CPU's quadrature in double, which explainers_test.cpp compares with brute force.
std::unique_ptr<TreeExplainer> Reference(const TreeEnsemble& model) {
  return Prepared("Quadrature", Device::kCpu, model, {{"precision", std::string("double")}});
}

// Expects `explain` to give the bits of `got` again, and those of its first half for half of the
// rows alone.
template <class Explain>
void ExpectSameBits(const Explain& explain, const RowBlock& rows, const Results& got) {
  EXPECT_TRUE(explain(rows) == got);
  const Results head = explain(rows.slice(0, rows.rows / 2));
  EXPECT_TRUE(std::equal(head.begin(), head.end(), got.begin()));
}

struct Case {
  const char* method;
  double tolerance;  // of max |phi|
};

class CudaExplainers : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    Seed();
  }
};

TEST_P(CudaExplainers, MatchAllSubsets) {
  const Case c = GetParam();
  for (std::uint64_t i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(i % 9);
    options.groups = 1 + static_cast<int>(i % 3);
    options.depth = static_cast<int>(i % 8);
    options.trees = 5;
    options.zero_cover_probability = i % 5 == 0 ? 0.2 : 0;
    options.categorical_probability = i % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, Seed() + i);
    const auto values = RandomRows(model, 1 + i % 40, i % 4 == 1 ? 0.0 : 0.2, Seed() + i);
    const RowBlock rows = Block(model, values);
    const auto explainer = Prepared(c.method, Device::kCuda, model);
    EXPECT_LE(RelativeError(explainer->values(rows), BruteForceValues(model, rows)), c.tolerance);
    const RowBlock few = rows.slice(0, std::min<std::size_t>(rows.rows, 3));
    EXPECT_LE(RelativeError(explainer->interactions(few), BruteForceInteractions(model, few)),
              4 * c.tolerance);
  }
}

TEST_P(CudaExplainers, MatchTheCpuOnManyFeatures) {
  const Case c = GetParam();
  const TreeEnsemble model = RandomEnsemble(
      {.trees = 20, .features = 200, .groups = 2, .depth = 9, .categorical_probability = 0.2},
      Seed());
  const auto values = RandomRows(model, 300, 0.1, Seed());
  const RowBlock rows = Block(model, values);
  const auto explainer = Prepared(c.method, Device::kCuda, model);
  const auto reference = Reference(model);
  EXPECT_LE(RelativeError(explainer->values(rows), reference->values(rows)), c.tolerance);
  const RowBlock few = rows.slice(0, 20);
  EXPECT_LE(RelativeError(explainer->interactions(few), reference->interactions(few)),
            4 * c.tolerance);
}

INSTANTIATE_TEST_SUITE_P(Methods, CudaExplainers,
                         testing::Values(Case{"GPUTreeShap", 1e-4}, Case{"Quadrature", 5e-7}),
                         [](const auto& each) { return std::string(each.param.method); });

class CudaQuadrature : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    Seed();
  }

  // Whether a call of several pieces gives what its rows give in other calls, into memory that is
  // there as into new, on several GPUs as on one.
  static void ExpectCallsAgree(const TreeEnsemble& model, std::size_t count) {
    const auto values = RandomRows(model, count, 0.01, Seed());
    const RowBlock rows = Block(model, values);
    const auto explainer = Prepared("Quadrature", Device::kCuda, model);
    const Results got = explainer->values(rows);
    Results there(got.size(), NAN);
    explainer->values_to(rows, there);
    EXPECT_TRUE(there == got);
    const std::size_t per_row = ValuesPerRow(model);
    for (const std::size_t begin : {std::size_t{0}, count / 3}) {
      const Results again = explainer->values(rows.slice(begin, count / 2));
      EXPECT_TRUE(std::equal(again.begin(), again.end(),
                             got.begin() + static_cast<std::ptrdiff_t>(begin * per_row)));
    }
    EXPECT_TRUE(explainer->values(rows.slice(0, 0)).empty());
    const RowBlock one = rows.slice(count - 1, 1);
    EXPECT_LE(RelativeError(explainer->values(one), Reference(model)->values(one)), 5e-7);
    for (std::int64_t gpus = 2; gpus <= CudaDeviceCount(); gpus *= 2) {
      const auto sharded = Prepared("Quadrature", Device::kCuda, model, {{"gpus", gpus}});
      EXPECT_TRUE(sharded->values(rows) == got) << gpus << " GPUs";
    }
  }
};

TEST_F(CudaQuadrature, CallsOfSmallModelsAgree) {
  ExpectCallsAgree(RandomEnsemble({.trees = 10, .features = 8, .groups = 2, .depth = 5}, Seed()),
                   150'000);
}

TEST_F(CudaQuadrature, CallsOfLargeModelsAgree) {
  ExpectCallsAgree(RandomEnsemble({.trees = 30, .features = 20, .depth = 9}, Seed()), 40'000);
}

// Small and large shared subtrees, with rows that are alike and rows that are not; each third time
// in deep narrow trees of a few features.
TEST_F(CudaQuadrature, SharedSubtreesMatchTheCpu) {
  for (std::uint64_t i = 0; i < 24; ++i) {
    RandomEnsembleOptions shape;
    shape.features = i % 4 == 3 ? 20 + 3 * static_cast<int>(i) : 2 + static_cast<int>(i % 12);
    shape.groups = 1 + static_cast<int>(i % 3);
    shape.depth = 5 + static_cast<int>(i % 6);
    shape.trees = 6;
    shape.repeats = i % 2 == 0 ? 1 + static_cast<int>(i) : 1;
    if (i % 3 == 1) {
      shape.features = 12 + static_cast<int>(i % 5);
      shape.depth = 16;
      shape.leaf_probability = 0.33;
      shape.repeats = 3;
    }
    const TreeEnsemble model = RandomEnsemble(shape, Seed() + i);
    const auto values =
        RandomRows(model, i % 5 == 0 ? 1500 : 40 + i, i % 2 == 0 ? 0.1 : 0, Seed() + i);
    const RowBlock rows = Block(model, values);
    const auto want = Reference(model)->values(rows);
    for (const std::int64_t leaves : {5, 16, 64}) {
      SCOPED_TRACE(testing::Message() << "model " << i << ", share " << leaves);
      const auto shared = Prepared("Quadrature", Device::kCuda, model, {{"share", leaves}});
      const auto got = shared->values(rows);
      EXPECT_LE(RelativeError(got, want), 5e-7);
      ExpectSameBits([&](const RowBlock& some) { return shared->values(some); }, rows, got);
    }
  }
}

// Trees in parts of several levels, with shared subtrees and without, rows in several blocks.
TEST_F(CudaQuadrature, InteractionsMatchTheCpu) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    RandomEnsembleOptions shape;
    shape.features = 5 + static_cast<int>(4 * i);
    shape.groups = 1 + static_cast<int>(i % 3);
    shape.depth = 7 + static_cast<int>(i % 4);
    shape.trees = 6;
    shape.categorical_probability = i % 4 == 3 ? 0.3 : 0;
    const TreeEnsemble model = RandomEnsemble(shape, Seed() + i);
    const auto values = RandomRows(model, 150 + i, 0.1, Seed() + i);
    const RowBlock rows = Block(model, values);
    const auto want = Reference(model)->interactions(rows);
    for (const std::int64_t leaves : {-1, 0, 8, 16}) {
      SCOPED_TRACE(testing::Message() << "model " << i << ", share " << leaves);
      const auto cuda = Prepared("Quadrature", Device::kCuda, model, {{"share", leaves}});
      const auto got = cuda->interactions(rows);
      EXPECT_LE(RelativeError(got, want), 2e-6);
      ExpectSameBits([&](const RowBlock& some) { return cuda->interactions(some); }, rows, got);
    }
  }
}

TEST_F(CudaQuadrature, ChainsStayExactAtAnyDepth) {
  for (const int depth : {16, 32, 64, 127}) {
    for (const double cover : {0.9, 0.5, 0.1}) {
      const TreeEnsemble model = ChainEnsemble(depth, depth, cover, 5);
      const std::vector<float> values(2 * static_cast<std::size_t>(depth), 0.5f);
      const RowBlock rows = Block(model, values);
      if (depth > 64 && SharedMemoryLimit() < std::size_t{128} << 10) {
        EXPECT_THROW(Prepared("Quadrature", Device::kCuda, model), std::invalid_argument);
        continue;
      }
      const auto got = Prepared("Quadrature", Device::kCuda, model)->values(rows);
      // 127 splits round 127 times: the limit of float is a little over 5e-7 there.
      EXPECT_LE(RelativeError(got, Reference(model)->values(rows)), depth > 64 ? 1e-6 : 5e-7)
          << depth << " " << cover;
    }
  }
}

// Few features, and more than there are places for sums.
TEST_F(CudaQuadrature, BitsDependNeitherOnTheRunNorOnTheBlocks) {
  for (const int features : {9, 120}) {
    const TreeEnsemble model =
        RandomEnsemble({.trees = 50, .features = features, .depth = 10}, Seed());
    const auto values = RandomRows(model, 5000, 0.1, Seed());
    const RowBlock rows = Block(model, values);
    for (const std::int64_t share : {-1, 0}) {
      const Parameters usual = {{"share", share}};
      const Parameters narrow = {{"share", share}, {"threads", std::int64_t{32}}};
      const auto first = Prepared("Quadrature", Device::kCuda, model, usual)->values(rows);
      EXPECT_TRUE(first == Prepared("Quadrature", Device::kCuda, model, usual)->values(rows));
      EXPECT_TRUE(first == Prepared("Quadrature", Device::kCuda, model, narrow)->values(rows));
    }
  }
}

TEST(CudaInterventional, MatchesTheCpuAndAllSubsets) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  for (std::uint64_t i = 0; i < 24; ++i) {
    SCOPED_TRACE(i);
    RandomEnsembleOptions shape;
    shape.features = i % 6 == 5 ? 150 : 1 + static_cast<int>(i % 7);
    shape.depth = static_cast<int>(i % 8);
    shape.groups = 1 + static_cast<int>(i % 3);
    shape.categorical_probability = i % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(shape, Seed() + i);
    const auto values = RandomRows(model, 1 + 17 * i, 0.2, Seed() + i);
    const auto others = RandomRows(model, 1 + 3 * i, 0.2, Seed() + i + 1000);
    const RowBlock rows = Block(model, values);
    const RowBlock background = Block(model, others);
    const auto cuda = Prepared("Interventional", Device::kCuda, model);
    const auto cpu = Prepared("Interventional", Device::kCpu, model);
    cuda->set_background(background);
    cpu->set_background(background);
    const auto got = cuda->values(rows);
    EXPECT_LE(RelativeError(got, cpu->values(rows)), 1e-12);
    EXPECT_TRUE(got == cuda->values(rows));
    if (shape.features > 12) continue;
    const RowBlock few = rows.slice(0, std::min<std::size_t>(rows.rows, 4));
    const auto want = BruteForceInterventional(model, few, background);
    EXPECT_LE(RelativeError(std::span<const double>(got).first(want.size()), want), 1e-12);
  }
}

// More rows than patterns wait at once, more background rows than a piece has.
TEST(CudaInterventional, PiecesChangeNothing) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  for (const int trees : {1, 12}) {
    const TreeEnsemble model = RandomEnsemble({.trees = trees, .features = 40, .depth = 7}, Seed());
    const auto values = RandomRows(model, 150'001, 0.1, Seed());
    const auto others = RandomRows(model, 140'003, 0.1, Seed() + 1);
    const RowBlock rows = Block(model, values);
    const auto cuda = Prepared("Interventional", Device::kCuda, model);
    const auto cpu = Prepared("Interventional", Device::kCpu, model);
    cuda->set_background(Block(model, others));
    cpu->set_background(Block(model, others));
    const auto got = cuda->values(rows);
    EXPECT_LE(RelativeError(got, cpu->values(rows)), 1e-13);
    ExpectSameBits([&](const RowBlock& some) { return cuda->values(some); }, rows, got);
    // Another background of the same model, and the first one anew.
    const RowBlock few = rows.slice(0, 100);
    cuda->set_background(rows.slice(0, 77));
    cpu->set_background(rows.slice(0, 77));
    EXPECT_LE(RelativeError(cuda->values(few), cpu->values(few)), 1e-13);
    cuda->set_background(Block(model, others));
    const auto again = cuda->values(few);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), got.begin()));
  }
}

// The device's interventional values against the processor's.
double InterventionalError(const TreeEnsemble& model, const std::vector<float>& values,
                           const std::vector<float>& background) {
  const auto cuda = Prepared("Interventional", Device::kCuda, model);
  const auto cpu = Prepared("Interventional", Device::kCpu, model);
  cuda->set_background(Block(model, background));
  cpu->set_background(Block(model, background));
  return RelativeError(cuda->values(Block(model, values)), cpu->values(Block(model, values)));
}

// More treelets than wait at once: ranges of them begin and end within an output, and outputs
// without trees stand before, between and behind.
TEST(CudaInterventional, ManyTreeletsOfSomeOutputs) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  for (const int depth : {6, 9}) {
    TreeEnsemble model =
        RandomEnsemble({.trees = 240, .features = 12, .groups = 3, .depth = depth}, Seed());
    model.groups = 7;
    model.base_score = {0.5, 1, 2, 3, 4, 5, 6};
    for (Tree& tree : model.trees) tree.group = 2 * tree.group + 1;
    const auto values = RandomRows(model, 9001, 0.1, Seed());
    const auto others = RandomRows(model, 300, 0.1, Seed() + 1);
    EXPECT_LE(InterventionalError(model, values, others), 1e-12);
  }
}

// Some leaves of these have tables, others are too deep for them.
TEST(CudaInterventional, DeepLeaves) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  for (const int depth : {12, 13, 20, 64}) {
    const TreeEnsemble model = ChainEnsemble(depth, depth, 0.9, Seed());
    const auto values = RandomRows(model, 700, 0.1, Seed());
    const auto others = RandomRows(model, depth < 20 ? 300 : 60, 0.1, Seed() + 1);
    EXPECT_LE(InterventionalError(model, values, others), 1e-12);
  }
  const TreeEnsemble chain = ChainEnsemble(65, 65, 0.9, Seed());
  EXPECT_THROW(Prepared("Interventional", Device::kCuda, chain), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap
#endif

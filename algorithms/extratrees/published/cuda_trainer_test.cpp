// The report's method on a GPU against its CPU backend, node by node, on fresh random tables.

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <random>

#include "algorithms/extratrees/published/trainer.hpp"
#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"

namespace retable::extratrees::published {
namespace {

class CudaPublished : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    random_.seed(FreshSeed());
  }
  std::mt19937_64 random_;
};

TEST_F(CudaPublished, GrowsTheSameTrees) {
  struct {
    std::size_t rows, columns;
    std::uint32_t classes;
    int trees;
  } const shapes[] = {{100, 4, 3, 16}, {700, 9, 3, 5}, {400, 64, 10, 4}};
  for (const auto& shape : shapes) {
    std::vector<float> values(shape.rows * shape.columns);
    std::vector<std::uint32_t> labels(shape.rows);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool constant = i % shape.columns % 4 == 3;
      values[i] = static_cast<float>(random_() % (constant ? 1 : 50)) / 8;
    }
    for (std::uint32_t& label : labels) {
      label = static_cast<std::uint32_t>(random_() % shape.classes);
    }
    const FeatureMatrix data{values.data(), shape.rows, shape.columns};
    const ForestOptions options{.n_trees = shape.trees, .seed = random_()};
    for (const Sampling sampling : {Sampling::kUniform, Sampling::kBinomial}) {
      const auto cpu = PublishedCpu({sampling}).fit(data, labels, options);
      const auto gpu = PublishedCuda({sampling}).fit(data, labels, options);
      EXPECT_TRUE(cpu->host().trees == gpu->host().trees) << shape.rows << " rows";
    }
  }
}

}  // namespace
}  // namespace retable::extratrees::published

#endif

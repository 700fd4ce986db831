// Games of perceptrons on a GPU against the CPU, bit for bit, on fresh random networks and rows.

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <random>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"
#include "experiments/shapley/games/perceptrons/mlp.hpp"

namespace retable::experiments {
namespace {

class CudaMlp : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    random_.seed(FreshSeed());
  }

  // Half of the values of a row are small integers, so that rows agree in many features.
  std::vector<float> Normals(std::size_t count, bool integers = false) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& v : values) {
      v = normal(random_);
      if (integers && random_() % 2 == 0) v = std::round(v);
    }
    return values;
  }

  Mlp RandomMlp(std::size_t features, std::size_t hidden) {
    Mlp model;
    model.features = features;
    model.hidden = hidden;
    model.weight = Normals(features * hidden);
    model.bias = Normals(hidden);
    model.out = Normals(hidden);
    model.out_bias = Normals(1)[0];
    return model;
  }

  std::mt19937_64 random_;
};

TEST_F(CudaMlp, HasTheCpusValues) {
  for (const std::size_t d : {1, 2, 3, 10, 31, 64, 65, 107, 300}) {
    for (const std::size_t hidden : {1, 8, 13, 100, 128}) {
      const std::size_t rows = 1 + random_() % 130, count = 1 + random_() % 150;
      SCOPED_TRACE(testing::Message() << d << " features, " << hidden << " units, " << rows
                                      << " rows, " << count << " walks");
      const Mlp model = RandomMlp(d, hidden);
      const auto row = Normals(d, true), background = Normals(rows * d, true);
      const retable::treeshap::RowBlock block{background, rows, d};
      const auto host = MakeMlpGame(model, row, block);
      const auto device = MakeDeviceMlpGame(MlpTables(model, row, block));
      std::vector<std::int32_t> orders(count * d);
      for (std::size_t i = 0; i < count; ++i) {
        shapley::UniformOrder(random_(), 0, i, std::span(orders).subspan(i * d, d));
      }
      std::vector<double> want(count * (d + 1)), got(want.size());
      host->walks(orders, want);
      device->walks(orders, got);
      EXPECT_TRUE(got == want);
      const auto coalitions = shapley::Prefixes(std::span(orders).last(d));
      want.resize(d + 1);
      got.assign(d + 1, 0);
      host->evaluate(coalitions, want);
      device->evaluate(coalitions, got);
      EXPECT_TRUE(got == want);
      device->evaluate({}, {});
      device->walks({}, {});
    }
  }
  const Mlp wide = RandomMlp(2, 129);
  const std::vector<float> row = {1, 2};
  EXPECT_THROW(MakeDeviceMlpGame(MlpTables(wide, row, {row, 1, 2})), std::invalid_argument);
}

}  // namespace
}  // namespace retable::experiments

#endif

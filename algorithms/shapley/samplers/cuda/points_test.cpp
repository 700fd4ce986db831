// Sobol and Orthogonal on a GPU against their CPU backends, bit for bit, on fresh random seeds.

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <random>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"

namespace retable::shapley {
namespace {

class CudaPoints : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    random_.seed(FreshSeed());
  }

  // One device sampler for all sizes: what it keeps must not show.
  void ExpectSameOrders(std::size_t n, int d, const Parameters& parameters = {}) {
    SCOPED_TRACE(testing::Message() << "n " << n << ", d " << d);
    const auto& registry = Registry<PermutationSampler>::Instance();
    if (!device_) device_ = registry.Make(GetParam(), Device::kCuda, parameters);
    const std::uint64_t seed = random_();
    const auto want = registry.Make(GetParam(), Device::kCpu, parameters)->sample(n, d, seed);
    for (int call = 0; call < 2; ++call) {
      const auto got = device_->sample(n, d, seed);
      EXPECT_EQ(got.dimension, d);
      EXPECT_TRUE(got.orders == want.orders);
      EXPECT_TRUE(got.weights.empty());
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<PermutationSampler> device_;
};

TEST_P(CudaPoints, AreTheCpusPermutations) {
  for (const int d : {1, 2, 3, 4, 5, 10, 31, 32, 33, 34, 64, 65, 129, 1000}) {
    for (const std::size_t n : {0, 1, 2, 7, 23, 24, 25, 100, 1999}) ExpectSameOrders(n, d);
  }
}

TEST_P(CudaPoints, OfManyOrdersToo) {
  for (const int d : {1, 2, 3, 10, 64}) ExpectSameOrders(10000, d);
  // Several batches.
  if (GetParam() == std::string("Sobol")) {
    ExpectSameOrders(34001, 1000);
  } else {
    ExpectSameOrders(2200001, 3);
  }
}

TEST_P(CudaPoints, OfRandomSizesToo) {
  for (int trial = 0; trial < 60; ++trial) {
    const auto d = static_cast<int>(1 + random_() % 300);
    ExpectSameOrders(1 + random_() % 700, d);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CudaPoints, testing::Values("Sobol", "Orthogonal"),
                         [](const auto& name) { return std::string(name.param); });

TEST(CudaSobol, RenamesPlayersAsTheCpuDoes) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  const auto& registry = Registry<PermutationSampler>::Instance();
  const std::uint64_t seed = FreshSeed();
  const Parameters parameters = {{"relabel", true}};
  for (const int d : {2, 3, 40}) {
    EXPECT_TRUE(registry.Make("Sobol", Device::kCuda, parameters)->sample(50, d, seed).orders ==
                registry.Make("Sobol", Device::kCpu, parameters)->sample(50, d, seed).orders);
  }
  EXPECT_THROW(registry.Make("Sobol", Device::kCuda, {})->sample(1, 4000, 1),
               std::invalid_argument);
}

}  // namespace
}  // namespace retable::shapley

#endif

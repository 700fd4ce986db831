// The discrepancy on a GPU against the CPU's, up to the order of its sums, on fresh random seeds.

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <cuda_runtime_api.h>

#include <cmath>

#include "algorithms/shapley/discrepancy/discrepancy.hpp"
#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"

namespace retable::shapley {
namespace {

class CudaDiscrepancy : public testing::TestWithParam<KernelKind> {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_P(CudaDiscrepancy, IsTheCpus) {
  const std::uint64_t seed = FreshSeed();
  for (const int d : {1, 2, 3, 64, 130}) {
    PermutationSample sample =
        Registry<PermutationSampler>::Instance().Make("MC", Device::kCpu, {})->sample(77, d, seed);
    const PermutationKernel kernel(GetParam(), 4, d);
    const double scale = std::sqrt(kernel.Self());
    for (const bool weighted : {false, true}) {
      if (weighted) sample.weights = OptimalWeights(sample, kernel);
      const double want = Discrepancy(sample, kernel), got = DeviceDiscrepancy(sample, kernel);
      // A discrepancy is the root of a difference of numbers of size K(s, s).
      EXPECT_TRUE(std::abs(got * got - want * want) < 1e-12 * scale * scale ||
                  std::abs(got - want) < 1e-12 * scale)
          << "d " << d << (weighted ? ", weighted: " : ": ") << got << " for " << want;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaDiscrepancy,
                         testing::Values(KernelKind::kMallows, KernelKind::kKendall,
                                         KernelKind::kSpearman));

}  // namespace
}  // namespace retable::shapley

#else

#include <stdexcept>

#include "algorithms/shapley/discrepancy/discrepancy.hpp"

namespace retable::shapley {

TEST(Discrepancy, OnADeviceNeedsOne) {
  const auto sampler = Registry<PermutationSampler>::Instance().Make("MC", Device::kCpu, {});
  EXPECT_THROW(DeviceDiscrepancy(sampler->sample(3, 4, 1), {KernelKind::kMallows, 4, 4}),
               std::runtime_error);
}

}  // namespace retable::shapley

#endif

//! @file
//! One test body for both devices: the sums of a CUDA twin are those of the CPU.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/quantiles/moment_accumulator.hpp"

#if defined(RETABLE_HAS_CUDA)
#include <cuda_runtime_api.h>

#include "algorithms/quantiles/moments_cuda.hpp"
#endif

namespace retable::quantiles {
namespace {

//! Why there is no device to test, or an empty string.
std::string WhyNoDevice() {
#if defined(RETABLE_HAS_CUDA)
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count == 0 ? "no CUDA device" : "";
#else
  return "built without CUDA";
#endif
}

std::unique_ptr<MomentAccumulator> Make(Device device, bool central, int order) {
#if defined(RETABLE_HAS_CUDA)
  if (device == Device::kCuda) {
    return central ? MakeCentralAccumulatorCuda(order) : MakeNaiveAccumulatorCuda(order);
  }
#endif
  (void)device;
  return central ? MakeCentralAccumulator(order) : MakeNaiveAccumulator(order);
}

class OnDevice : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (GetParam() != Device::kCuda) return;
    const std::string why = WhyNoDevice();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

//! Moments about the known centre of the range, in long double.
std::vector<double> Exact(const std::vector<double>& values, const ScaledMoments& scaled) {
  std::vector<long double> sum(static_cast<std::size_t>(scaled.order) + 1, 0);
  double count = 0;
  for (const double x : values) {
    if (std::isnan(x)) continue;
    ++count;
    const long double t = (static_cast<long double>(x) - scaled.centre()) / scaled.half_range();
    long double power = 1;
    for (auto& s : sum) {
      s += power;
      power *= t;
    }
  }
  std::vector<double> out;
  for (const long double s : sum) out.push_back(static_cast<double>(s / count));
  return out;
}

TEST_P(OnDevice, MomentsAreRightAtEverySize) {
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1u, 2u, 31u, 8191u, 8192u, 8193u, 65536u, 65537u, 300001u}) {
    for (const bool central : {true, false}) {
      std::vector<double> values(n + 1);
      for (double& x : values) x = normal(engine);
      if (n > 10) values[n / 2] = std::numeric_limits<double>::quiet_NaN();
      // From an odd address too.
      for (const std::size_t skip : {0u, 1u}) {
        const std::vector<double> used(values.begin() + static_cast<long>(skip), values.end());
        const auto sums = Make(GetParam(), central, 10);
        sums->update(std::span<const double>(values).subspan(skip));
        ASSERT_EQ(sums->count(), used.size() - (n > 10 ? 1 : 0));
        if (used.size() < 2) continue;
        const ScaledMoments scaled = sums->scaled();
        const auto exact = Exact(used, scaled);
        for (std::size_t k = 0; k <= 10; ++k) {
          ASSERT_NEAR(scaled.moment[k], exact[k], 1e-9) << n << " " << central << " " << k;
        }
      }
    }
  }
}

TEST_P(OnDevice, CentralSumsHoldOnOffsetFloats) {
  std::mt19937_64 engine(6);
  std::normal_distribution<float> normal(1000, 1);
  std::vector<float> values(100003);
  for (float& x : values) x = normal(engine);
  for (const int order : {1, 5, 7, 15}) {
    const auto sums = Make(GetParam(), true, order);
    sums->update(std::span<const float>(values));
    const auto exact = Exact({values.begin(), values.end()}, sums->scaled());
    for (int k = 0; k <= order; ++k) {
      ASSERT_NEAR(sums->scaled().moment[static_cast<std::size_t>(k)],
                  exact[static_cast<std::size_t>(k)], 1e-10);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Moments, OnDevice, testing::Values(Device::kCpu, Device::kCuda),
                         [](const auto& param) { return DeviceName(param.param); });

}  // namespace
}  // namespace retable::quantiles

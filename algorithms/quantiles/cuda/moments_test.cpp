//! @file
//! Moments on both devices against long double, and the CUDA moments against the CPU's.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "base/cuda/devices.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "algorithms/quantiles/cuda/device_testing.hpp"
#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/cuda/moments.hpp"
#include "base/cuda/memory.hpp"
#endif

namespace retable::quantiles {
namespace {

std::unique_ptr<MomentAccumulator> Make(Device device, bool central, int order) {
#if defined(RETABLE_HAS_CUDA)
  if (device == Device::kCuda) {
    return central ? MakeCentralAccumulatorCuda(order) : MakeNaiveAccumulatorCuda(order);
  }
#endif
  (void)device;
  return central ? MakeCentralAccumulator(order) : MakeNaiveAccumulator(order);
}

class CudaAndCpuMoments : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (GetParam() == Device::kCuda && !HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
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

TEST_P(CudaAndCpuMoments, AreRightAtEverySize) {
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

TEST_P(CudaAndCpuMoments, HoldOnOffsetFloatsIfCentral) {
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

INSTANTIATE_TEST_SUITE_P(Moments, CudaAndCpuMoments, testing::Values(Device::kCpu, Device::kCuda),
                         [](const auto& param) { return DeviceName(param.param); });

#if defined(RETABLE_HAS_CUDA)
template <class Real>
class CudaMoments : public CudaTest<Real> {};
TYPED_TEST_SUITE(CudaMoments, Reals, RealName);

//! Largest difference of two moment vectors; infinite where a count or a bound differs.
double Difference(const ScaledMoments& a, const ScaledMoments& b) {
  double worst = a.count == b.count && a.min == b.min && a.max == b.max
                     ? 0
                     : std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k <= static_cast<std::size_t>(a.order); ++k) {
    const double error = std::abs(a.moment[k] - b.moment[k]);
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}

TYPED_TEST(CudaMoments, MatchTheCpuOnEveryShapeAndLength) {
  using Real = TypeParam;
  std::mt19937_64 engine(TestSeed());
  for (const std::size_t n : kStreamLengths) {
    DeviceArray<Real> device(n + 1);
    for (const StreamShape& shape : kStreamShapes) {
      if (shape.missing && n <= 100) continue;
      const std::vector<Real> all = DrawStream<Real>(shape, n + 1, engine);
      const std::size_t first = n % 2;  // odd lengths start off alignment
      device.Upload(all);
      for (const bool central : {true, false}) {
        // Raw sums of data far off zero are noise on either device.
        if (!central && shape.offset) continue;
        for (const int order : {5, 10, 15}) {
          const auto cpu = Make(Device::kCpu, central, order);
          const auto cuda = Make(Device::kCuda, central, order);
          cpu->update(std::span<const Real>(all).subspan(first, n));
          dynamic_cast<DeviceUpdate&>(*cuda).update_device(device.data() + first, n, nullptr);
          if (cpu->min() == cpu->max()) continue;
          EXPECT_LE(Difference(cuda->scaled(), cpu->scaled()), central ? 1e-6 : 1e-5)
              << shape.name << ", " << n << " values, order " << order << ", central " << central;
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace retable::quantiles

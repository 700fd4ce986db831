//! @file
//! The CUDA twin of "Retable" answers as the CPU's does, on the columns that try a summation
//! scheme.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"

#if defined(RETABLE_HAS_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace retable::quantiles {
namespace {

bool HasDevice() {
#if defined(RETABLE_HAS_CUDA)
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
#else
  return false;
#endif
}

template <class Real>
void ExpectTwins(const std::vector<Real>& values, double tolerance, bool log = false) {
  const auto& registry = Registry<QuantileSketch>::Instance();
  const auto cpu = registry.Make("Retable", Device::kCpu, {{"log", log}});
  const auto cuda = registry.Make("Retable", Device::kCuda, {{"log", log}});
  cpu->update(std::span<const Real>(values));
  // In two parts, from an address that is not aligned.
  const std::size_t cut = values.size() / 3 | 1;
  cuda->update(std::span<const Real>(values).first(cut));
  cuda->update(std::span<const Real>(values).subspan(cut));
  ASSERT_EQ(cuda->count(), cpu->count());
  const auto phis = NiaePhis(101);
  const auto a = cpu->quantiles(phis);
  const auto b = cuda->quantiles(phis);
  const double range = a.back() - a.front();
  for (std::size_t i = 0; i < phis.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * range) << phis[i];
  }
}

TEST(RetableCuda, AnswersAsItsTwin) {
  if (!HasDevice()) GTEST_SKIP() << "no CUDA device";
  std::mt19937_64 engine(2);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1000u, 4096u, 100003u, 5000011u}) {
    std::vector<double> values(n);
    for (double& x : values) x = 10 + normal(engine);
    values[n / 2] = std::numeric_limits<double>::quiet_NaN();
    ExpectTwins(values, 1e-3);
    ExpectTwins(std::vector<float>(values.begin(), values.end()), 1e-3);
    // Three levels: both find them exactly.
    for (double& x : values) x = x < 9.5 ? 0 : x < 10.5 ? 1 : 5;
    ExpectTwins(values, 1e-9);
  }
}

TEST(RetableCuda, FindsLatticesAndTheLogBasis) {
  if (!HasDevice()) GTEST_SKIP() << "no CUDA device";
  std::mt19937_64 engine(6);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1000u, 100003u, 5000011u}) {
    std::vector<double> values(n);
    for (double& x : values) x = std::exp(2 * normal(engine));
    ExpectTwins(values, 1e-3, true);
    // Whole numbers, then two decimals: more places than atoms.
    for (double& x : values) x = std::floor(30 * normal(engine));
    ExpectTwins(values, 1e-2);
    for (double& x : values) x = std::round(100 * normal(engine)) / 100;
    ExpectTwins(std::vector<float>(values.begin(), values.end()), 1e-2);
  }
}

}  // namespace
}  // namespace retable::quantiles

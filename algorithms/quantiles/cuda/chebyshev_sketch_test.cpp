//! @file
//! The CUDA backend of the sketch "Retable" answers as the CPU's does, on the columns that try a
//! summation scheme.

#if defined(RETABLE_HAS_CUDA)

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/quantiles/cuda/device_testing.hpp"
#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"
#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"
#include "base/cuda/memory.hpp"

namespace retable::quantiles {
namespace {

template <class Real>
void ExpectTheCpusAnswers(const std::vector<Real>& values, double tolerance, bool log = false) {
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

using CudaSketchOnHostMemory = CudaTest<double>;

TEST_F(CudaSketchOnHostMemory, AnswersAsTheCpu) {
  std::mt19937_64 engine(2);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1000u, 4096u, 100003u, 5000011u}) {
    std::vector<double> values(n);
    for (double& x : values) x = 10 + normal(engine);
    values[n / 2] = std::numeric_limits<double>::quiet_NaN();
    ExpectTheCpusAnswers(values, 1e-3);
    ExpectTheCpusAnswers(std::vector<float>(values.begin(), values.end()), 1e-3);
    // Three levels: both find them exactly.
    for (double& x : values) x = x < 9.5 ? 0 : x < 10.5 ? 1 : 5;
    ExpectTheCpusAnswers(values, 1e-9);
  }
}

TEST_F(CudaSketchOnHostMemory, FindsLatticesAndTheLogBasis) {
  std::mt19937_64 engine(6);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1000u, 100003u, 5000011u}) {
    std::vector<double> values(n);
    for (double& x : values) x = std::exp(2 * normal(engine));
    ExpectTheCpusAnswers(values, 1e-3, true);
    // Whole numbers, then two decimals: more lattice points than atoms.
    for (double& x : values) x = std::floor(30 * normal(engine));
    ExpectTheCpusAnswers(values, 1e-2);
    for (double& x : values) x = std::round(100 * normal(engine)) / 100;
    ExpectTheCpusAnswers(std::vector<float>(values.begin(), values.end()), 1e-2);
  }
}

template <class Real>
class CudaSketch : public CudaTest<Real> {};
TYPED_TEST_SUITE(CudaSketch, Reals, RealName);

//! Mean distance of the answers, or of their logarithms, over the range; 1 for another basis.
template <class Real>
double AnswersApart(const std::vector<Real>& host, const Real* device, bool log) {
  const auto& registry = Registry<QuantileSketch>::Instance();
  const auto cpu = registry.Make("Retable", Device::kCpu, {{"log", log}});
  const auto cuda = registry.Make("Retable", Device::kCuda, {{"log", log}});
  cpu->update(std::span<const Real>(host));
  cuda->device_update()->update_device(device, host.size(), nullptr);
  const auto phis = NiaePhis(1001);
  const SketchAnswer a = dynamic_cast<ChebyshevSketch&>(*cpu).Ask(phis);
  const SketchAnswer b = dynamic_cast<ChebyshevSketch&>(*cuda).Ask(phis);
  if (a.status.basis != b.status.basis) return 1;
  const auto scale = [&](double x) { return a.status.basis == "log" ? std::log(x) : x; };
  const double range = scale(a.values.back()) - scale(a.values.front());
  double area = 0;
  for (std::size_t i = 0; i < phis.size(); ++i) {
    area += std::abs(scale(a.values[i]) - scale(b.values[i]));
  }
  return range > 0 ? area / static_cast<double>(phis.size()) / range : area;
}

TYPED_TEST(CudaSketch, AnswersFromDeviceMemoryWithAndWithoutLogarithms) {
  using Real = TypeParam;
  struct Shape {
    const char* name;
    bool heavy;
    double (*draw)(double normal, double uniform);
  };
  const std::vector<Shape> shapes{
      {"lognormal", true, [](double z, double) { return std::exp(z); }},
      {"lognormal, sigma 3", true, [](double z, double) { return std::exp(3 * z); }},
      {"Pareto", true, [](double, double u) { return std::pow(1 - u, -1.5); }},
      {"normal+10", false, [](double z, double) { return 10 + z; }},
      {"normal", false, [](double z, double) { return z; }},
      {"pixels", false, [](double z, double u) { return z < 0.5 ? 0 : std::floor(256 * u); }}};
  std::mt19937_64 engine(TestSeed());
  std::normal_distribution<double> normal;
  for (const std::size_t n : {std::size_t{3000}, std::size_t{100003}, std::size_t{4206649}}) {
    DeviceArray<Real> device(n);
    for (const auto& [name, heavy, draw] : shapes) {
      std::vector<Real> host(n);
      for (Real& x : host) {
        const double z = normal(engine);
        x = static_cast<Real>(draw(z, Uniform(engine)));
      }
      device.Upload(host);
      for (const bool log : {false, true}) {
        // Moments of x alone do not tell heavy tails from a few atoms, on any device.
        if (!log && heavy) continue;
        EXPECT_LE(AnswersApart(host, device.data(), log), 1e-3)
            << name << ", " << n << " values, logarithms " << log;
      }
    }
  }
}

}  // namespace
}  // namespace retable::quantiles

#endif

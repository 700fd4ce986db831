#pragma once
//! @file
//! What the tests of the CUDA backend share: a fixture that skips without a device, fresh random
//! input whose seed is printed.

#if defined(RETABLE_HAS_CUDA)

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"

namespace retable::quantiles {

//! One seed for all tests of a run.
inline std::uint64_t TestSeed() {
  static const std::uint64_t seed = FreshSeed();
  return seed;
}

//! A test of one type of value. Suites derived from it have names that begin with "Cuda".
template <class Real>
class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
};
using Reals = testing::Types<float, double>;
struct RealName {
  template <class Real>
  static std::string GetName(int) {
    return sizeof(Real) == 4 ? "float32" : "float64";
  }
};

inline double Uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}
inline double Pixel(std::mt19937_64& engine) {
  return Uniform(engine) < 0.7 ? 0 : std::floor(256 * Uniform(engine));
}

//! Streams that try a summation scheme.
struct StreamShape {
  const char* name;
  bool offset;  //!< far off zero, against its spread
  double (*draw)(double normal, std::mt19937_64& engine);
  bool missing = false;  //!< every 37th value
};
inline const std::vector<StreamShape> kStreamShapes{
    {"normal", false, [](double z, std::mt19937_64&) { return z; }},
    {"normal+1e3", true, [](double z, std::mt19937_64&) { return 1000 + z; }},
    {"lognormal", false, [](double z, std::mt19937_64&) { return std::exp(z); }},
    {"pixels", false, [](double, std::mt19937_64& engine) { return Pixel(engine); }},
    {"timestamps", true,
     [](double, std::mt19937_64& engine) { return 1.6e9 + 1e5 * Uniform(engine); }},
    {"normal, with missing values", false, [](double z, std::mt19937_64&) { return z; }, true}};
//! Below, at and above the lengths at which kernels change.
inline constexpr std::size_t kStreamLengths[] = {1, 2, 1000, 4096, 100003, 4000037, 5000011};

template <class Real>
std::vector<Real> DrawStream(const StreamShape& shape, std::size_t n, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  std::vector<Real> values(n);
  for (Real& x : values) x = static_cast<Real>(shape.draw(normal(engine), engine));
  if (shape.missing) {
    for (std::size_t i = 0; i < n; i += 37) values[i] = std::numeric_limits<Real>::quiet_NaN();
  }
  return values;
}

}  // namespace retable::quantiles

#endif

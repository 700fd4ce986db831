//! @file
//! The CUDA sums of a long stream are those of the CPU: on every shape and length, and on columns
//! of few distinct values, which are counted, with what may spoil a count.

#include "algorithms/quantiles/cuda/stream_sums.hpp"

#if defined(RETABLE_HAS_CUDA)

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/quantiles/cuda/device_testing.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/sums/moment_difference.hpp"
#include "base/cuda/memory.hpp"

namespace retable::quantiles {
namespace {

template <class Real>
class CudaChebyshev : public CudaTest<Real> {};
TYPED_TEST_SUITE(CudaChebyshev, Reals, RealName);

TYPED_TEST(CudaChebyshev, SumsMatchTheCpuOnEveryShapeAndLength) {
  using Real = TypeParam;
  std::mt19937_64 engine(TestSeed());
  for (const std::size_t n : kStreamLengths) {
    DeviceArray<Real> device(n + 1);
    for (const StreamShape& shape : kStreamShapes) {
      if (shape.missing && n <= 100) continue;
      const std::vector<Real> all = DrawStream<Real>(shape, n + 1, engine);
      const std::size_t first = n % 2;  // odd lengths start off alignment
      const auto values = std::span<const Real>(all).subspan(first, n);
      device.Upload(all);
      for (const int order : {5, 10, 15}) {
        ChebyshevAccumulator cpu(order, false);
        cpu.Update(values);
        ChebyshevCuda cuda(order);
        EXPECT_LE(MomentDifference(cuda.Sum(device.data() + first, n, nullptr), cpu.sums(), order),
                  sizeof(Real) == 4 ? 1e-8 : 1e-13)
            << shape.name << ", " << n << " values, order " << order;
      }
    }
  }
}

//! Enough for counting, and not a multiple of anything.
constexpr std::size_t kLength = (std::size_t{1} << 22) + 12345;

//! A column, and what is done to it.
template <class Real>
struct Case {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
  std::function<void(std::vector<Real>&)> spoil;
  //! A value repeats inside of the range, and the column is summed. What float32 rounds it by does
  //! not average out.
  bool repeats = false;
  //! It may lie next to the middle of the range: 2 - y^2 rounds alike in all warps, by up to 2^-24
  //! of the terms' size, and the highest terms multiply that by (order / 2)^2.
  bool in_the_middle = false;
};

// A normal draw of angle 20 u, so that u can choose as well whether it is taken.
double NormalAt(double u, std::mt19937_64& engine) {
  return std::sqrt(-2 * std::log1p(-Uniform(engine))) * std::cos(20 * u);
}

//! Puts other values at `count` indices that the device's sample, the first 256 of every 2048th
//! part of a column, leaves out.
template <class Real>
void Scatter(std::vector<Real>& values, std::size_t count,
             const std::function<Real(std::size_t)>& x) {
  const std::size_t part = values.size() / 2048;
  for (std::size_t i = 0; i < count; ++i) {
    values[i * values.size() / count / part * part + part / 2] = x(i);
  }
}

std::function<double(std::mt19937_64&)> Whole(double n) {
  return [n](std::mt19937_64& e) { return std::floor(n * Uniform(e)); };
}

//! Powers of a uniform number: the higher, the more values lie near zero.
std::function<double(std::mt19937_64&)> NearLow(double power) {
  return [power](std::mt19937_64& e) { return std::pow(Uniform(e), power); };
}

template <class Real>
std::vector<Case<Real>> Clean() {
  return {
      {"pixels", Pixel},
      {"uniform bytes", Whole(256)},
      {"labels", Whole(2)},
      {"1000 whole numbers", Whole(1000)},
      {"more whole numbers than can be counted", Whole(3000)},
      {.name = "zeros among normals",
       .draw =
           [](auto& e) {
             const double u = Uniform(e), normal = NormalAt(u, e);
             return u < 0.7 ? 0 : normal;
           },
       .repeats = true,
       .in_the_middle = true},
      {.name = "an eighth of zeros among normals",
       .draw =
           [](auto& e) {
             const double u = Uniform(e), normal = NormalAt(u, e);
             return u < 0.125 ? 0 : normal;
           },
       .repeats = true,
       .in_the_middle = true},
      {.name = "three values among normals",
       .draw =
           [](auto& e) {
             const double u = Uniform(e), normal = NormalAt(u, e);
             return u < 0.2 ? 0 : u < 0.4 ? 0.7 : u < 0.6 ? -1.1 : normal;
           },
       .repeats = true,
       .in_the_middle = true},
      {.name = "half of the mass near the lower bound", .draw = NearLow(9), .repeats = true},
      {.name = "nearly all of it", .draw = NearLow(40), .repeats = true},
      {.name = "near the upper bound",
       .draw = [](auto& e) { return 1 - NearLow(9)(e); },
       .repeats = true},
      {"negative", [](auto& e) { return std::floor(300 * Uniform(e)) - 500; }},
      {"one value", [](auto&) { return 0.1; }},
      {"seconds", [](auto& e) { return 1.6e9 + std::floor(300 * Uniform(e)); }},
      {"pixels over 255", [](auto& e) { return Real(Pixel(e)) / Real(255); }},
      {"tenths", [](auto& e) { return Real(43 + std::floor(37 * Uniform(e))) / Real(10); }},
      {"thirds", [](auto& e) { return Real(std::floor(37 * Uniform(e))) / Real(3); }},
  };
}

template <class Real>
std::vector<Case<Real>> Spoilt() {
  const Real infinity = std::numeric_limits<Real>::infinity();
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  return {
      {"an outlier at the very end", Pixel, [](auto& v) { v.back() = Real(1e6) + Real(0.25); }},
      {"an outlier at the very start", Pixel, [](auto& v) { v.front() = Real(-77.125); }},
      {"a last bit off", Whole(256),
       [](auto& v) { v[v.size() / 3] = std::nextafter(Real(17), Real(18)); }},
      {"200 off the lattice", Pixel,
       [](auto& v) { Scatter<Real>(v, 200, [](auto i) { return Real(i) + Real(0.3); }); }},
      {"1000 off the lattice", Pixel,
       [](auto& v) { Scatter<Real>(v, 1000, [](auto i) { return Real(0.3) * Real(i % 800); }); },
       true},
      {"beyond the sample's range", Whole(100),
       [](auto& v) { Scatter<Real>(v, 90, [](auto i) { return Real(100 + 7 * i); }); }},
      {"negative zeros", Pixel,
       [](auto& v) {
         for (Real& x : v) x = x == 0 ? -x : x;
       }},
      {"missing values", Pixel,
       [nan](auto& v) {
         for (std::size_t i = 0; i < v.size(); i += 7) v[i] = nan;
       }},
      {"missing values among continuous ones", [](auto& e) { return NormalAt(Uniform(e), e); },
       [nan](auto& v) {
         for (std::size_t i = 0; i < v.size(); i += 7) v[i] = nan;
       }},
      {"few but missing values", Pixel,
       [nan](auto& v) {
         for (std::size_t i = 0; i < v.size(); ++i) v[i] = i % 50021 == 0 ? v[i] : nan;
       }},
      {"an infinite value", Pixel, [infinity](auto& v) { v[v.size() - 2] = infinity; }},
      {"two infinite values", Pixel,
       [infinity](auto& v) {
         v[v.size() - 2] = infinity;
         v[7] = -infinity;
       }},
  };
}

//! Sums within rounding, the digits of what was counted, and the same bits on a second call.
template <class Real>
void ExpectTheCpusSums(const std::vector<Case<Real>>& cases) {
  std::mt19937_64 engine(TestSeed());
  DeviceArray<Real> device(kLength + 1);
  for (const Case<Real>& tried : cases) {
    std::vector<Real> host(kLength);
    for (Real& x : host) x = static_cast<Real>(tried.draw(engine));
    if (tried.spoil) tried.spoil(host);
    host.insert(host.begin(), Real(0));  // so that the values start off alignment
    device.Upload(host);
    for (const int order : {5, 15}) {
      ChebyshevAccumulator cpu(order);
      cpu.Update(std::span<const Real>(host).subspan(1));
      ChebyshevCuda cuda(order);
      const ChebyshevSums found = cuda.Sum(device.data() + 1, kLength, nullptr);
      const ChebyshevSums again = cuda.Sum(device.data() + 1, kLength, nullptr);
      const double middle = tried.in_the_middle ? 0x1p-24 * (order / 2) * (order / 2) : 0;
      const double allowed = sizeof(Real) == 8 ? 1e-13 : tried.repeats ? 5e-7 + middle : 1e-8;
      EXPECT_LE(MomentDifference(found, cpu.sums(), order), allowed) << tried.name << ", " << order;
      if (std::isinf(found.max)) continue;
      EXPECT_EQ(cuda.digits(), cpu.digits()) << tried.name << ", " << order;
      for (int k = 0; k <= order; ++k) EXPECT_EQ(found.sum[k], again.sum[k]) << tried.name;
    }
  }
}

TYPED_TEST(CudaChebyshev, FewDistinctValuesMatchTheCpu) {
  ExpectTheCpusSums(Clean<TypeParam>());
}
TYPED_TEST(CudaChebyshev, ValuesOffTheLatticeMatchTheCpu) {
  ExpectTheCpusSums(Spoilt<TypeParam>());
}

}  // namespace
}  // namespace retable::quantiles

#endif

#include "datasets/generators/portable_math.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace retable::datasets {
namespace {

// ln 2 in two parts: the high one has 21 trailing zero bits, so that k * high is exact.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

//! 1/3, 1/5, ..., 1/25: the series of artanh.
constexpr std::array<double, 12> kOddReciprocals = [] {
  std::array<double, 12> c{};
  for (std::size_t j = 0; j < c.size(); ++j) c[j] = 1.0 / static_cast<double>(2 * j + 3);
  return c;
}();

//! 1/j! for j from 0 to 14.
constexpr std::array<double, 15> kReciprocalFactorials = [] {
  std::array<double, 15> c{};
  double factorial = 1.0;
  for (std::size_t j = 0; j < c.size(); ++j) {
    if (j > 0) factorial *= static_cast<double>(j);
    c[j] = 1.0 / factorial;
  }
  return c;
}();

//! 2^k for k in [-1022, 1023].
double PowerOfTwo(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

}  // namespace

double PortableLog(double x) {
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s), s = (m - 1) / (m + 1).
  int k = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= PowerOfTwo(54);
    k = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++k;
  }
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  // artanh(s) / s - 1 = z/3 + z^2/5 + ...; |s| <= 0.1716, so z^12 is below 1e-18.
  double series = 0.0;
  for (std::size_t j = kOddReciprocals.size(); j-- > 0;) series = (series + kOddReciprocals[j]) * z;
  // ln(1+f) = f - f^2/2 + s (f^2/2 + 2 series), which keeps f's own bits (as fdlibm does).
  const double half_square = 0.5 * f * f;
  const double dk = static_cast<double>(k);
  return dk * kLn2High - ((half_square - (s * (half_square + 2.0 * series) + dk * kLn2Low)) - f);
}

double PortableExp(double x) {
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -745.13) return 0.0;
  // x = k ln 2 + r with |r| <= ln(2)/2; e^r by its Taylor series to degree 14.
  const double scaled = x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5);
  const int k = static_cast<int>(scaled);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 0.0;
  for (std::size_t j = kReciprocalFactorials.size(); j-- > 0;) {
    sum = sum * r + kReciprocalFactorials[j];
  }
  // Two factors, since 2^k alone may be out of range.
  const int half = k / 2;
  return sum * PowerOfTwo(half) * PowerOfTwo(k - half);
}

}  // namespace retable::datasets

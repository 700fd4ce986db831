#pragma once
//! @file
//! Streams that are hard to summarise, and the sorted data against which a sketch's own bound is
//! checked. Shared by the oracle tests of the CPU and of CUDA.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"

namespace retable::quantiles {

struct NastyStream {
  std::string name;
  //! n values.
  std::function<std::vector<double>(std::size_t n, std::mt19937_64& engine)> draw;
};

//! More than forty streams.
inline std::vector<NastyStream> NastyStreams() {
  using Engine = std::mt19937_64;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const auto uniform = [](Engine& e) { return static_cast<double>(e() >> 11) * 0x1p-53; };
  const auto normal = [uniform](Engine& e) {
    return std::sqrt(-2 * std::log(1 - uniform(e))) * std::cos(6.283185307179586 * uniform(e));
  };
  std::vector<NastyStream> out;
  const auto each = [&](const std::string& name, const std::function<double(Engine&)>& one) {
    out.push_back({name, [one](std::size_t n, Engine& e) {
                     std::vector<double> values(n);
                     for (double& x : values) x = one(e);
                     return values;
                   }});
  };
  const auto spoilt = [&](const std::string& name, const std::function<double(Engine&)>& one,
                          const std::vector<double>& odd) {
    out.push_back({name, [one, odd](std::size_t n, Engine& e) {
                     std::vector<double> values(n);
                     for (double& x : values) x = one(e);
                     for (const double x : odd) values[e() % n] = x;
                     return values;
                   }});
  };
  const auto among = [&](const std::string& name, const std::vector<double>& atoms) {
    each(name, [atoms](Engine& e) { return atoms[e() % atoms.size()]; });
  };
  const auto nth = [&](const std::string& name, const std::function<double(double, double)>& at) {
    out.push_back({name, [at](std::size_t n, Engine&) {
                     std::vector<double> values;
                     for (std::size_t i = 0; i < n; ++i) {
                       values.push_back(at(static_cast<double>(i), static_cast<double>(n)));
                     }
                     return values;
                   }});
  };
  const auto pareto = [=](double shape) {
    return [=](Engine& e) { return std::pow(1 - uniform(e), -1 / shape); };
  };
  const auto from_one_to_two = [=](Engine& e) { return 1 + uniform(e); };

  each("normal", normal);
  each("uniform", uniform);
  each("exponential", [=](Engine& e) { return -std::log(1 - uniform(e)); });
  each("arcsine", [=](Engine& e) { return std::cos(3.141592653589793 * uniform(e)); });
  each("lognormal, sigma 1", [=](Engine& e) { return std::exp(normal(e)); });
  each("lognormal, sigma 3", [=](Engine& e) { return std::exp(3 * normal(e)); });
  each("Pareto 0.5", pareto(0.5));
  each("Pareto 1", pareto(1));
  each("Pareto 1.5", pareto(1.5));
  each("Pareto 3", pareto(3));
  each("Pareto 0.5, negative", [=](Engine& e) { return -pareto(0.5)(e); });
  each("log-uniform, 43 decades", [=](Engine& e) { return std::exp(100 * uniform(e) - 50); });
  each("log-uniform, 600 decades", [=](Engine& e) { return std::pow(10, 600 * uniform(e) - 300); });
  each("Cauchy", [=](Engine& e) { return std::tan(3.141592653589793 * (uniform(e) - 0.5)); });
  each("Student's t, 3", [=](Engine& e) {
    const double a = normal(e), b = normal(e), c = normal(e);
    return normal(e) / std::sqrt((a * a + b * b + c * c) / 3);
  });
  spoilt("one outlier at 1e12", from_one_to_two, {1e12});
  spoilt("one outlier at -1e12", from_one_to_two, {-1e12});
  spoilt("outliers at both ends", from_one_to_two, {-1e12, 1e12});
  spoilt("outliers of many sizes", from_one_to_two, {1e3, 1e6, 1e9, 1e12, -1e4, -1e8});
  spoilt("one outlier at 1e300", normal, {1e300});
  each("subnormals", [](Engine& e) { return static_cast<double>(e() % 1000) * 5e-324; });
  each("subnormals of both signs",
       [](Engine& e) { return (static_cast<double>(e() % 2001) - 1000) * 1e-320; });
  spoilt("subnormals and a one", [](Engine& e) { return static_cast<double>(e() % 1000) * 5e-324; },
         {1});
  each("near the smallest normal", [=](Engine& e) { return 3e-308 * (1 + uniform(e)); });
  among("zero", {0});
  among("zeros of both signs", {0.0, -0.0});
  among("constant 1e300", {1e300});
  among("constant 0.1", {0.1});
  among("two values", {0, 1});
  among("two odd values", {std::sqrt(2.0), 3.14159265358979});
  among("two neighbours", {1, 1 + 0x1p-52});
  among("three odd values", {-1.23456789123, 0.1234567891, 2.71828182846});
  among("one heavy odd value", {-7.3, 0.1234567891, 0.1234567891, 0.1234567891, 0.1234567891, 9.1});
  among("seven odd values", {0.1010101, 0.2718281828, 0.314159265, 1.41421356, 5.55555, 8.7, 9.1});
  among("nine odd values, four decades",
        {1e-2, 0.0314159, 0.271828, 0.55, 1.414213, 7.77, 23.4567, 61.803, 1e2});
  among("powers of ten", {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6});
  nth("ascending", [](double i, double) { return i; });
  nth("descending", [](double i, double n) { return n - i; });
  nth("ascending, heavy", [](double i, double n) { return std::exp(20 * i / n); });
  nth("alternating signs, growing",
      [](double i, double) { return std::fmod(i, 2) == 0 ? i * 1.1 : -i * 1.1; });
  nth("alternating signs, one size",
      [](double i, double) { return std::fmod(i, 2) == 0 ? 1 : -1; });
  nth("powers of two", [](double i, double) { return std::ldexp(1.0, -static_cast<int>(i) % 60); });
  each("alternating heavy tails",
       [=](Engine& e) { return (e() % 2 == 0 ? 1 : -1) * std::exp(3 * normal(e)); });
  each("ten levels", [](Engine& e) { return static_cast<double>(e() % 10); });
  each("seventeen levels", [](Engine& e) { return static_cast<double>(e() % 17); });
  each("pixels", [=](Engine& e) {
    return uniform(e) < 0.7 ? 0 : uniform(e) < 0.3 ? 255.0 : std::floor(256 * uniform(e));
  });
  each("one decimal", [=](Engine& e) { return std::round(58 + 8 * normal(e)) / 10; });
  each("prices", [=](Engine& e) { return std::round(100 * std::exp(2 + normal(e))) / 100; });
  each("sums of tenths", [](Engine& e) {
    double x = 0;
    for (std::uint64_t i = e() % 9; i > 0; --i) x += 0.1;
    return x;
  });
  each("mostly zero", [=](Engine& e) { return uniform(e) < 0.8 ? 0 : std::exp(normal(e)); });
  each("mostly zero, both signs",
       [=](Engine& e) { return uniform(e) < 0.9 ? 0 : 100 * normal(e); });
  each("two far clusters", [=](Engine& e) { return (e() % 3 == 0 ? 1e6 : 0) + normal(e); });
  each("two scales", [=](Engine& e) { return (e() % 2 == 0 ? 1e-6 : 1e6) * normal(e); });
  each("spread 1e-3 around 1e9", [=](Engine& e) { return 1e9 + 1e-3 * normal(e); });
  each("last bits of 1e9", [](Engine& e) { return 1e9 + static_cast<double>(e() % 20) * 0x1p-23; });
  each("unix seconds", [=](Engine& e) { return 1.6e9 + std::floor(1e7 * uniform(e)); });
  each("the whole range of double", [=](Engine& e) { return (2 * uniform(e) - 1) * 1.79e308; });
  spoilt("normal and infinities", normal, {kInfinite, -kInfinite, kInfinite});
  each("many infinities", [=](Engine& e) {
    const double u = uniform(e);
    return u < 0.2 ? -kInfinite : u < 0.5 ? kInfinite : std::floor(20 * u);
  });
  among("infinities alone", {kInfinite, -kInfinite});
  spoilt("Pareto 0.5 and infinity", pareto(0.5), {kInfinite});
  spoilt("normal and missing values", normal, {std::nan(""), std::nan(""), std::nan("")});
  return out;
}

//! As the type holds them: doubles beyond float are infinite there.
template <class Real>
std::vector<Real> As(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

//! The values that are not missing, ascending.
template <class Real>
std::vector<double> SortedValues(const std::vector<Real>& values) {
  std::vector<double> sorted;
  for (const Real x : values) {
    if (!std::isnan(x)) sorted.push_back(static_cast<double>(x));
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

//! The distance of phi from the ranks of the values within `rounding`, relative, of q.
inline double RankErrorWithin(std::span<const double> sorted, double phi, double q,
                              double rounding) {
  const double near = std::isinf(q) ? 0 : std::abs(q) * rounding;
  const auto low = std::lower_bound(sorted.begin(), sorted.end(), q - near);
  const auto high = std::upper_bound(sorted.begin(), sorted.end(), q + near);
  const double n = static_cast<double>(sorted.size());
  return std::max({0.0, static_cast<double>(low - sorted.begin()) / n - phi,
                   phi - static_cast<double>(high - sorted.begin()) / n});
}

//! What is wrong with a sketch's answers about these values, ascending; empty if nothing. A
//! SketchFailure is right. visit(bound, error) sees each answer that has a bound; `rounding` is
//! that of the values' type.
template <class Visit>
std::string Complaint(const QuantileSketch& sketch, std::span<const double> sorted, double rounding,
                      const Visit& visit) {
  if (sketch.count() != sorted.size()) return "count " + std::to_string(sketch.count());
  if (sorted.empty()) return "";
  const std::vector<double> phis = NiaePhis(101);
  std::vector<double> answers;
  try {
    answers = sketch.quantiles(phis);
  } catch (const SketchFailure&) {
    return "";
  }
  const std::vector<double> bounds = sketch.rank_bounds(phis);
  // A sketch that samples or counts infinite values as others may answer one for its neighbour.
  const bool apart = sketch.infinities().count() > 0 ||
                     (std::isfinite(sorted.front()) && std::isfinite(sorted.back()));
  for (std::size_t i = 0; i < phis.size(); ++i) {
    const double x = answers[i];
    const std::string at = " at phi " + std::to_string(phis[i]) + ": " + std::to_string(x);
    const double exact = EmpiricalQuantile(sorted, phis[i]);
    if (std::isnan(x)) return "NaN" + at;
    if (sketch.monotone() && i > 0 && x < answers[i - 1]) return "descends" + at;
    if (apart && (std::isinf(x) || std::isinf(exact)) && x != exact) return "infinity" + at;
    // A bucket of DDSketch reaches beyond its values by 1 %.
    const double reach = 0.011 * std::max(std::abs(sorted.front()), std::abs(sorted.back()));
    if (x < sorted.front() - reach || x > sorted.back() + reach) return "outside of the data" + at;
    if (bounds.empty()) continue;
    const double error = RankErrorWithin(sorted, phis[i], x, rounding);
    if (!(error <= bounds[i] + 1e-12)) {
      return "rank error " + std::to_string(error) + ", bound " + std::to_string(bounds[i]) + at;
    }
    if (!(bounds[i] <= kUselessRankBound + 1e-12)) return "a useless answer" + at;
    visit(bounds[i], error);
  }
  return "";
}

}  // namespace retable::quantiles

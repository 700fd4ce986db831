//! @file
//! Part of the family's GPU check: columns of few distinct values, which are counted, with what may
//! spoil a count; and the answers of the whole sketch, with logarithms.

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/quantiles/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/chebyshev_cuda.hpp"
#include "algorithms/quantiles/device_update.hpp"
#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/retable_sketch.hpp"
#include "experiments/quantiles/gpu_check_tools.hpp"

namespace retable::quantiles {
namespace {

template <class Real>
constexpr const char* kType = sizeof(Real) == 4 ? "float32" : "float64";

//! Enough for counting, and not a multiple of anything.
constexpr std::size_t kLength = (std::size_t{1} << 22) + 12345;

//! A column, and what is done to it.
template <class Real>
struct Case {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
  std::function<void(std::vector<Real>&)> spoil;
};

double Uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}
// A normal draw of angle 20 u, so that u can choose as well whether it is taken.
double NormalAt(double u, std::mt19937_64& engine) {
  return std::sqrt(-2 * std::log1p(-Uniform(engine))) * std::cos(20 * u);
}
double Pixel(std::mt19937_64& engine) {
  return Uniform(engine) < 0.7 ? 0 : std::floor(256 * Uniform(engine));
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

template <class Real>
std::vector<Case<Real>> Cases() {
  const auto nothing = [](std::vector<Real>&) {};
  const Real infinity = std::numeric_limits<Real>::infinity();
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const auto whole = [](double n) {
    return [n](std::mt19937_64& e) { return std::floor(n * Uniform(e)); };
  };
  return {
      {"pixels", Pixel, nothing},
      {"uniform bytes", whole(256), nothing},
      {"labels", whole(2), nothing},
      {"1000 whole numbers", whole(1000), nothing},
      {"too many places", whole(3000), nothing},
      {"zeros among normals",
       [](auto& e) {
         const double u = Uniform(e), normal = NormalAt(u, e);
         return u < 0.7 ? 0 : normal;
       },
       nothing},
      {"an eighth of zeros among normals",
       [](auto& e) {
         const double u = Uniform(e), normal = NormalAt(u, e);
         return u < 0.125 ? 0 : normal;
       },
       nothing},
      {"three values among normals",
       [](auto& e) {
         const double u = Uniform(e), normal = NormalAt(u, e);
         return u < 0.2 ? 0 : u < 0.4 ? 0.7 : u < 0.6 ? -1.1 : normal;
       },
       nothing},
      {"negative", [](auto& e) { return std::floor(300 * Uniform(e)) - 500; }, nothing},
      {"one value", [](auto&) { return 0.1; }, nothing},
      {"seconds", [](auto& e) { return 1.6e9 + std::floor(300 * Uniform(e)); }, nothing},
      {"pixels over 255", [](auto& e) { return Real(Pixel(e)) / Real(255); }, nothing},
      {"tenths", [](auto& e) { return Real(43 + std::floor(37 * Uniform(e))) / Real(10); },
       nothing},
      {"thirds", [](auto& e) { return Real(std::floor(37 * Uniform(e))) / Real(3); }, nothing},
      {"an outlier at the very end", Pixel, [](auto& v) { v.back() = Real(1e6) + Real(0.25); }},
      {"an outlier at the very start", Pixel, [](auto& v) { v.front() = Real(-77.125); }},
      {"a last bit off", whole(256),
       [](auto& v) { v[v.size() / 3] = std::nextafter(Real(17), Real(18)); }},
      {"200 off the lattice", Pixel,
       [](auto& v) { Scatter<Real>(v, 200, [](auto i) { return Real(i) + Real(0.3); }); }},
      {"1000 off the lattice", Pixel,
       [](auto& v) { Scatter<Real>(v, 1000, [](auto i) { return Real(0.3) * Real(i % 800); }); }},
      {"beyond the sample's range", whole(100),
       [](auto& v) { Scatter<Real>(v, 90, [](auto i) { return Real(100 + 7 * i); }); }},
      {"negative zeros", Pixel,
       [](auto& v) {
         for (Real& x : v) x = x == 0 ? -x : x;
       }},
      {"missing values", Pixel,
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

template <class Real>
void VerifyCase(Verifier& verifier, const Case<Real>& tried, const DeviceArray<Real>& device,
                std::mt19937_64& engine, std::span<const int> orders) {
  std::vector<Real> host(kLength);
  for (Real& x : host) x = static_cast<Real>(tried.draw(engine));
  tried.spoil(host);
  // From an address off alignment.
  CheckCuda(cudaMemcpy(device.data() + 1, host.data(), host.size() * sizeof(Real),
                       cudaMemcpyHostToDevice),
            "copy");
  for (const int order : orders) {
    ChebyshevAccumulator twin(order);
    twin.Update(std::span<const Real>(host));
    ChebyshevCuda cuda(order);
    const ChebyshevSums found = cuda.Sum(device.data() + 1, kLength, nullptr);
    const ChebyshevSums again = cuda.Sum(device.data() + 1, kLength, nullptr);
    // float32: what values that repeat inside of the range are rounded by does not average out. One
    // of them is looked after, which leaves 2e-8 if it holds most of the mass; several leave 3e-7.
    const bool repeats = tried.name == std::string("zeros among normals") ||
                         tried.name == std::string("three values among normals");
    const double allowed = sizeof(Real) == 8 ? 1e-13 : repeats ? 5e-7 : 1e-8;
    verifier.Record("Chebyshev", order, kType<Real>, tried.name, kLength,
                    Difference(found, twin.sums(), order), allowed);
    bool same = true;
    for (int k = 0; k <= order; ++k) {
      same = same && (found.sum[k] == again.sum[k] || std::isinf(found.max));
    }
    if (cuda.digits().has_value()) {
      verifier.Record("digits of what was counted", order, kType<Real>, tried.name, kLength,
                      *cuda.digits() == twin.digits() ? 0 : 1, 0);
    }
    verifier.Record("the same bits again", order, kType<Real>, tried.name, kLength, same ? 0 : 1,
                    0);
  }
}

//! Mean distance of the answers' logarithms, over the range of the logarithms; 1 for another basis.
template <class Real>
double AnswersApart(const std::vector<Real>& host, const Real* device, bool log) {
  const auto& registry = Registry<QuantileSketch>::Instance();
  const auto cpu = registry.Make("Retable", Device::kCpu, {{"log", log}});
  const auto cuda = registry.Make("Retable", Device::kCuda, {{"log", log}});
  cpu->update(std::span<const Real>(host));
  DeviceUpdateOf(*cuda)->update_device(device, host.size(), nullptr);
  const auto phis = NiaePhis(1001);
  const RetableAnswer a = dynamic_cast<RetableSketch&>(*cpu).Ask(phis);
  const RetableAnswer b = dynamic_cast<RetableSketch&>(*cuda).Ask(phis);
  if (a.status.basis != b.status.basis) return 1;
  const auto scale = [&](double x) { return a.status.basis == "log" ? std::log(x) : x; };
  const double range = scale(a.values.back()) - scale(a.values.front());
  double area = 0;
  for (std::size_t i = 0; i < phis.size(); ++i) {
    area += std::abs(scale(a.values[i]) - scale(b.values[i]));
  }
  return range > 0 ? area / static_cast<double>(phis.size()) / range : area;
}

template <class Real>
void VerifyAnswers(Verifier& verifier, std::uint64_t seed) {
  struct Shape {
    const char* name;
    bool heavy;
    std::function<double(double, double)> draw;
  };
  const std::vector<Shape> shapes{
      {"lognormal", true, [](double z, double) { return std::exp(z); }},
      {"lognormal, sigma 3", true, [](double z, double) { return std::exp(3 * z); }},
      {"Pareto", true, [](double, double u) { return std::pow(1 - u, -1.5); }},
      {"normal+10", false, [](double z, double) { return 10 + z; }},
      {"normal", false, [](double z, double) { return z; }},
      {"pixels", false, [](double z, double u) { return z < 0.5 ? 0 : std::floor(256 * u); }}};
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {std::size_t{3000}, std::size_t{100003}, kLength}) {
    const DeviceArray<Real> device(n);
    for (const auto& [name, heavy, draw] : shapes) {
      std::vector<Real> host(n);
      for (Real& x : host) {
        const double z = normal(engine);
        x = static_cast<Real>(draw(z, Uniform(engine)));
      }
      CheckCuda(cudaMemcpy(device.data(), host.data(), n * sizeof(Real), cudaMemcpyHostToDevice),
                "copy");
      for (const bool log : {false, true}) {
        // Moments of x alone do not tell heavy tails from a few atoms, on any device.
        if (!log && heavy) continue;
        verifier.Record(log ? "Retable's answers, with logs" : "Retable's answers", kMaxOrder,
                        kType<Real>, name, n, AnswersApart(host, device.data(), log), 1e-3);
      }
    }
  }
}

}  // namespace

void VerifyPlaces(Verifier& verifier, std::uint64_t seed, bool few_cases) {
  std::mt19937_64 engine(seed);
  const auto all = [&]<class Real>(Real) {
    const DeviceArray<Real> device(kLength + 1);
    int index = 0;
    for (const Case<Real>& tried : Cases<Real>()) {
      // Every kernel, once: counted, with exceptions, and given up.
      if (few_cases && index++ % 7 != 0 && tried.name != std::string("1000 off the lattice"))
        continue;
      const std::vector<int> orders = few_cases ? std::vector<int>{15} : std::vector<int>{5, 15};
      VerifyCase<Real>(verifier, tried, device, engine, orders);
    }
    if (!few_cases) VerifyAnswers<Real>(verifier, seed + 1);
  };
  all(float{});
  all(double{});
}

}  // namespace retable::quantiles

//! @file
//! The pictures of permutations on the sphere (Mitchell et al. 2022, figures 3 and 5 to 8) as
//! measurements. The setting `view`:
//!
//! cells   (figures 3 and 8)  each order's share of the points, times d!: 1 where all cells are of
//!         equal measure. chi2: the sum of (count - n/d!)^2 / (n/d!), over d! - 1; 1 for
//!         independent uniform points, less where points are spread more evenly than that.
//! pairs   (figure 5)         Kendall's tau of all pairs of one sample of different orders: its
//!         density, root mean square and largest value; the root mean square without the pairs at
//!         -1, an order and its reverse, and how many these are.
//! bounds  (figure 6)         the dot product of two orders' points against the bounds that theorem
//!         2 gives for their tau: the largest excess, times d, which the theorem's O(1/d) bounds.
//! caps    (figure 7)         n points on the sphere of two dimensions: Stolarsky's (1973) sum of
//!         distances, the root of 4/3 - mean |x - y|, which is the L2 discrepancy of spherical
//!         caps up to a constant.

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <stdexcept>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "algorithms/shapley/samplers/sphere.hpp"
#include "experiments/common/adapters.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

using Order = std::vector<std::int32_t>;
using Point = std::vector<double>;

constexpr std::uint64_t kGeometryStream = 20;

// A uniform point of the sphere in `dimensions`.
Point RandomPoint(std::uint64_t seed, std::uint64_t index, std::size_t dimensions) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  Point x(dimensions);
  double squares = 0;
  for (std::size_t j = 0; j < dimensions; ++j) {
    const auto bits = random.Block((index << 16) + j, kGeometryStream);
    const double radius = std::sqrt(-2 * std::log(UniformDoubleOpenBelow(bits.half(0))));
    x[j] = radius * std::cos(2 * std::numbers::pi * UniformDouble(bits.half(1)));
    squares += x[j] * x[j];
  }
  for (double& v : x) v /= std::sqrt(squares);
  return x;
}

std::vector<Order> Orders(const std::string& algorithm, std::size_t n, int d, std::uint64_t seed) {
  std::vector<Order> orders;
  if (algorithm == "Sphere") {
    for (std::size_t i = 0; i < n; ++i) {
      Order order(static_cast<std::size_t>(d));
      shapley::NearestOrder(RandomPoint(seed, i, order.size() - 1), order);
      orders.push_back(std::move(order));
    }
    return orders;
  }
  const auto sample = Registry<shapley::PermutationSampler>::Instance()
                          .Make(algorithm, Device::kCpu, {})
                          ->sample(n, d, seed);
  for (std::size_t i = 0; i < n; ++i) {
    orders.emplace_back(sample.order(i).begin(), sample.order(i).end());
  }
  return orders;
}

// Kendall's tau from the pairs that the orders put differently.
double Tau(const Order& a, const Order& b) {
  const std::size_t d = a.size();
  std::vector<std::size_t> place(d);
  for (std::size_t k = 0; k < d; ++k) place[static_cast<std::size_t>(b[k])] = k;
  std::size_t discordant = 0;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = i + 1; j < d; ++j) {
      discordant += place[static_cast<std::size_t>(a[i])] > place[static_cast<std::size_t>(a[j])];
    }
  }
  return 1 - 4.0 * static_cast<double>(discordant) / static_cast<double>(d * (d - 1));
}

// The dot product of the rank vectors, centred and of length one.
double Dot(const Order& a, const Order& b) {
  const auto d = static_cast<double>(a.size());
  std::vector<double> rank(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    rank[static_cast<std::size_t>(a[k])] = static_cast<double>(k) - (d - 1) / 2;
  }
  double dot = 0;
  for (std::size_t k = 0; k < b.size(); ++k) {
    dot += rank[static_cast<std::size_t>(b[k])] * (static_cast<double>(k) - (d - 1) / 2);
  }
  return dot / (d * (d * d - 1) / 12);
}

class Cells {
 public:
  void Add(const std::vector<Order>& orders) {
    std::map<Order, double> count;
    Order order(orders.front().size());
    std::iota(order.begin(), order.end(), 0);
    do count[order] = 0;
    while (std::next_permutation(order.begin(), order.end()));
    for (const Order& o : orders) ++count.at(o);
    const double each = static_cast<double>(orders.size()) / static_cast<double>(count.size());
    double squares = 0;
    for (const auto& [ignored, n] : count) {
      share_.samples.push_back(n / each);
      squares += (n - each) * (n - each) / each;
    }
    chi2_.samples.push_back(squares / static_cast<double>(count.size() - 1));
  }
  void Finish(harness::Outcome& outcome) { outcome.metrics = {share_, chi2_}; }

 private:
  harness::Metric share_{"share", "1"}, chi2_{"chi2", "1"};
};

class Pairs {
 public:
  void Add(const std::vector<Order>& orders) {
    const std::set<Order> different(orders.begin(), orders.end());
    std::vector<double> taus;
    for (auto a = different.begin(); a != different.end(); ++a) {
      for (auto b = std::next(a); b != different.end(); ++b) taus.push_back(Tau(*a, *b));
    }
    double squares = 0, opposite = 0;
    for (const double tau : taus) {
      squares += tau * tau;
      opposite += tau < -1 + 1e-9 ? 1 : 0;
      ++density_[std::lround(tau * 20)];  // bins of 0.05
      ++pairs_;
    }
    const auto n = static_cast<double>(taus.size());
    deviation_.samples.push_back(std::sqrt(squares / n));
    apart_.samples.push_back(std::sqrt((squares - opposite) / (n - opposite)));
    opposite_.samples.push_back(opposite);
    largest_.samples.push_back(*std::max_element(taus.begin(), taus.end()));
  }
  void Finish(harness::Outcome& outcome) {
    harness::Curve curve{"density"};
    for (long bin = -20; bin <= 20; ++bin) {
      curve.x.push_back(static_cast<double>(bin) / 20);
      curve.y.push_back(density_[bin] * 20 / pairs_);
    }
    outcome.curves = {curve};
    outcome.metrics = {deviation_, largest_, apart_, opposite_};
  }

 private:
  harness::Metric deviation_{"tau_spread", "1"}, largest_{"tau_largest", "1"};
  harness::Metric apart_{"tau_spread_apart", "1"}, opposite_{"opposite_pairs", "1"};
  std::map<long, double> density_;
  double pairs_ = 0;
};

class Bounds {
 public:
  // Each order with a few of its pairs set right: from far to near to the identity.
  void Add(const std::vector<Order>& orders) {
    double worst = -4;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      Order order = orders[i], identity = orders[i];
      std::iota(identity.begin(), identity.end(), 0);
      const std::size_t sorted = i % (order.size() + 1);
      std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(sorted));
      if (i % 3 == 0)
        std::reverse(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(sorted));
      const double tau = Tau(identity, order), dot = Dot(identity, order);
      const double excess = std::max(Low(tau) - dot, dot - High(tau));
      worst = std::max(worst, excess * static_cast<double>(order.size()));
      auto& range = seen_.try_emplace(std::lround(tau * 20), std::pair{dot, dot}).first->second;
      range = {std::min(range.first, dot), std::max(range.second, dot)};
    }
    excess_.samples.push_back(worst);
  }
  void Finish(harness::Outcome& outcome) {
    harness::Curve low{"lower bound"}, high{"upper bound"}, least{"least seen"}, most{"most seen"};
    const auto add = [](harness::Curve& curve, double x, double y) {
      curve.x.push_back(x);
      curve.y.push_back(y);
    };
    for (const auto& [bin, range] : seen_) {
      const double tau = static_cast<double>(bin) / 20;
      add(low, tau, Low(tau));
      add(high, tau, High(tau));
      add(least, tau, range.first);
      add(most, tau, range.second);
    }
    outcome.curves = {low, high, least, most};
    outcome.metrics = {excess_};
  }

 private:
  static double Low(double tau) { return 3 * tau - 2 + 4 * std::pow((1 - tau) / 2, 1.5); }
  static double High(double tau) { return 3 * tau + 2 - 4 * std::pow((1 + tau) / 2, 1.5); }

  harness::Metric excess_{"excess", "1"};
  std::map<long, std::pair<double, double>> seen_;
};

// Points on the sphere of two dimensions; Sobol's are shifted modulo one by the seed.
std::vector<Point> SpherePoints(const std::string& algorithm, std::size_t n, std::uint64_t seed) {
  std::vector<Point> points;
  boost::random::sobol_engine<std::uint32_t, 32> sobol(2);
  const auto shift = Philox4x32::FromSeed(seed).Block(0, kGeometryStream);
  const shapley::SphereFromCube on_sphere(2, n);
  for (std::size_t i = 0; i < n; ++i) {
    if (algorithm != "Sobol") {
      points.push_back(RandomPoint(seed, i, 3));
      continue;
    }
    double u[2] = {UniformDouble(shift.half(0)), UniformDouble(shift.half(1))};
    for (double& v : u) {
      v += i == 0 ? 0.0 : (static_cast<double>(sobol()) + 0.5) * 0x1p-32;
      v -= std::floor(v);
      v = std::clamp(v, 1e-12, 1 - 1e-12);
    }
    Point x(3);
    on_sphere(u, x);
    points.push_back(x);
  }
  return points;
}

double CapDiscrepancy(const std::vector<Point>& points) {
  double distance = 0;
  for (const Point& x : points) {
    for (const Point& y : points) distance += std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
  }
  const auto n = static_cast<double>(points.size());
  return std::sqrt(4.0 / 3 - distance / (n * n));
}

class GeometryProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "shapley/geometry"; }
  std::string summary() const override {
    return "permutations as points on the sphere: cells, pairs, bounds, caps";
  }
  Names metrics() const override {
    return {"share",          "chi2",   "tau_spread",     "tau_largest", "tau_spread_apart",
            "opposite_pairs", "excess", "cap_discrepancy"};
  }
  Algorithms algorithms() const override {
    auto all = ListMethods<shapley::PermutationSampler>();
    for (auto& info : all) info.parameters.clear();
    all.push_back(
        {"Sphere", {"cpu"}, {}, "independent uniform points on the sphere", "Muller 1959"});
    return all;
  }
  Specs settings() const override {
    return {{"view", std::string("cells"), "cells, pairs, bounds or caps"},
            {"dimension", std::int64_t{4}, "players of a permutation"},
            {"points", std::int64_t{1000}, "points that a repeat draws"}};
  }
  Datasets resolve(const std::string& dataset) const override {
    return ResolveMade(dataset, {"permutations"}, "points on the sphere");
  }

  Outcome measure(const Cell& cell) override {
    const std::string view = TextOf(cell.settings, "view");
    if (view == "cells") return Run<Cells>(cell, 8);
    if (view == "pairs") return Run<Pairs>(cell, 1000);
    if (view == "bounds") return Run<Bounds>(cell, 1000);
    if (view == "caps") return Caps(cell);
    throw std::invalid_argument("view = \"" + view + "\": cells, pairs, bounds and caps are known");
  }

 private:
  static std::uint64_t SeedOf(const harness::CellConfig& cell, std::int64_t repeat) {
    return static_cast<std::uint64_t>(cell.seed * 1000003 + repeat);
  }
  static std::size_t PointsOf(const harness::CellConfig& cell) {
    return static_cast<std::size_t>(IntegerIn(cell.settings, "points", 2, 1 << 30));
  }
  static void Verify(harness::Outcome& outcome) {
    bool finite = true;
    for (const auto& metric : outcome.metrics) {
      for (const double x : metric.samples) finite = finite && std::isfinite(x);
    }
    outcome.verification = AtMost("numbers that are none", finite ? 0 : 1, 0, "definition");
  }

  template <class View>
  static harness::Outcome Run(const harness::CellConfig& cell, int most) {
    const auto d = static_cast<int>(IntegerIn(cell.settings, "dimension", 3, most));
    View view;
    for (std::int64_t r = 0; r < cell.repeats; ++r) {
      view.Add(Orders(cell.algorithm, PointsOf(cell), d, SeedOf(cell, r)));
    }
    harness::Outcome outcome;
    view.Finish(outcome);
    Verify(outcome);
    return outcome;
  }

  static harness::Outcome Caps(const harness::CellConfig& cell) {
    harness::Metric caps{"cap_discrepancy", "1"};
    for (std::int64_t r = 0; r < cell.repeats; ++r) {
      caps.samples.push_back(
          CapDiscrepancy(SpherePoints(cell.algorithm, PointsOf(cell), SeedOf(cell, r))));
    }
    harness::Outcome outcome;
    outcome.metrics = {caps};
    Verify(outcome);
    return outcome;
  }
};

RETABLE_PROTOCOL(GeometryProtocol);

}  // namespace
}  // namespace retable::experiments

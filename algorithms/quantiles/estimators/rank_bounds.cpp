#include "algorithms/quantiles/estimators/rank_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retable::quantiles {
namespace {

using Wide = RankBounder::Wide;
using Points = RankBounder::Points;

//! Largest relative rounding of t = (x - centre) / half, and of lattice points.
constexpr double kNudge = 1e-15;

using Polynomial = std::array<Wide, kMaxOrder + 2>;

//! q (x - z) in the Chebyshev basis; with `sizes`, the sum of magnitudes of its terms.
void Multiply(Polynomial& q, int degree, Wide z, bool sizes) {
  Polynomial out{};
  for (int k = 0; k <= degree; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Wide half = k == 0 ? q[i] : q[i] / 2;
    out[i + 1] += half;
    if (k > 0) out[i - 1] += half;
    out[i] += sizes ? std::abs(z) * q[i] : -z * q[i];
  }
  q = out;
}

//! Newton's divided differences of the step. Points of one value have differences of zero; of the
//! others no subtraction cancels, as signs alternate.
Polynomial Differences(const Points& points) {
  Polynomial f{};
  for (int i = 0; i < points.ones; ++i) f[static_cast<std::size_t>(i)] = 1;
  for (int width = 1; width < points.count; ++width) {
    for (int j = points.count - 1; j >= width; --j) {
      const auto last = static_cast<std::size_t>(j);
      const auto first = static_cast<std::size_t>(j - width);
      const bool same = j < points.ones || j - width >= points.ones;
      f[last] = same ? 0 : (f[last] - f[last - 1]) / (points.at[last] - points.at[first]);
    }
  }
  return f;
}

//! Moments of (x - low)^a (high - x)^b dF, a, b = 0 or 1, divided by their first.
Moments Weighted(Moments mu, int& order, const Support& support, bool low, bool high) {
  const auto times = [&](double end, double sign) {
    Moments out{};
    for (int k = 0; k < order; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const double shifted = k == 0 ? mu[1] : 0.5 * (mu[i + 1] + mu[i - 1]);
      out[i] = sign * (shifted - end * mu[i]);
    }
    mu = out;
    --order;
  };
  if (low) times(support.low, 1);
  if (high) times(support.high, -1);
  const double total = mu[0];
  for (double& m : mu) m /= total;
  return mu;
}

Moments Mirrored(Moments mu) {
  for (std::size_t k = 1; k < mu.size(); k += 2) mu[k] = -mu[k];
  return mu;
}

}  // namespace

double RankBounds::Error(double phi) const {
  return std::max({0.0, below - phi, phi - through});
}

RankBounder::RankBounder(const Moments& mu, int order, double error, const Support& support)
    : support_(support),
      below_(mu, order, error, support),
      above_(Mirrored(mu), order, error,
             {-support.high, -support.low, support.step, support.slack}) {}

RankBounds RankBounder::Ranks(double t) const {
  // A lattice point holds all mass between its neighbours.
  const double step = support_.step;
  RankBounds out;
  out.below = below_.Upper(t - step);
  out.through = 1 - above_.Upper(-t - step);
  return out;
}

RankBounder::Side::Side(const Moments& mu, int order, double error, const Support& support)
    : mu_(mu), order_(order), error_(error), support_(support) {
  for (int k = 1; k <= order; ++k) {
    if (!(std::abs(mu[static_cast<std::size_t>(k)]) <= 1 + 1e-9)) return;
  }
  if (!(error < 0.1)) return;
  // p has degree 2 m of its m flat points, and one more for each end.
  if (order % 2 == 1) {
    Add(true, false);
    Add(false, true);
  } else {
    Add(false, false);
    if (order >= 2) Add(true, true);
  }
}

void RankBounder::Side::Add(bool low, bool high) {
  int order = order_;
  const Moments mu = Weighted(mu_, order, support_, low, high);
  for (int k = 0; k <= order; ++k) {
    if (!std::isfinite(mu[static_cast<std::size_t>(k)])) return;
  }
  families_.push_back({low, high, JacobiMatrix(mu, order, error_)});
}

double RankBounder::Side::Upper(double t) const {
  const double half = 0.5 * support_.step;
  if (t < support_.low - half - kNudge - support_.slack) return 0;
  if (t >= support_.high - half) return 1;
  double best = 1;
  for (const Family& family : families_) {
    for (int rows = family.jacobi.PrescribedRows(); rows >= 0; --rows) {
      std::vector<double> points = family.jacobi.PointsWith(t, rows);
      if (points.empty()) continue;
      // One of them is t itself.
      const auto nearest = [&] {
        return std::min_element(points.begin(), points.end(), [&](double a, double b) {
          return std::abs(a - t) < std::abs(b - t);
        });
      };
      points.erase(nearest());
      double cost = 0;
      best = std::min(best, Try(t, points, family, cost));
      if (!points.empty() && std::abs(*nearest() - t) < 1e-3) {
        // Points beside t make p steep.
        points.erase(nearest());
        double other = 0;
        best = std::min(best, Try(t, points, family, other));
        cost = std::min(cost, other);
      }
      if (cost < 1e-3) break;
    }
  }
  return std::clamp(best, 0.0, 1.0);
}

double RankBounder::Side::Try(double t, const std::vector<double>& others, const Family& family,
                              double& cost) const {
  cost = 1;
  const Wide step = support_.step;
  const Wide low = support_.low;
  const Wide at = step > 0 ? low + step * std::floor((t - low) / step + 0.5L)
                           : t + Wide(kNudge) + support_.slack;
  Points points;
  bool low_used = family.low;
  bool high_used = family.high;
  if (family.low) points.Add(low);
  for (const double z : others) {
    if (z < t) low_used = AddLeft(points, z, at, low_used);
  }
  points.Add(at);
  std::sort(points.at.begin(), points.at.begin() + points.count);
  points.ones = points.count;
  for (const double z : others) {
    if (!(z < t)) high_used = AddRight(points, z, at, high_used);
  }
  if (family.high) points.Add(support_.high);
  if (points.full || points.count > order_ + 1) return 1;
  std::sort(points.at.begin() + points.ones, points.at.begin() + points.count);
  return Mean(points, cost);
}

bool RankBounder::Side::AddLeft(Points& points, double z, Wide at, bool low_used) const {
  const Wide low = support_.low;
  const Wide step = support_.step;
  const Wide upper = step > 0 ? std::min(low + step * (std::floor((z - low) / step) + 1), at) : z;
  const Wide lower = upper - step;
  if (step > 0 ? lower < low - step / 2 : !(lower > low)) {
    if (!low_used) points.Add(low);
    return true;
  }
  points.Add(lower);
  points.Add(upper);
  return low_used;
}

bool RankBounder::Side::AddRight(Points& points, double z, Wide at, bool high_used) const {
  const Wide low = support_.low;
  const Wide high = support_.high;
  const Wide step = support_.step;
  const Wide lower = step > 0 ? std::max(low + step * std::floor((z - low) / step), at + step) : z;
  const Wide upper = lower + step;
  if (step > 0 ? upper > high + step / 2 : !(upper < high)) {
    if (!high_used) points.Add(high);
    return true;
  }
  points.Add(lower);
  points.Add(upper);
  return high_used;
}

double RankBounder::Side::Mean(const Points& points, double& cost) const {
  const Polynomial f = Differences(points);
  Polynomial p{};
  Polynomial size{};
  for (int i = points.count - 1; i >= 0; --i) {
    const auto k = static_cast<std::size_t>(i);
    if (i < points.count - 1) {
      Multiply(p, points.count - 1 - i, points.at[k], false);
      Multiply(size, points.count - 1 - i, points.at[k], true);
    }
    p[0] += f[k];
    size[0] += std::abs(f[k]);
  }
  Wide mean = p[0];
  Wide doubt = 0;
  Wide rounding = size[0];
  for (int k = 1; k < points.count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    mean += p[i] * static_cast<Wide>(mu_[i]);
    doubt += std::abs(p[i]) * (error_ + k * k * static_cast<Wide>(support_.slack));
    rounding += size[i];
  }
  doubt += 16 * points.count * std::numeric_limits<Wide>::epsilon() * rounding;
  if (!(doubt < 1) || !std::isfinite(mean)) return 1;
  cost = static_cast<double>(doubt);
  return static_cast<double>(mean + doubt);
}

}  // namespace retable::quantiles

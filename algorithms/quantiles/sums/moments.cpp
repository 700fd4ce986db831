#include "algorithms/quantiles/sums/moments.hpp"

#include <cmath>

namespace retable::quantiles {
namespace {

using Table = std::array<std::array<double, kMaxOrder + 1>, kMaxOrder + 1>;

//! Rows of monomial coefficients by p_{k+1} = (a_k t p_k - b_k p_{k-1}).
template <class Recurrence>
Table Coefficients(Recurrence recurrence) {
  Table c{};
  c[0][0] = 1;
  c[1][1] = 1;
  for (int k = 1; k < kMaxOrder; ++k) {
    const auto [a, b] = recurrence(k);
    for (int i = 0; i <= kMaxOrder; ++i) {
      c[k + 1][i] = (i > 0 ? a * c[k][i - 1] : 0) - b * c[k - 1][i];
    }
  }
  return c;
}

std::array<double, kMaxOrder + 1> Apply(const Table& table, const ScaledMoments& moments) {
  std::array<double, kMaxOrder + 1> out{};
  for (int k = 0; k <= moments.order; ++k) {
    for (int i = k & 1; i <= k; i += 2) out[k] += table[k][i] * moments.moment[i];
  }
  return out;
}

//! Eq. 4: moments about zero -> moments about -shift.
void Shift(ScaledMoments& moments, double shift) {
  std::array<double, kMaxOrder + 1> power{};
  power[0] = 1;
  for (int i = 1; i <= moments.order; ++i) power[i] = power[i - 1] * shift;
  for (int k = moments.order; k >= 1; --k) {
    double m = 0;
    double binomial = 1;  // of k over i, exactly
    for (int i = 0; i <= k; ++i) {
      m += binomial * moments.moment[i] * power[k - i];
      binomial = binomial * (k - i) / (i + 1);
    }
    moments.moment[k] = m;
  }
}

}  // namespace

ScaledMoments Scale(const PowerSums<double, kMaxOrder>& sums, int order) {
  ScaledMoments out{order, sums.sum[0], sums.min, sums.max, {}};
  const double scale = 1 / out.half_range();
  double power = 1;
  for (int k = 0; k <= order; ++k) {
    out.moment[k] = sums.sum[k] / sums.sum[0] * power;
    power *= scale;
  }
  Shift(out, -scale * out.centre());
  return out;
}

ScaledMoments Scale(const CentralSums<double, kMaxOrder>& sums, int order) {
  ScaledMoments out{order, sums.sum[0], sums.min, sums.max, {}};
  const double scale = 1 / out.half_range();
  double factorial = 1;
  out.moment[0] = 1;
  for (int k = 2; k <= order; ++k) {
    factorial *= k;
    out.moment[k] = sums.sum[k] * factorial / sums.sum[0] * std::pow(scale, k);
  }
  Shift(out, scale * (sums.mean - out.centre()));
  return out;
}

std::array<double, kMaxOrder + 1> ChebyshevMoments(const ScaledMoments& moments) {
  static const Table table =
      Coefficients([](int) { return std::pair(2.0, 1.0); });  // T_{k+1} = 2 t T_k - T_{k-1}
  return Apply(table, moments);
}

std::array<double, kMaxOrder + 1> LegendreMoments(const ScaledMoments& moments) {
  static const Table table = Coefficients(
      [](int k) { return std::pair((2.0 * k + 1) / (k + 1), static_cast<double>(k) / (k + 1)); });
  return Apply(table, moments);
}

bool MomentsAreSound(const std::array<double, kMaxOrder + 1>& moment, int order, double slack) {
  for (int k = 0; k <= order; ++k) {
    if (!(std::abs(moment[k]) <= 1 + slack)) return false;
  }
  return true;
}

}  // namespace retable::quantiles

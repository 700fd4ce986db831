#include "algorithms/quantiles/retable_fit.hpp"

#include <algorithm>
#include <cmath>

namespace retable::quantiles {
namespace {

constexpr long long kMaxPlaces = 1024;
constexpr double kGoodResidual = 1e-3;

//! T_0..T_order at t.
Moments ChebyshevAt(double t, int order) {
  Moments out{};
  out[0] = 1;
  if (order >= 1) out[1] = t;
  for (int k = 2; k <= order; ++k) out[k] = 2 * t * out[k - 1] - out[k - 2];
  return out;
}

double PowerOfTen(int digits) {
  return std::pow(10.0, digits);
}

}  // namespace

RetableFit::RetableFit(const RetableInput& input)
    : sums_(input.sums), order_(input.order), digits_(input.digits) {
  const double n = sums_.sum[0];
  status_.order = order_;
  low_mass_ = sums_.at_min / n;
  high_mass_ = sums_.at_max / n;
  if (sums_.min == sums_.max) {
    low_mass_ = 1;
    high_mass_ = 0;
    rest_mass_ = 0;
    status_.basis = "constant";
    status_.atoms = 1;
    return;
  }
  rest_mass_ = std::max(0.0, (n - sums_.at_min - sums_.at_max) / n);
  if (!(n - sums_.at_min - sums_.at_max >= 0.5)) {
    rest_mass_ = 0;
    status_.basis = "atoms";
    status_.atoms = 2;
    return;
  }
  // What is left after the ends is known less precisely the less it is.
  jacobi_.emplace(RestMoments(sums_), order_, input.noise / rest_mass_, rest_mass_ * n);
  if (jacobi_->atom_count() > 0) FitAtoms();
  if (!place_.empty()) return;
  if (digits_ <= kMaxDigits) {
    const double places = (sums_.max - sums_.min) * PowerOfTen(digits_) - 1;
    if (places < kMaxPlaces + 0.5) FitLattice(std::llround(places));
  }
  if (place_.empty()) FitDensity(input);
}

Moments RetableFit::RestMoments(const ChebyshevSums& sums) const {
  const double inverse = sums.map.half > 0 ? 1 / sums.map.half : 0;
  const Moments low = ChebyshevAt((sums.min - sums.map.centre) * inverse, order_);
  const Moments high = ChebyshevAt((sums.max - sums.map.centre) * inverse, order_);
  const double rest = sums.sum[0] - sums.at_min - sums.at_max;
  Moments mu{};
  mu[0] = 1;
  for (int k = 1; k <= order_; ++k) {
    mu[k] = (sums.sum[k] - sums.at_min * low[k] - sums.at_max * high[k]) / rest;
    mu[k] = std::clamp(mu[k], -1.0, 1.0);
  }
  return mu;
}

double RetableFit::RoundToLattice(double x) const {
  if (digits_ > kMaxDigits) return x;
  const double power = PowerOfTen(digits_);
  return std::round(x * power) / power;
}

void RetableFit::FitAtoms() {
  const Atoms atoms = jacobi_->Gauss();
  const Moments mu = RestMoments(sums_);
  Moments got{};
  for (std::size_t i = 0; i < atoms.point.size(); ++i) {
    if (std::abs(atoms.point[i]) > 1 + 1e-6) return;
    const Moments at = ChebyshevAt(atoms.point[i], order_);
    for (int k = 0; k <= order_; ++k) got[k] += atoms.mass[i] * at[k];
  }
  double residual = 0;
  for (int k = 0; k <= order_; ++k) residual = std::max(residual, std::abs(got[k] - mu[k]));
  if (residual > kGoodResidual) return;
  double total = 0;
  for (std::size_t i = 0; i < atoms.point.size(); ++i) {
    total += atoms.mass[i];
    place_.push_back(RoundToLattice(sums_.map.centre + sums_.map.half * atoms.point[i]));
    cumulative_.push_back(total);
  }
  status_.basis = "atoms";
  status_.residual = residual;
  status_.atoms = place_.size() + 2;
}

void RetableFit::FitLattice(long long places) {
  if (places < 1) return;
  const double power = PowerOfTen(digits_);
  const double first = std::round(sums_.min * power);
  std::vector<double> nodes;
  std::vector<double> values;
  for (long long i = 1; i <= places; ++i) {
    values.push_back((first + static_cast<double>(i)) / power);
    nodes.push_back((values.back() - sums_.map.centre) / sums_.map.half);
  }
  const NodeTable table(nodes, std::vector<double>(nodes.size(), 1.0));
  const int order = static_cast<int>(std::min<long long>(order_, places - 1));
  const DualFit fit = FitDual(table, RestMoments(sums_), order);
  if (fit.residual > kGoodResidual * 10) return;
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    total += fit.mass[i];
    place_.push_back(values[i]);
    cumulative_.push_back(total);
  }
  status_.basis = "lattice";
  status_.order = order;
  status_.residual = fit.residual;
  status_.atoms = 2;
}

void RetableFit::FitDensity(const RetableInput& input) {
  density_.emplace(RestMoments(sums_), order_);
  density_map_ = sums_.map;
  status_.basis = "identity";
  if (input.log_sums.has_value()) {
    const ChebyshevSums& logs = *input.log_sums;
    const Moments mu = RestMoments(logs);
    MaxEntropyDensity in_log(mu, order_);
    const double length = density_->dual() + std::log(density_map_.half);
    const double log_length =
        in_log.dual() + std::log(logs.map.half) + (logs.map.centre + logs.map.half * mu[1]);
    const bool good = density_->residual() < kGoodResidual;
    const bool log_good = in_log.residual() < kGoodResidual;
    if (good == log_good ? log_length < length : log_good) {
      density_ = std::move(in_log);
      density_map_ = logs.map;
      log_ = true;
      status_.basis = "log";
    }
  }
  status_.residual = density_->residual();
  status_.atoms = 2;
}

std::vector<double> RetableFit::Quantiles(std::span<const double> phis) const {
  std::vector<double> out;
  out.reserve(phis.size());
  double top = sums_.min;
  for (const double phi : phis) {
    double x = sums_.max;
    if (phi < low_mass_ || rest_mass_ == 0) {
      x = phi < low_mass_ ? sums_.min : sums_.max;
      if (sums_.min == sums_.max) x = sums_.min;
    } else if (phi < 1 - high_mass_) {
      const double inner = (phi - low_mass_) / rest_mass_;
      if (density_.has_value()) {
        x = density_map_.centre + density_map_.half * density_->Quantile(inner);
        if (log_) x = std::exp(x);
        x = RoundToLattice(x);
      } else {
        const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, inner + 1e-12);
        x = place_[static_cast<std::size_t>(it - cumulative_.begin())];
      }
    }
    top = std::max(top, std::clamp(x, sums_.min, sums_.max));
    out.push_back(top);
  }
  return out;
}

RankBounds RetableFit::Ranks(double x) const {
  if (x == sums_.min) return {low_mass_, 0};
  if (x == sums_.max) return {1, 1 - high_mass_};
  if (rest_mass_ == 0) return {low_mass_, low_mass_};
  const double step = digits_ <= kMaxDigits ? 1 / PowerOfTen(digits_) / sums_.map.half : 0;
  const RankBounds rest = jacobi_->Bounds((x - sums_.map.centre) / sums_.map.half, step);
  return {low_mass_ + rest_mass_ * rest.through, low_mass_ + rest_mass_ * rest.below};
}

double RetableFit::Density(double x) const {
  if (!density_.has_value() || !(x > sums_.min && x < sums_.max)) return 0;
  const double t = ((log_ ? std::log(x) : x) - density_map_.centre) / density_map_.half;
  return rest_mass_ * density_->Density(t) / density_map_.half / (log_ ? x : 1);
}

}  // namespace retable::quantiles

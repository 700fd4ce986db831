#include "algorithms/quantiles/estimators/chebyshev_fit.hpp"

#include <algorithm>
#include <cmath>

namespace retable::quantiles {
namespace {

constexpr double kGoodResidual = 1e-3;

//! Atoms with a smaller residual are accepted; with a larger one, only if nothing fits better.
//! Moments of 8 or fewer digits let heavy tails look like atoms of residual 1e-4 to 1e-3, where a
//! density has 1e-5; for true atoms a density has 1e-3.
constexpr double kSureResidual = 1e-6;

//! The logarithm of an atom near zero has few correct digits, hence a loose tolerance.
constexpr double kGoodLogResidual = 1e-2;

//! A lattice is of use to bounds where values lie this much closer to its points, in steps.
constexpr double kFineSlack = 0.1;

//! T_0..T_order at t.
Moments ChebyshevAt(double t, int order) {
  Moments out{};
  out[0] = 1;
  if (order >= 1) out[1] = t;
  for (int k = 2; k <= order; ++k) out[k] = 2 * t * out[k - 1] - out[k - 2];
  return out;
}

// Whether the rounding of logarithms moves their moments by less than `error`. Over a narrow range
// it moves them by more; there log x is nearly linear in x and tells nothing new. No T_k is steeper
// than k^2.
bool LogsArePrecise(const ChebyshevSums& logs, int order, double error) {
  const double largest = std::max(std::abs(logs.min), std::abs(logs.max));
  return order * order * 0x1p-52 * largest < error * logs.map.half;
}

}  // namespace

ChebyshevFit::ChebyshevFit(const FitInput& input) : ChebyshevFit(input, Unsolved{}) {
  while (!problems_.empty()) {
    std::vector<DualAnswer> answers;
    for (const DualProblem& problem : problems_) answers.push_back(SolveDual(problem));
    Take(answers);
  }
}

std::vector<ChebyshevFit> FitColumns(std::span<const FitInput> inputs, const DualSolver& solve) {
  std::vector<ChebyshevFit> fits;
  fits.reserve(inputs.size());
  for (const FitInput& input : inputs) fits.push_back({input, ChebyshevFit::Unsolved{}});
  for (;;) {
    std::vector<DualProblem> batch;
    for (const ChebyshevFit& fit : fits) {
      batch.insert(batch.end(), fit.problems().begin(), fit.problems().end());
    }
    if (batch.empty()) return fits;
    const std::vector<DualAnswer> answers = solve(batch);
    std::span<const DualAnswer> rest(answers);
    for (ChebyshevFit& fit : fits) {
      const std::size_t own = fit.problems().size();
      if (own > 0) fit.Take(rest.first(own));
      rest = rest.subspan(own);
    }
  }
}

ChebyshevFit::ChebyshevFit(const FitInput& input, Unsolved)
    : sums_(input.sums),
      log_sums_(input.log_sums),
      order_(input.order),
      digits_(input.digits),
      error_(input.error),
      rounding_(input.rounding) {
  // Logarithms round: more of them may equal the ends' than values do, and those belong to the
  // rest.
  if (log_sums_.has_value() && LogsArePrecise(*log_sums_, order_, error_)) {
    log_sums_->at_min = sums_.at_min;
    log_sums_->at_max = sums_.at_max;
  } else {
    log_sums_.reset();
  }
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
  // The moments of the rest are less precise the smaller its mass.
  jacobi_.emplace(RestMoments(sums_), order_, input.noise / rest_mass_);
  if (jacobi_->atom_count() > 0) FitAtoms();
  if (!point_.empty() && status_.residual < kSureResidual) return;
  const double points =
      digits_ <= kMaxDigits ? (sums_.max - sums_.min) * PowerOfTen(digits_) - 1 : 0;
  if (points > 0.5 && points < kMaxLatticePoints + 0.5) {
    AskForLattice(std::llround(points));
  } else {
    AskForDensity();
  }
}

void ChebyshevFit::Take(std::span<const DualAnswer> answers) {
  if (stage_ == Stage::kDensity) {
    TakeDensity(answers);
  } else if (!TakeLattice(answers.front())) {
    return AskForDensity();
  }
  stage_ = Stage::kDone;
  problems_.clear();
}

Moments ChebyshevFit::RestMoments(const ChebyshevSums& sums) const {
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

double ChebyshevFit::RoundToLattice(double x) const {
  if (digits_ > kMaxDigits) return x;
  const double power = PowerOfTen(digits_);
  return std::round(x * power) / power;
}

void ChebyshevFit::FitAtoms() {
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
  if (log_sums_.has_value() && !MeetLogMoments(atoms)) return;
  double total = 0;
  for (std::size_t i = 0; i < atoms.point.size(); ++i) {
    total += atoms.mass[i];
    point_.push_back(RoundToLattice(sums_.map.centre + sums_.map.half * atoms.point[i]));
    cumulative_.push_back(total);
  }
  status_.basis = "atoms";
  status_.residual = residual;
  status_.atoms = point_.size() + 2;
}

bool ChebyshevFit::MeetLogMoments(const Atoms& atoms) const {
  const ChebyshevMap& map = log_sums_->map;
  const Moments mu = RestMoments(*log_sums_);
  Moments got{};
  for (std::size_t i = 0; i < atoms.point.size(); ++i) {
    const double x = sums_.map.centre + sums_.map.half * atoms.point[i];
    const double inside = std::clamp(x, sums_.min, sums_.max);
    const Moments at = ChebyshevAt((std::log(inside) - map.centre) / map.half, order_);
    for (int k = 0; k <= order_; ++k) got[k] += atoms.mass[i] * at[k];
  }
  for (int k = 0; k <= order_; ++k) {
    if (!(std::abs(got[k] - mu[k]) < kGoodLogResidual)) return false;
  }
  return true;
}

void ChebyshevFit::AskForLattice(long long points) {
  const double power = PowerOfTen(digits_);
  DualProblem problem;
  problem.mu = RestMoments(sums_);
  problem.order = static_cast<int>(std::min<long long>(order_, points - 1));
  problem.points = static_cast<int>(points);
  problem.first = ((std::round(sums_.min * power) + 1) / power - sums_.map.centre) / sums_.map.half;
  problem.step = 1 / power / sums_.map.half;
  stage_ = Stage::kLattice;
  problems_ = {problem};
}

bool ChebyshevFit::AtomsFitBetterThan(const DualAnswer& answer) {
  if (!point_.empty() && !(answer.residual < status_.residual)) return true;
  point_.clear();
  cumulative_.clear();
  return false;
}

bool ChebyshevFit::TakeLattice(const DualAnswer& answer) {
  if (answer.residual > kGoodResidual * 10) return false;
  if (AtomsFitBetterThan(answer)) return true;
  const DualProblem& problem = problems_.front();
  const double power = PowerOfTen(digits_);
  const double first = std::round(sums_.min * power);
  double total = 0;
  for (const double mass : DualMasses(problem, answer)) {
    total += mass;
    cumulative_.push_back(total);
    point_.push_back((first + static_cast<double>(cumulative_.size())) / power);
  }
  status_.basis = "lattice";
  status_.order = problem.order;
  status_.residual = answer.residual;
  status_.atoms = 2;
  return true;
}

void ChebyshevFit::AskForDensity() {
  DualProblem problem;
  problem.order = order_;
  problem.mu = RestMoments(sums_);
  problems_ = {problem};
  if (log_sums_.has_value()) {
    problem.mu = RestMoments(*log_sums_);
    problems_.push_back(problem);
  }
  stage_ = Stage::kDensity;
}

void ChebyshevFit::TakeDensity(std::span<const DualAnswer> answers) {
  std::size_t chosen = 0;
  density_map_ = sums_.map;
  status_.basis = "identity";
  if (log_sums_.has_value()) {
    const ChebyshevMap& map = log_sums_->map;
    const double length = answers[0].dual + std::log(sums_.map.half);
    const double log_length =
        answers[1].dual + std::log(map.half) + (map.centre + map.half * problems_[1].mu[1]);
    const bool good = answers[0].residual < kGoodResidual;
    const bool log_good = answers[1].residual < kGoodResidual;
    log_ = good == log_good ? log_length < length : log_good;
    if (log_) {
      chosen = 1;
      density_map_ = map;
      status_.basis = "log";
    }
  }
  if (AtomsFitBetterThan(answers[chosen])) {
    log_ = false;
    status_.basis = "atoms";
    return;
  }
  density_.emplace(problems_[chosen], answers[chosen]);
  status_.residual = answers[chosen].residual;
  status_.atoms = 2;
}

std::vector<double> ChebyshevFit::Quantiles(std::span<const double> phis) const {
  std::vector<double> out;
  out.reserve(phis.size());
  double top = sums_.min;
  for (const double phi : phis) {
    double x = sums_.max;
    if (phi < low_mass_) {
      x = sums_.min;
    } else if (rest_mass_ > 0 && phi < 1 - high_mass_) {
      const double inner = (phi - low_mass_) / rest_mass_;
      if (density_.has_value()) {
        x = density_map_.centre + density_map_.half * density_->Quantile(inner);
        if (log_) x = std::exp(x);
        x = RoundToLattice(x);
      } else {
        const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, inner + 1e-12);
        x = point_[static_cast<std::size_t>(it - cumulative_.begin())];
      }
    }
    top = std::max(top, std::clamp(x, sums_.min, sums_.max));
    out.push_back(top);
  }
  return out;
}

RankBounder ChebyshevFit::Bounder() const {
  Support support;
  const double half = sums_.map.half;
  const double magnitude = std::max(std::abs(sums_.min), std::abs(sums_.max));
  if (digits_ <= kMaxDigits) {
    const double power = PowerOfTen(digits_);
    support.step = 1 / power / half;
    support.slack = rounding_ * magnitude / half + 1e-15;
    // Decimals of the rest may equal an end but for rounding (3 * 0.1 and 0.3); whole numbers not.
    const double beside = digits_ == 0 ? 1 : 0;
    support.low = ((std::round(sums_.min * power) + beside) / power - sums_.map.centre) / half;
    support.high = ((std::round(sums_.max * power) - beside) / power - sums_.map.centre) / half;
    if (!(support.slack < kFineSlack * support.step)) support = {};
  }
  return {RestMoments(sums_), order_, error_ / rest_mass_, support};
}

RankBounder ChebyshevFit::LogBounder() const {
  const ChebyshevSums& sums = *log_sums_;
  Support support;
  const double magnitude = std::max(std::abs(sums.min), std::abs(sums.max));
  support.slack = 4 * kRounding<double> * magnitude / sums.map.half;
  return {RestMoments(sums), order_, error_ / rest_mass_, support};
}

std::vector<RankBounds> ChebyshevFit::Ranks(std::span<const double> xs) const {
  std::vector<RankBounds> out;
  const bool rest = rest_mass_ > 0;
  std::optional<RankBounder> plain;
  std::optional<RankBounder> logs;
  if (rest) plain.emplace(Bounder());
  if (rest && log_sums_.has_value()) logs.emplace(LogBounder());
  for (const double x : xs) {
    if (x <= sums_.min) {
      out.push_back({low_mass_, 0});
    } else if (x >= sums_.max) {
      out.push_back({1, 1 - high_mass_});
    } else if (!rest) {
      out.push_back({low_mass_, low_mass_});
    } else {
      RankBounds ranks = plain->Ranks((x - sums_.map.centre) / sums_.map.half);
      if (logs.has_value()) {
        const ChebyshevMap& map = log_sums_->map;
        const RankBounds other = logs->Ranks((std::log(x) - map.centre) / map.half);
        ranks = {std::max(ranks.through, other.through), std::min(ranks.below, other.below)};
      }
      out.push_back({low_mass_ + rest_mass_ * ranks.through, low_mass_ + rest_mass_ * ranks.below});
    }
  }
  return out;
}

double ChebyshevFit::Density(double x) const {
  if (!density_.has_value() || !(x > sums_.min && x < sums_.max)) return 0;
  const double t = ((log_ ? std::log(x) : x) - density_map_.centre) / density_map_.half;
  return rest_mass_ * density_->Density(t) / density_map_.half / (log_ ? x : 1);
}

}  // namespace retable::quantiles

#include "algorithms/quantiles/sketches/moment_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "algorithms/quantiles/estimators/legendre_series.hpp"
#include "algorithms/quantiles/estimators/max_entropy/density.hpp"

namespace retable::quantiles {
namespace {

template <class Value>
std::vector<double> AtEach(std::span<const double> ts, const Value& value) {
  std::vector<double> out;
  out.reserve(ts.size());
  for (const double t : ts) out.push_back(value(t));
  return out;
}

//! What both estimators share: the accumulator, merging, bounds, constant streams.
class MomentSketch : public QuantileSketch, public DensityEstimate, public DistributionEstimate {
 public:
  MomentSketch(std::unique_ptr<MomentAccumulator> moments, bool log)
      : moments_(std::move(moments)), log_(log) {}

  void update(std::span<const float> values) override { moments_->update(values); }
  void update(std::span<const double> values) override { moments_->update(values); }
  void merge(const QuantileSketch& other) override {
    const auto* same = dynamic_cast<const MomentSketch*>(&other);
    if (same == nullptr || typeid(*same) != typeid(*this) || same->log_ != log_) {
      throw std::invalid_argument("merge of two sketches of different methods");
    }
    moments_->merge(*same->moments_);
  }
  std::size_t count() const override { return moments_->count() + infinities().count(); }
  Infinities infinities() const override { return moments_->infinities(); }
  std::size_t bytes() const override { return moments_->bytes(); }

  std::vector<double> density(std::span<const double> xs) const override {
    CheckStream();
    if (moments_->min() == moments_->max()) {
      throw SketchFailure("a constant stream has no density");
    }
    const ScaledMoments scaled = moments_->scaled();
    std::vector<double> out(xs.begin(), xs.end());
    for (double& x : out) x = ((log_ ? std::log(x) : x) - scaled.centre()) / scaled.half_range();
    out = Densities(scaled, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] /= scaled.half_range() * (log_ ? xs[i] : 1.0);
      if (!(xs[i] >= moments_->data_min() && xs[i] <= moments_->data_max())) out[i] = 0;
    }
    return out;
  }

  std::vector<double> cdf(std::span<const double> xs) const override {
    CheckStream();
    std::vector<double> out(xs.begin(), xs.end());
    if (moments_->data_min() == moments_->data_max()) {
      for (double& x : out) x = x < moments_->data_min() ? 0 : 1;
      return out;
    }
    const ScaledMoments scaled = moments_->scaled();
    for (double& x : out) {
      const double t = ((log_ ? std::log(x) : x) - scaled.centre()) / scaled.half_range();
      x = std::clamp(t, -1.0, 1.0);
    }
    return Distribution(scaled, out);
  }

  MomentAccumulator& moments() { return *moments_; }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    CheckStream();
    const double low = moments_->data_min();
    const double high = moments_->data_max();
    if (low == high) return std::vector<double>(phis.size(), low);
    const ScaledMoments scaled = moments_->scaled();
    std::vector<double> out = Solve(scaled, phis);
    for (double& t : out) {
      const double x = scaled.centre() + scaled.half_range() * t;
      t = std::clamp(log_ ? std::exp(x) : x, low, high);
    }
    return out;
  }

  virtual std::vector<double> Solve(const ScaledMoments& scaled,
                                    std::span<const double> phis) const = 0;
  virtual std::vector<double> Densities(const ScaledMoments& scaled,
                                        std::span<const double> ts) const = 0;
  virtual std::vector<double> Distribution(const ScaledMoments& scaled,
                                           std::span<const double> ts) const = 0;

  std::unique_ptr<MomentAccumulator> moments_;
  bool log_;

 private:
  void CheckStream() const {
    if (moments_->count() == 0) throw std::logic_error("quantiles of an empty stream");
    if (log_ && !(moments_->data_min() > 0)) {
      throw SketchFailure("log moments need strictly positive data");
    }
    if (!std::isfinite(moments_->min()) || !std::isfinite(moments_->max())) {
      throw SketchFailure("a sum or a bound of the stream is not finite");
    }
  }
};

MaxEntropyDensity FitMaxEntropy(const ScaledMoments& scaled) {
  const auto mu = ChebyshevMoments(scaled);
  if (!MomentsAreSound(mu, scaled.order, 1e300)) {
    throw SketchFailure("a Chebyshev moment is not finite");
  }
  MaxEntropyDensity density(mu, scaled.order);
  if (!(density.residual() <= kMaxResidual)) {
    throw SketchFailure("no density has these moments: residual " +
                        std::to_string(density.residual()));
  }
  return density;
}

LegendreSeries FitLegendre(const ScaledMoments& scaled) {
  const auto mu = LegendreMoments(scaled);
  if (!MomentsAreSound(mu, scaled.order, kMomentSlack)) {
    throw SketchFailure("a Legendre moment is not finite or exceeds 1");
  }
  return LegendreSeries(mu, scaled.order);
}

//! A sketch of one estimator. Quantiles of a monotone one ascend by a running maximum.
template <auto kFit, bool kMonotone>
class FittedSketch final : public MomentSketch {
 public:
  using MomentSketch::MomentSketch;

  bool monotone() const override { return kMonotone; }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<FittedSketch>(moments_->empty_clone(), log_);
  }

 protected:
  std::vector<double> Solve(const ScaledMoments& scaled,
                            std::span<const double> phis) const override {
    const auto fit = kFit(scaled);
    double least = -1;
    return AtEach(phis, [&](double phi) {
      const double t = std::max(least, fit.Quantile(phi));
      if (kMonotone) least = t;
      return t;
    });
  }
  std::vector<double> Densities(const ScaledMoments& scaled,
                                std::span<const double> ts) const override {
    return AtEach(ts, [fit = kFit(scaled)](double t) { return fit.Density(t); });
  }
  std::vector<double> Distribution(const ScaledMoments& scaled,
                                   std::span<const double> ts) const override {
    return AtEach(ts, [fit = kFit(scaled)](double t) { return fit.Cdf(t); });
  }
};

}  // namespace

std::unique_ptr<QuantileSketch> MakeMaxEntropySketch(std::unique_ptr<MomentAccumulator> moments,
                                                     bool log) {
  return std::make_unique<FittedSketch<FitMaxEntropy, true>>(std::move(moments), log);
}

std::unique_ptr<QuantileSketch> MakeLegendreSketch(std::unique_ptr<MomentAccumulator> moments) {
  return std::make_unique<FittedSketch<FitLegendre, false>>(std::move(moments), false);
}

MomentAccumulator* AccumulatorOf(QuantileSketch& sketch) {
  auto* moment_sketch = dynamic_cast<MomentSketch*>(&sketch);
  return moment_sketch == nullptr ? nullptr : &moment_sketch->moments();
}

}  // namespace retable::quantiles

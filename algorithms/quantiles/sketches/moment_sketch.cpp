#include "algorithms/quantiles/sketches/moment_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "algorithms/common/require.hpp"
#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/estimators/legendre_series.hpp"
#include "algorithms/quantiles/estimators/max_entropy/density.hpp"

namespace retable::quantiles {
namespace {

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
class MomentSketch final : public QuantileSketch,
                           public DensityEstimate,
                           public DistributionEstimate {
 public:
  MomentSketch(std::unique_ptr<MomentAccumulator> moments, bool log)
      : moments_(std::move(moments)), log_(log) {}

  void update(std::span<const float> values) override { moments_->update(values); }
  void update(std::span<const double> values) override { moments_->update(values); }
  void merge(const QuantileSketch& other) override {
    const auto* same = dynamic_cast<const MomentSketch*>(&other);
    Require(same != nullptr && same->log_ == log_, "merge of two sketches of different methods");
    moments_->merge(*same->moments_);
  }
  std::size_t count() const override { return moments_->count() + infinities().count(); }
  Infinities infinities() const override { return moments_->infinities(); }
  bool monotone() const override { return kMonotone; }
  std::size_t bytes() const override { return moments_->bytes(); }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<MomentSketch>(moments_->empty_clone(), log_);
  }
  DeviceUpdate* device_update() override { return dynamic_cast<DeviceUpdate*>(moments_.get()); }

  std::vector<double> density(std::span<const double> xs) const override {
    CheckStream();
    if (moments_->min() == moments_->max()) {
      throw SketchFailure("a constant stream has no density");
    }
    const ScaledMoments scaled = moments_->scaled();
    const auto fit = kFit(scaled);
    std::vector<double> out;
    for (const double x : xs) {
      const bool inside = x >= moments_->data_min() && x <= moments_->data_max();
      const double slope = scaled.half_range() * (log_ ? x : 1.0);
      out.push_back(inside ? fit.Density(Scaled(scaled, x)) / slope : 0);
    }
    return out;
  }

  std::vector<double> cdf(std::span<const double> xs) const override {
    CheckStream();
    std::vector<double> out;
    if (moments_->data_min() == moments_->data_max()) {
      for (const double x : xs) out.push_back(x < moments_->data_min() ? 0 : 1);
      return out;
    }
    const ScaledMoments scaled = moments_->scaled();
    const auto fit = kFit(scaled);
    for (const double x : xs) out.push_back(fit.Cdf(std::clamp(Scaled(scaled, x), -1.0, 1.0)));
    return out;
  }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    CheckStream();
    const double low = moments_->data_min();
    const double high = moments_->data_max();
    if (low == high) return std::vector<double>(phis.size(), low);
    const ScaledMoments scaled = moments_->scaled();
    const auto fit = kFit(scaled);
    std::vector<double> out;
    double least = -1;
    for (const double phi : phis) {
      const double t = std::max(least, fit.Quantile(phi));
      if (kMonotone) least = t;
      const double x = scaled.centre() + scaled.half_range() * t;
      out.push_back(std::clamp(log_ ? std::exp(x) : x, low, high));
    }
    return out;
  }

 private:
  double Scaled(const ScaledMoments& scaled, double x) const {
    return ((log_ ? std::log(x) : x) - scaled.centre()) / scaled.half_range();
  }
  void CheckStream() const {
    if (moments_->count() == 0) throw std::logic_error("quantiles of an empty stream");
    if (log_ && !(moments_->data_min() > 0)) {
      throw SketchFailure("log moments need strictly positive data");
    }
    if (!std::isfinite(moments_->min()) || !std::isfinite(moments_->max())) {
      throw SketchFailure("a sum or a bound of the stream is not finite");
    }
  }

  std::unique_ptr<MomentAccumulator> moments_;
  bool log_;
};

}  // namespace

std::unique_ptr<QuantileSketch> MakeMaxEntropySketch(std::unique_ptr<MomentAccumulator> moments,
                                                     bool log) {
  return std::make_unique<MomentSketch<FitMaxEntropy, true>>(std::move(moments), log);
}

std::unique_ptr<QuantileSketch> MakeLegendreSketch(std::unique_ptr<MomentAccumulator> moments) {
  return std::make_unique<MomentSketch<FitLegendre, false>>(std::move(moments), false);
}

}  // namespace retable::quantiles

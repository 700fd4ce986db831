//! @file
//! DDSketch: quantiles with a bounded relative error in value.
//!
//! Problem: the phi-quantile within a factor 1 +- alpha of itself, however long the tail. Approach:
//! count values by the power of gamma = (1 + alpha) / (1 - alpha) they fall under; a bucket's
//! answer is the point with equal relative distance to its edges. Positive and negative values have
//! buckets of their own, zero a count. Beyond `bins` buckets the ones nearest to zero are joined,
//! and the bound is lost there. The bound is on values, not on ranks: compare it in that metric.
//!
//! O(log bins) a value, O(bins) a query. Serialised: 8 bytes for each bucket of the range in use
//! (dense, as in the authors' implementation), 32 bytes of header. Deterministic; merging adds.
//! Source: Masson, Rim, Lee, "DDSketch", PVLDB 12(12), 2019, algorithms 1 to 4.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>

#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {
namespace {

class DdSketch final : public QuantileSketch {
 public:
  DdSketch(double alpha, std::int64_t bins)
      : alpha_(alpha),
        bins_(bins),
        gamma_((1 + alpha) / (1 - alpha)),
        scale_(1 / std::log(gamma_)) {
    if (!(alpha > 0 && alpha < 1)) throw std::invalid_argument("alpha must lie between 0 and 1");
    if (bins < 2) throw std::invalid_argument("bins must be at least 2");
  }

  void update(std::span<const float> values) override { Feed(values); }
  void update(std::span<const double> values) override { Feed(values); }

  void merge(const QuantileSketch& other) override {
    const auto* same = dynamic_cast<const DdSketch*>(&other);
    if (same == nullptr || same->alpha_ != alpha_ || same->bins_ != bins_) {
      throw std::invalid_argument("merge of DDSketch with another method or other parameters");
    }
    const DdSketch theirs = *same;
    for (const auto& [bucket, times] : theirs.positive_) positive_[bucket] += times;
    for (const auto& [bucket, times] : theirs.negative_) negative_[bucket] += times;
    zeros_ += theirs.zeros_;
    count_ += theirs.count_;
    infinities_.Merge(theirs.infinities_);
    Collapse(positive_);
    Collapse(negative_);
  }

  std::size_t count() const override { return count_ + infinities_.count(); }
  Infinities infinities() const override { return infinities_; }
  std::size_t bytes() const override { return 32 + 8 * (Span(positive_) + Span(negative_)); }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<DdSketch>(alpha_, bins_);
  }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    if (count_ == 0) throw std::logic_error("quantiles of an empty stream");
    std::vector<double> out;
    for (const double phi : phis) out.push_back(AtRank(phi * static_cast<double>(count_ - 1)));
    return out;
  }

 private:
  using Buckets = std::map<std::int64_t, std::uint64_t>;

  template <class Real>
  void Feed(std::span<const Real> values) {
    for (const Real value : values) {
      const double x = static_cast<double>(value);
      if (std::isnan(x) || infinities_.Take(x)) continue;
      ++count_;
      if (x == 0) {
        ++zeros_;
      } else {
        Buckets& side = x > 0 ? positive_ : negative_;
        const auto bucket = static_cast<std::int64_t>(std::ceil(std::log(std::abs(x)) * scale_));
        const bool fresh = ++side[bucket] == 1;
        if (fresh) Collapse(side);
      }
    }
  }

  static std::size_t Span(const Buckets& side) {
    return side.empty() ? 0
                        : static_cast<std::size_t>(side.rbegin()->first - side.begin()->first + 1);
  }

  //! Joins the buckets nearest to zero until the range fits.
  void Collapse(Buckets& side) const {
    while (side.size() > 1 && Span(side) > static_cast<std::size_t>(bins_)) {
      const auto first = side.begin();
      const std::int64_t lowest = side.rbegin()->first - bins_ + 1;
      const std::uint64_t times = first->second;
      const std::int64_t next = std::next(first)->first;
      side.erase(first);
      side[std::min(next, lowest)] += times;
    }
  }

  //! The value a bucket stands for.
  double Middle(std::int64_t bucket) const {
    // From the lower end: the upper end of the last bucket is beyond the largest double.
    const double lower = std::pow(gamma_, static_cast<double>(bucket - 1));
    return std::min(2 * gamma_ / (gamma_ + 1) * lower, std::numeric_limits<double>::max());
  }

  double AtRank(double rank) const {
    double seen = 0;
    for (auto it = negative_.rbegin(); it != negative_.rend(); ++it) {
      seen += static_cast<double>(it->second);
      if (seen > rank) return -Middle(it->first);
    }
    seen += static_cast<double>(zeros_);
    if (seen > rank) return 0;
    for (const auto& [bucket, times] : positive_) {
      seen += static_cast<double>(times);
      if (seen > rank) return Middle(bucket);
    }
    return positive_.empty() ? 0 : Middle(positive_.rbegin()->first);
  }

  double alpha_;
  std::int64_t bins_;
  double gamma_;
  double scale_;
  Buckets positive_;
  Buckets negative_;  //!< Keys are those of the magnitudes.
  std::uint64_t zeros_ = 0;
  std::size_t count_ = 0;  //!< finite values
  Infinities infinities_;
};

RETABLE_REGISTER(QuantileSketch, ddsketch,
                 {.name = "DDSketch",
                  .summary = "counts by powers of a base: bounded relative error in value",
                  .citation = "Masson, Rim, Lee 2019",
                  .parameters = {{"alpha", 0.01, "relative error, between 0 and 1"},
                                 {"bins", std::int64_t{2048},
                                  "most buckets on either side of zero"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<DdSketch>(RealParameter(p, "alpha", 0.01),
                                                      IntegerParameter(p, "bins", 2048));
                  }});

}  // namespace
}  // namespace retable::quantiles

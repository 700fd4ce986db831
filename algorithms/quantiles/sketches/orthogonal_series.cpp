//! @file
//! The two-pass orthogonal series estimators: Chebyshev, cosine, Fourier, Hermite.
//!
//! Problem: a density from its expansion f = sum a_i g_i in functions orthogonal under a weight w,
//! with a_i = E[g_i(t) w(t)] / c_i estimated by a mean over the data (Mitchell et al. 2021, eqs. 9,
//! 10 and table 1). Approach: the first pass finds [min, max], the second maps the data affinely to
//! the series' domain and sums w g_i by the family's recurrence. Every g_i has an exact
//! antiderivative, so F is a series as well; quantiles are the first root of F(t) = phi met by
//! bracketed Newton, clamped to the range. Nothing shifts or rescales a negative density or a mass
//! that is not 1: the paper found that to cost accuracy.
//!
//! | series    | domain of the data | g_i              | w            | c_0, c_i          |
//! |-----------|--------------------|------------------|--------------|-------------------|
//! | Chebyshev | (-1, 1)            | T_i              | 1/sqrt(1-t^2)| pi, pi/2          |
//! | Cosine    | [0, pi]            | cos i t          | 1            | pi, pi/2          |
//! | Fourier   | [-pi, pi]          | cos i t, sin i t | 1            | 2 pi, pi          |
//! | Hermite   | [-s, s]            | He_i             | exp(-t^2/2)  | sqrt(2 pi) i!     |
//!
//! Two choices the paper leaves open are parameters. Chebyshev's weight is infinite at the ends,
//! where every column has its minimum and maximum: the data are mapped to [-1+margin, 1-margin].
//! Hermite functions live on about [-2 sqrt l, 2 sqrt l]: "scale" is s. Measurements:
//! docs/lab/quantiles/014-free-choices.md.
//!
//! Complexity: O(l) a value and one sine or square root; memory l + 3 numbers (Fourier 2 l + 3).
//! Merging needs equal bounds in the second pass. Deterministic.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "algorithms/common/require.hpp"
#include "algorithms/quantiles/estimators/root.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"

namespace retable::quantiles {
namespace {

enum class Series { kChebyshev, kCosine, kFourier, kHermite };

constexpr double kPi = std::numbers::pi;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kSeriesBlock =
    256;  // values handled at once, so that recurrences run in lanes

using Block = std::array<double, kSeriesBlock>;
//! Sums of w g_i in lanes, so that the loop over a block vectorises.
using LaneSums = std::array<std::array<double, kLanes>, kMaxOrder + 1>;

void AddLanes(const Block& terms, std::array<double, kLanes>& lanes) {
  for (std::size_t i = 0; i < kSeriesBlock; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += terms[i + j];
  }
}

//! Runs p_{k+1} = a_k t p_k - b_k p_{k-1} over a block from p_0, p_1, and sums every p_k.
template <class Recurrence>
void SumRecurrence(const Block& t, Block before, Block now, int order, const Recurrence& recurrence,
                   LaneSums& sums) {
  AddLanes(before, sums[0]);
  for (int k = 1; k <= order; ++k) {
    AddLanes(now, sums[k]);
    const auto [a, b] = recurrence(k);
    for (std::size_t i = 0; i < kSeriesBlock; ++i) {
      const double next = a * t[i] * now[i] - b * before[i];
      before[i] = now[i];
      now[i] = next;
    }
  }
}

class OrthogonalSeries final : public QuantileSketch,
                               public DensityEstimate,
                               public DistributionEstimate {
 public:
  OrthogonalSeries(Series series, int order, double extent)
      : series_(series), order_(CheckOrder(order)), extent_(extent) {}

  int passes() const override { return 2; }
  void begin_pass(int pass) override {
    Require(pass == 0 || pass == 1, "a series takes passes 0 and 1");
    if (pass == 0) *this = OrthogonalSeries(series_, order_, extent_);
    pass_ = pass;
  }

  void update(std::span<const float> values) override { Feed(values); }
  void update(std::span<const double> values) override { Feed(values); }

  void merge(const QuantileSketch& other) override {
    const auto* same = dynamic_cast<const OrthogonalSeries*>(&other);
    Require(same != nullptr && same->series_ == series_ && same->order_ == order_ &&
                same->extent_ == extent_ && same->pass_ == pass_,
            "merge of a series with another series, order or pass");
    if (pass_ == 0) {
      min_ = std::min(min_, same->min_);
      max_ = std::max(max_, same->max_);
      return;
    }
    Require(same->min_ == min_ && same->max_ == max_,
            "merge of two series fitted to different bounds: "
            "merge the first passes, then start both second passes from it");
    count_ += same->count_;
    infinities_.Merge(same->infinities_);
    for (int k = 0; k <= order_; ++k) {
      cosine_[k] += same->cosine_[k];
      sine_[k] += same->sine_[k];
    }
  }

  std::size_t count() const override { return count_ + infinities_.count(); }
  Infinities infinities() const override { return infinities_; }
  bool monotone() const override { return false; }
  std::size_t bytes() const override {
    const std::size_t sums = series_ == Series::kFourier ? 2 * order_ + 1 : order_ + 1;
    return (sums + 2) * sizeof(double);
  }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<OrthogonalSeries>(series_, order_, extent_);
  }

  std::vector<double> density(std::span<const double> xs) const override {
    CheckStream();
    if (min_ == max_) throw SketchFailure("a constant stream has no density");
    const Coefficients c = Expand();
    const double slope = (High() - Low()) / (max_ - min_);
    std::vector<double> out;
    for (const double x : xs) {
      const bool inside = x >= min_ && x <= max_;
      out.push_back(inside ? slope * Evaluate(c, Low() + slope * (x - min_)).second : 0.0);
    }
    return out;
  }

  std::vector<double> cdf(std::span<const double> xs) const override {
    CheckStream();
    std::vector<double> out(xs.begin(), xs.end());
    if (min_ == max_) {
      for (double& x : out) x = x < min_ ? 0 : 1;
      return out;
    }
    const Coefficients c = Expand();
    const double slope = (High() - Low()) / (max_ - min_);
    const double at_start = Evaluate(c, Start()).first;
    for (double& x : out) {
      x = Evaluate(c, std::clamp(Low() + slope * (x - min_), Low(), High())).first - at_start;
    }
    return out;
  }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    CheckStream();
    if (min_ == max_) return std::vector<double>(phis.size(), min_);
    const Coefficients c = Expand();
    std::vector<double> out;
    out.reserve(phis.size());
    const double at_start = Evaluate(c, Start()).first;
    for (const double phi : phis) {
      if (phi <= 0 || phi >= 1) {
        out.push_back(phi <= 0 ? min_ : max_);
        continue;
      }
      const double t = BracketedNewton(
          [&](double u) {
            const auto [cdf, density] = Evaluate(c, u);
            return std::pair(cdf - at_start, density);
          },
          phi, Low(), High(), 0.5 * (Low() + High()), 1e-12 * (High() - Low()));
      const double x = min_ + (t - Low()) / (High() - Low()) * (max_ - min_);
      if (!std::isfinite(x)) throw SketchFailure("the series has no finite quantile");
      out.push_back(std::clamp(x, min_, max_));
    }
    return out;
  }

 private:
  //! a_i of the cosines or polynomials, b_i of the sines.
  struct Coefficients {
    std::array<double, kMaxOrder + 1> a{};
    std::array<double, kMaxOrder + 1> b{};
  };

  double High() const {
    switch (series_) {
      case Series::kChebyshev:
        return 1 - extent_;
      case Series::kHermite:
        return extent_;
      default:
        return kPi;
    }
  }
  double Low() const { return series_ == Series::kCosine ? 0 : -High(); }
  //! Where the estimate of F is 0: the series' domain begins there. Hermite's is endless, and its
  //! estimate a polynomial; it begins with the data.
  double Start() const { return series_ == Series::kChebyshev ? -1 : Low(); }

  void CheckStream() const {
    if (!(min_ <= max_)) throw std::logic_error("quantiles of an empty stream");
    if (pass_ == 0 && min_ != max_) {
      throw std::logic_error("a series needs its second pass before it answers");
    }
    if (!std::isfinite(min_) || !std::isfinite(max_) || !std::isfinite(max_ - min_)) {
      throw SketchFailure("the range of the stream overflows");
    }
  }

  template <class Real>
  void Feed(std::span<const Real> values) {
    if (pass_ == 0) {
      FindBounds(values);
      return;
    }
    const double scale = max_ > min_ ? (High() - Low()) / (max_ - min_) : 0;
    Block block;
    std::size_t n = 0;
    for (const Real value : values) {
      const double x = static_cast<double>(value);
      if (std::isnan(x) || infinities_.Take(x)) continue;
      block[n++] = std::clamp(Low() + scale * (x - min_), Low(), High());
      if (n == kSeriesBlock) {
        AddBlock(block, n);
        n = 0;
      }
    }
    if (n > 0) AddBlock(block, n);
  }

  template <class Real>
  void FindBounds(std::span<const Real> values) {
    std::array<Real, kLanes> low;
    std::array<Real, kLanes> high;
    low.fill(std::numeric_limits<Real>::infinity());
    high.fill(-std::numeric_limits<Real>::infinity());
    std::size_t i = 0;
    for (; i + kLanes <= values.size(); i += kLanes) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        const Real x = values[i + j];
        low[j] = x < low[j] ? x : low[j];
        high[j] = x > high[j] ? x : high[j];
      }
    }
    for (; i < values.size(); ++i) {
      low[0] = values[i] < low[0] ? values[i] : low[0];
      high[0] = values[i] > high[0] ? values[i] : high[0];
    }
    for (std::size_t j = 0; j < kLanes; ++j) {
      const bool infinite = low[j] < std::numeric_limits<Real>::lowest() ||
                            high[j] > std::numeric_limits<Real>::max();
      if (infinite) return FindFiniteBounds(values);
      min_ = std::min(min_, static_cast<double>(low[j]));
      max_ = std::max(max_, static_cast<double>(high[j]));
    }
  }

  template <class Real>
  void FindFiniteBounds(std::span<const Real> values) {
    for (const Real value : values) {
      if (!std::isfinite(value)) continue;
      min_ = std::min(min_, static_cast<double>(value));
      max_ = std::max(max_, static_cast<double>(value));
    }
  }

  //! Sums w g_i over the first n values of a block; the padding has weight 0.
  void AddBlock(Block& t, std::size_t n) {
    count_ += n;
    Block live;
    for (std::size_t i = 0; i < kSeriesBlock; ++i) live[i] = i < n ? 1.0 : 0.0;
    for (std::size_t i = n; i < kSeriesBlock; ++i) t[i] = 0;
    LaneSums cosine{};
    LaneSums sine{};
    Block first;
    Block doubled;
    switch (series_) {
      case Series::kChebyshev:
        for (std::size_t i = 0; i < kSeriesBlock; ++i) {
          live[i] /= std::sqrt((1 - t[i]) * (1 + t[i]));
          first[i] = live[i] * t[i];
        }
        SumRecurrence(
            t, live, first, order_, [](int) { return std::pair(2.0, 1.0); }, cosine);
        break;
      case Series::kHermite:
        for (std::size_t i = 0; i < kSeriesBlock; ++i) {
          live[i] *= std::exp(-0.5 * t[i] * t[i]);
          first[i] = live[i] * t[i];
        }
        SumRecurrence(
            t, live, first, order_, [](int k) { return std::pair(1.0, static_cast<double>(k)); },
            cosine);
        break;
      case Series::kCosine:
      case Series::kFourier: {
        for (std::size_t i = 0; i < kSeriesBlock; ++i) {
          doubled[i] = std::cos(t[i]);
          first[i] = live[i] * doubled[i];
        }
        const auto recurrence = [](int) { return std::pair(2.0, 1.0); };
        SumRecurrence(doubled, live, first, order_, recurrence, cosine);
        if (series_ == Series::kFourier) {
          Block zero{};
          for (std::size_t i = 0; i < kSeriesBlock; ++i) first[i] = live[i] * std::sin(t[i]);
          SumRecurrence(doubled, zero, first, order_, recurrence, sine);
        }
        break;
      }
    }
    for (int k = 0; k <= order_; ++k) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        cosine_[k] += cosine[k][j];
        sine_[k] += sine[k][j];
      }
    }
  }

  Coefficients Expand() const {
    Coefficients c;
    const double n = static_cast<double>(count_);
    double factorial = 1;
    for (int i = 0; i <= order_; ++i) {
      if (i > 0) factorial *= i;
      double constant = i == 0 ? kPi : kPi / 2;
      if (series_ == Series::kFourier) constant *= 2;
      if (series_ == Series::kHermite) constant = std::sqrt(2 * kPi) * factorial;
      c.a[i] = cosine_[i] / n / constant;
      c.b[i] = sine_[i] / n / constant;
      if (!std::isfinite(c.a[i])) throw SketchFailure("a coefficient of the series is not finite");
    }
    return c;
  }

  //! {antiderivative of the series, series} at t.
  std::pair<double, double> Evaluate(const Coefficients& c, double t) const {
    switch (series_) {
      case Series::kChebyshev:
        return EvaluateChebyshev(c, t);
      case Series::kHermite:
        return EvaluateHermite(c, t);
      default:
        return EvaluateTrigonometric(c, t);
    }
  }

  //! Integral T_i = (T_{i+1} / (i+1) - T_{i-1} / (i-1)) / 2 for i >= 2; t and t^2 / 2 below.
  std::pair<double, double> EvaluateChebyshev(const Coefficients& c, double t) const {
    double before = 1;
    double now = t;
    double cdf = c.a[0] * t;
    double density = c.a[0];
    for (int i = 1; i <= order_; ++i) {
      const double next = 2 * t * now - before;
      density += c.a[i] * now;
      cdf += c.a[i] * (i == 1 ? 0.5 * t * t : 0.5 * (next / (i + 1) - before / (i - 1)));
      before = now;
      now = next;
    }
    return {cdf, density};
  }

  //! Integral He_i = He_{i+1} / (i+1).
  std::pair<double, double> EvaluateHermite(const Coefficients& c, double t) const {
    double before = 1;
    double now = t;
    double cdf = c.a[0] * t;
    double density = c.a[0];
    for (int i = 1; i <= order_; ++i) {
      const double next = t * now - i * before;
      density += c.a[i] * now;
      cdf += c.a[i] * next / (i + 1);
      before = now;
      now = next;
    }
    return {cdf, density};
  }

  std::pair<double, double> EvaluateTrigonometric(const Coefficients& c, double t) const {
    const double c1 = std::cos(t);
    const double s1 = std::sin(t);
    double ci = 1;
    double si = 0;
    double cdf = c.a[0] * t;
    double density = c.a[0];
    for (int i = 1; i <= order_; ++i) {
      const double rotated = ci * c1 - si * s1;
      si = si * c1 + ci * s1;
      ci = rotated;
      density += c.a[i] * ci + c.b[i] * si;
      cdf += (c.a[i] * si - c.b[i] * ci) / i;
    }
    return {cdf, density};
  }

  Series series_;
  int order_;
  double extent_;
  int pass_ = 0;
  std::size_t count_ = 0;
  Infinities infinities_;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  std::array<double, kMaxOrder + 1> cosine_{};  //!< sums of w g_i (of the cosines)
  std::array<double, kMaxOrder + 1> sine_{};    //!< sums of the sines
};

//! @param extent the margin (Chebyshev) or the scale (Hermite)
std::unique_ptr<QuantileSketch> MakeSeries(Series series, int order, double extent) {
  Require(series != Series::kChebyshev || (extent >= 0 && extent <= 0.5),
          "margin must be 0 to 0.5");
  Require(series != Series::kHermite || (extent > 0 && extent <= 10),
          "scale must be above 0 and at most 10");
  return std::make_unique<OrthogonalSeries>(series, order, extent);
}

//! @param extent the parameter that MakeSeries calls so, or none
Method<QuantileSketch> Describe(const char* name, Series series, const char* summary,
                                const char* citation, std::vector<ParameterInfo> extent = {}) {
  constexpr std::int64_t kOrder = 10;
  std::vector<ParameterInfo> parameters = {{"l", kOrder, "highest order of the series, 1 to 15"}};
  parameters.insert(parameters.end(), extent.begin(), extent.end());
  return {.name = name,
          .summary = summary,
          .citation = citation,
          .parameters = parameters,
          .make = [series, extent](const Parameters& p) {
            const int order = CheckOrder(IntegerParameter(p, "l", kOrder));
            if (extent.empty()) return MakeSeries(series, order, 0);
            const double fallback = std::get<double>(extent[0].fallback);
            return MakeSeries(series, order, RealParameter(p, extent[0].name, fallback));
          }};
}

constexpr const char* kTable1 = "Mitchell, Frank, Holmes 2021, section 4, table 1";

RETABLE_REGISTER(QuantileSketch, chebyshev,
                 (Describe("Chebyshev", Series::kChebyshev, "two-pass Chebyshev series", kTable1,
                           {{"margin", 0.025, "keeps data off the ends, 0 to 0.5"}})));
RETABLE_REGISTER(QuantileSketch, cosine,
                 (Describe("Cosine", Series::kCosine, "two-pass cosine series", kTable1)));
RETABLE_REGISTER(QuantileSketch, fourier,
                 (Describe("Fourier", Series::kFourier, "two-pass Fourier series",
                           "Mitchell, Frank, Holmes 2021, section 4")));
RETABLE_REGISTER(QuantileSketch, hermite,
                 (Describe("Hermite", Series::kHermite, "two-pass Hermite series", kTable1,
                           {{"scale", 2.0, "half-width the data are mapped to"}})));

}  // namespace
}  // namespace retable::quantiles

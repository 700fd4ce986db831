//! @file
//! Accuracy of quantile sketches: the normalised integrated absolute error of every column.
//!
//! Mitchell, Frank, Holmes 2021, section 8.1: `niae`, the quantile form of equation 14, and
//! `niae_cdf`, the form between distribution functions that the work's tables hold (niae.hpp). The
//! latter only of methods that estimate a distribution function. One sample per column, which a
//! method sees without its missing values; a numerical failure is a NaN sample, which the tables
//! leave out of the statistics and count, as the paper does. A NaN, or of finite values an
//! infinity, that a method answers without declaring a failure is a wrong result. A constant column
//! has no range to divide by; the published minima show that the paper leaves these out, and so do
//! its tables here, which count them. The reference is the sorted column; beyond kLargestSort
//! values of a normal stream it is the normal distribution's own quantile function, whose distance
//! from the empirical one is below 1e-4 of the standard deviation there.

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"
#include "baselines/quantiles/datasketches.hpp"
#include "datasets/generators/generators.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/quantiles/data/column_class.hpp"
#include "experiments/quantiles/data/columns.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

using quantiles::DistributionEstimate;
using quantiles::QuantileSketch;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What a sketch answers of values in [low, high].
struct Answers {
  std::vector<double> estimates;  // at the paper's 1000 points; none on a numerical failure
  // The estimate of F at the work's 1000 places, or none. Of a sketch that estimates quantiles
  // alone: the fraction of the estimates up to a place.
  std::vector<double> cdf;
  bool wrong = false;  // an answer is NaN, or infinite where no value is
};

Answers AnswersOf(const QuantileSketch& sketch, double low, double high) {
  Answers answers;
  const auto finite_or_none = [&](const auto& estimate) {
    std::vector<double> found;
    try {
      found = estimate();
    } catch (const quantiles::SketchFailure&) {
    }
    bool finite = true;
    for (const double x : found) {
      finite &= std::isfinite(x);
      answers.wrong |= !std::isfinite(x) && x != low && x != high;
    }
    return finite ? found : std::vector<double>{};
  };
  answers.estimates = finite_or_none([&] { return sketch.quantiles(quantiles::NiaePhis()); });
  const auto places = quantiles::NiaePlaces(low, high);
  if (const auto* own = dynamic_cast<const DistributionEstimate*>(&sketch)) {
    answers.cdf = finite_or_none([&] { return own->cdf(places); });
    return answers;
  }
  if (answers.estimates.empty()) return answers;
  std::vector<double> ascending = answers.estimates;
  std::sort(ascending.begin(), ascending.end());
  for (const double x : places) {
    const auto up_to = std::upper_bound(ascending.begin(), ascending.end(), x);
    answers.cdf.push_back(static_cast<double>(up_to - ascending.begin()) /
                          static_cast<double>(ascending.size()));
  }
  return answers;
}

double MeanRankError(std::span<const double> sorted, std::span<const double> estimates) {
  const auto phis = quantiles::NiaePhis(estimates.size());
  double sum = 0;
  for (std::size_t i = 0; i < phis.size(); ++i) {
    sum += quantiles::IntervalRankError(sorted, phis[i], estimates[i]);
  }
  return sum / static_cast<double>(phis.size());
}

// The error in value relative to the value, DDSketch's own measure: |q - exact| / |exact|, averaged
// over the points whose exact quantile is not zero. NaN where there is none.
double MeanRelativeError(std::span<const double> sorted, std::span<const double> estimates) {
  const auto phis = quantiles::NiaePhis(estimates.size());
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < phis.size(); ++i) {
    const double exact = quantiles::EmpiricalQuantile(sorted, phis[i]);
    if (exact == 0) continue;
    sum += std::abs(estimates[i] - exact) / std::abs(exact);
    ++count;
  }
  return sum / count;
}

class NiaeProtocol : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/niae"; }
  std::string summary() const override {
    return "accuracy of quantile sketches on the columns of data sets (NIAE, rank error)";
  }
  Names metrics() const override { return {"niae", "rank_error", "niae_cdf"}; }
  Algorithms algorithms() const override { return ListMethods<QuantileSketch>(); }
  Specs settings() const override {
    auto specs = InputSettings();
    specs.push_back({"constant", true, "whether constant columns count, too"});
    return specs;
  }
  Specs axes() const override {
    return {{"size", std::int64_t{1000}, "values drawn from a generator", true}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }

  Reason unsupported(const Cell& cell) const override {
    if (quantiles::IsDataSketches(cell.algorithm) && !quantiles::HasDataSketches()) {
      return "this build has no Apache DataSketches (-DDATASKETCHES_ROOT=FOLDER)";
    }
    return {};
  }

  Outcome measure(const Cell& cell) override {
    harness::Outcome outcome;
    harness::Metric niae{"niae", "1"};
    harness::Metric rank{"rank_error", "1"};
    harness::Metric area{"niae_cdf", "1"};
    std::vector<harness::Metric> more = More();
    const auto fresh = MakeMethod<QuantileSketch>(cell);
    const bool constants = FlagOf(cell.settings, "constant");
    std::int64_t wrong = 0;
    std::int64_t left_out = 0;
    ForEachInput(cell, [&](const SketchInput& input) {
      const auto [low, high] = std::minmax_element(input.values.begin(), input.values.end());
      if (!constants && *low == *high) {
        ++left_out;
        return;
      }
      const auto sketch = fresh->empty_clone();
      Feed(*sketch, input.values);
      std::vector<double> sorted(input.values.begin(), input.values.end());
      std::sort(sorted.begin(), sorted.end());
      const auto [estimates, cdf, wrong_answers] =
          AnswersOf(*sketch, sorted.front(), sorted.back());
      const bool failed = estimates.empty();
      niae.samples.push_back(failed ? kNan : quantiles::Niae(sorted, estimates));
      rank.samples.push_back(failed ? kNan : MeanRankError(sorted, estimates));
      area.samples.push_back(cdf.empty() ? kNan : quantiles::NiaeOfCdf(sorted, cdf));
      for (auto* metric : {&niae, &rank, &area}) {
        metric->groups.push_back(ColumnClass(ShapeOf(sorted)));
        metric->items.push_back(input.name);
      }
      if (sketch->count() != input.values.size() || wrong_answers) ++wrong;
      AddMore(more, input.name, sorted, estimates, *sketch);
      outcome.facts["bytes"] = static_cast<std::int64_t>(sketch->bytes());
    });
    outcome.verification =
        AtMost("columns with a wrong count, or NaN or infinity among the answers",
               static_cast<double>(wrong), 0, "values fed");
    outcome.facts["columns"] = static_cast<std::int64_t>(niae.samples.size());
    outcome.facts["constant_columns_left_out"] = left_out;
    if (niae.samples.empty()) {
      outcome.status = "skipped";
      outcome.reason =
          "no column of this data set is wanted (" + TextOf(cell.settings, "inputs") + ")";
    }
    outcome.metrics = {niae, rank};
    if (!area.samples.empty()) outcome.metrics.push_back(area);
    outcome.metrics.insert(outcome.metrics.end(), more.begin(), more.end());
    return outcome;
  }

 protected:
  // Further metrics of a derived protocol, and their samples for a column; no estimates mean a
  // numerical failure.
  virtual std::vector<harness::Metric> More() const { return {}; }
  virtual void AddMore(std::vector<harness::Metric>& /*more*/, const std::string& /*column*/,
                       std::span<const double> /*sorted*/, std::span<const double> /*estimates*/,
                       const QuantileSketch& /*sketch*/) const {}
};

// Accuracy per byte. Ties: an answer that is a data value occupies an interval of ranks; its rank
// error is the distance of phi from that interval, for every method. Columns of fewer than 2000
// values are reported separately: many peers hold all values of these.
class BytesProtocol final : public NiaeProtocol {
 public:
  std::string name() const override { return "quantiles/bytes"; }
  std::string summary() const override {
    return "accuracy of quantile sketches for the bytes of their serialised form";
  }
  Names metrics() const override {
    return {"niae", "rank_error", "niae_cdf", "bytes", "relative_error", "rank_error_by_length"};
  }

 private:
  std::vector<harness::Metric> More() const override {
    return {{"bytes", "B"}, {"rank_error_by_length", "1"}, {"relative_error", "1"}};
  }
  void AddMore(std::vector<harness::Metric>& more, const std::string& column,
               std::span<const double> sorted, std::span<const double> estimates,
               const QuantileSketch& sketch) const override {
    constexpr std::size_t kShort = 2000;
    const bool failed = estimates.empty();
    more[0].samples.push_back(static_cast<double>(sketch.bytes()));
    more[1].samples.push_back(failed ? kNan : MeanRankError(sorted, estimates));
    more[2].samples.push_back(failed ? kNan : MeanRelativeError(sorted, estimates));
    for (auto& metric : more) {
      metric.items.push_back(column);
      metric.groups.push_back(sorted.size() < kShort ? "short" : "long");
    }
  }
};

// Table 5: one long stream that is generated in pieces and never stored.
class StreamProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/stream"; }
  std::string summary() const override {
    return "accuracy of quantile sketches on one long generated stream, in double precision";
  }
  Names metrics() const override { return {"niae", "niae_cdf"}; }
  Algorithms algorithms() const override { return ListMethods<QuantileSketch>(); }
  Specs axes() const override { return {{"size", std::int64_t{1000}, "values in the stream"}}; }
  Datasets resolve(const std::string& dataset) const override { return ResolveGenerated(dataset); }

  Outcome measure(const Cell& cell) override {
    const auto spec = datasets::ParseGenerator(cell.dataset);
    const std::uint64_t n = SizeOf(cell);
    const auto sketch = MakeMethod<QuantileSketch>(cell);
    const bool sorts = n <= kLargestSort;
    std::vector<double> all;
    std::uint64_t present = 0;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (int pass = 0; pass < sketch->passes(); ++pass) {
      sketch->begin_pass(pass);
      ForEachChunk(spec, static_cast<std::uint64_t>(cell.seed), n, [&](std::span<const double> x) {
        sketch->update(x);
        for (const double value : x) {
          if (pass > 0 || std::isnan(value)) continue;
          ++present;
          low = std::min(low, value);
          high = std::max(high, value);
          if (sorts) all.push_back(value);
        }
      });
    }
    std::sort(all.begin(), all.end());
    harness::Outcome outcome;
    harness::Metric niae{"niae", "1", {}, {}, {cell.dataset}};
    const auto [estimates, cdf, wrong] = AnswersOf(*sketch, low, high);
    if (estimates.empty()) {
      niae.samples = {kNan};
    } else {
      niae.samples = {sorts ? quantiles::Niae(all, estimates)
                            : NormalNiae(spec, estimates, low, high)};
    }
    outcome.metrics = {niae};
    double error = kNan;
    if (!cdf.empty()) {
      error = sorts ? quantiles::NiaeOfCdf(all, cdf) : NormalNiaeOfCdf(spec, cdf, low, high);
    }
    outcome.metrics.push_back({"niae_cdf", "1", {error}, {}, {cell.dataset}});
    const double gap =
        std::abs(static_cast<double>(sketch->count()) - static_cast<double>(present));
    outcome.verification = AtMost("difference of counts, and NaN or infinity among the answers",
                                  gap + (wrong ? 1 : 0), 0, "values fed");
    outcome.facts["bytes"] = static_cast<std::int64_t>(sketch->bytes());
    outcome.facts["reference"] = std::string(sorts ? "sorted stream" : "normal distribution");
    outcome.facts["min"] = low;
    outcome.facts["max"] = high;
    return outcome;
  }

 private:
  static constexpr std::uint64_t kLargestSort = std::uint64_t{1} << 25;
  static constexpr std::size_t kChunk = std::size_t{1} << 20;

  template <class Visit>
  static void ForEachChunk(const datasets::GeneratorSpec& spec, std::uint64_t seed, std::uint64_t n,
                           const Visit& visit) {
    std::vector<double> chunk;
    for (std::uint64_t at = 0; at < n; at += kChunk) {
      chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, n - at)));
      datasets::Generate(spec, seed, at, std::span<double>(chunk));
      visit(std::span<const double>(chunk));
    }
  }

  static boost::math::normal Law(const datasets::GeneratorSpec& spec) {
    if (spec.kind != "normal") {
      throw std::invalid_argument(
          fmt::format("streams beyond {} values need a normal generator", kLargestSort));
    }
    return boost::math::normal(spec.values.at("mean"), spec.values.at("sd"));
  }

  static double NormalNiaeOfCdf(const datasets::GeneratorSpec& spec, std::span<const double> cdf,
                                double low, double high) {
    const auto law = Law(spec);
    const auto places = quantiles::NiaePlaces(low, high, cdf.size());
    double sum = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      sum += std::abs(cdf[i] - boost::math::cdf(law, places[i]));
    }
    return sum / static_cast<double>(places.size());
  }

  static double NormalNiae(const datasets::GeneratorSpec& spec, std::span<const double> estimates,
                           double low, double high) {
    const auto law = Law(spec);
    const auto phis = quantiles::NiaePhis(estimates.size());
    double area = 0;
    for (std::size_t i = 0; i < phis.size(); ++i) {
      const double exact = i == 0                 ? low
                           : i + 1 == phis.size() ? high
                                                  : boost::math::quantile(law, phis[i]);
      const double weight = i == 0 || i + 1 == phis.size() ? 0.5 : 1.0;
      area += weight * std::abs(estimates[i] - exact);
    }
    return area / static_cast<double>(phis.size() - 1) / (high - low);
  }
};

RETABLE_PROTOCOL(NiaeProtocol);
RETABLE_PROTOCOL(BytesProtocol);
RETABLE_PROTOCOL(StreamProtocol);

}  // namespace
}  // namespace retable::experiments

//! @file
//! The inputs of the sketches: sizes (figure 3), repeated values (figure 4), and fitted densities
//! (figure 1).

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/quantiles/quantile_sketch.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/quantiles/data/column_class.hpp"
#include "experiments/quantiles/data/columns.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

// Figures 3 and 4: no algorithm, only the data.
class ColumnsProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/columns"; }
  std::string summary() const override { return "size and repetition of the sketch inputs"; }
  Names metrics() const override { return {"size", "unique_ratio"}; }
  Algorithms algorithms() const override {
    return {{"columns", {"cpu"}, {}, "describes the inputs; measures no algorithm", ""}};
  }
  Specs settings() const override { return InputSettings(); }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }

  Outcome measure(const Cell& cell) override {
    harness::Metric size{"size", "values"};
    harness::Metric unique{"unique_ratio", "1"};
    ForEachInput(cell, [&](const SketchInput& input) {
      std::vector<double> sorted(input.values.begin(), input.values.end());
      std::sort(sorted.begin(), sorted.end());
      const ColumnShape shape = ShapeOf(sorted);
      const auto n = static_cast<double>(sorted.size());
      size.samples.push_back(n);
      unique.samples.push_back(static_cast<double>(shape.distinct) / n);
      for (auto* metric : {&size, &unique}) {
        metric->groups.push_back(ColumnClass(shape));
        metric->items.push_back(input.name);
      }
    });
    harness::Outcome outcome;
    outcome.metrics = {size, unique};
    return outcome;
  }
};

// Figure 1: densities over the data's histogram.
class DensityProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/density"; }
  std::string summary() const override { return "fitted densities, for drawing"; }
  Names metrics() const override { return {"negative_mass"}; }
  Algorithms algorithms() const override { return ListMethods<quantiles::QuantileSketch>(); }
  Specs axes() const override {
    return {{"size", std::int64_t{1000}, "values drawn from a generator"}};
  }
  Specs settings() const override {
    auto settings = InputSettings();
    settings.push_back({"column", std::int64_t{0}, "which column of the data set, from 0"});
    return settings;
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveData(dataset); }

  Outcome measure(const Cell& cell) override {
    const auto wanted = IntegerOf(cell.settings, "column");
    std::int64_t columns = 0;
    harness::Outcome outcome;
    ForEachInput(cell, [&](const SketchInput& input) {
      if (columns++ == wanted) outcome = Fit(cell, input);
    });
    if (wanted < 0 || wanted >= columns) {
      throw std::invalid_argument(fmt::format("there is no column {}: of {} inputs={} leaves {}",
                                              wanted, cell.dataset, TextOf(cell.settings, "inputs"),
                                              columns));
    }
    return outcome;
  }

 private:
  static constexpr int kPoints = 401;
  static constexpr int kBins = 60;

  static harness::Curve Histogram(const std::vector<float>& values, double low, double high) {
    harness::Curve curve{"histogram", {}, std::vector<double>(kBins, 0.0)};
    const double width = (high - low) / kBins;
    for (float x : values) {
      const int bin = std::clamp(static_cast<int>((x - low) / width), 0, kBins - 1);
      curve.y[static_cast<std::size_t>(bin)] += 1 / (width * static_cast<double>(values.size()));
    }
    for (int i = 0; i < kBins; ++i) curve.x.push_back(low + (i + 0.5) * width);
    return curve;
  }

  static harness::Outcome Fit(const harness::CellConfig& cell, const SketchInput& input) {
    harness::Outcome outcome;
    const auto sketch = MakeMethod<quantiles::QuantileSketch>(cell);
    const auto* fitted = dynamic_cast<const quantiles::DensityEstimate*>(sketch.get());
    if (!fitted) throw std::invalid_argument(cell.algorithm + " fits no density");
    Feed(*sketch, input.values);
    const auto [least, most] = std::minmax_element(input.values.begin(), input.values.end());
    const double low = *least, high = *most;
    if (!(low < high)) throw std::invalid_argument("a constant column has no density");
    harness::Curve curve{"density"};
    for (int i = 0; i < kPoints; ++i) curve.x.push_back(low + (high - low) * i / (kPoints - 1));
    curve.y = fitted->density(curve.x);
    outcome.metrics = {{"negative_mass", "1", {NegativeMass(curve)}}};
    outcome.curves = {curve, Histogram(input.values, low, high)};
    return outcome;
  }

  // The negative mass of a series estimate: 0 for a true density.
  static double NegativeMass(const harness::Curve& curve) {
    const double step = curve.x[1] - curve.x[0];
    double mass = 0;
    for (double y : curve.y) mass += std::max(0.0, -y) * step;
    return mass;
  }
};

RETABLE_PROTOCOL(ColumnsProtocol);
RETABLE_PROTOCOL(DensityProtocol);

}  // namespace
}  // namespace retable::experiments

//! @file
//! Split finding under mean absolute error by a scan of sketches, against exact medians.
//!
//! Every numeric column of a regression table is split once by each method, on the same thresholds
//! (bins of equal counts). Metrics, one sample per column: `loss`, the exact impurity of the
//! threshold that the method chose over the least exact impurity, less 1; `impurity_error`, the
//! mean relative error of its impurities; `time`. "mean" scores thresholds by the sum of squares,
//! as most trees do.

#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/quantiles/splits/absolute_error.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "datasets/generators/generators.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/quantiles/data/columns.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments {
namespace {

using quantiles::AbsoluteSplit;

struct Node {
  std::vector<std::vector<double>> columns;
  std::vector<double> labels;
};

// Columns with a noisy label that jumps at a threshold of each column.
Node MakeNode(const std::string& kind, std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Node node;
  node.columns.resize(columns);
  node.labels.resize(rows);
  datasets::Generate(datasets::ParseGenerator(kind), seed, 0, std::span<double>(node.labels));
  for (std::size_t c = 0; c < columns; ++c) {
    auto& column = node.columns[c];
    column.resize(rows);
    datasets::Generate(datasets::ParseGenerator(c % 2 == 0 ? "normal(0,1)" : "uniform(0,1)"),
                       seed + 1 + c, 0, std::span<double>(column));
    const double threshold = c % 2 == 0 ? -1 + 0.25 * static_cast<double>(c % 9) : 0.3;
    for (std::size_t i = 0; i < rows; ++i) node.labels[i] += column[i] > threshold ? 1.5 : 0;
  }
  return node;
}

// Thresholds scored by the sums of squares around the sides' means.
std::vector<AbsoluteSplit> SplitsByMean(const std::vector<double>& x, const std::vector<double>& y,
                                        const std::vector<AbsoluteSplit>& thresholds) {
  std::vector<AbsoluteSplit> out;
  for (const AbsoluteSplit& at : thresholds) {
    double n[2] = {0, 0}, sum[2] = {0, 0}, squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const int side = x[i] <= at.threshold ? 0 : 1;
      n[side] += 1;
      sum[side] += y[i];
      squares += y[i] * y[i];
    }
    out.push_back({at.threshold, squares - sum[0] * sum[0] / n[0] - sum[1] * sum[1] / n[1]});
  }
  return out;
}

// What the choice by `found` costs, NaN where an impurity is NaN: then the choice is arbitrary.
double Loss(const std::vector<double>& x, const std::vector<double>& y,
            const std::vector<AbsoluteSplit>& found, const std::vector<AbsoluteSplit>& exact) {
  for (const AbsoluteSplit& at : found) {
    if (std::isnan(at.impurity)) return at.impurity;
  }
  const double best = quantiles::BestSplit(exact).impurity;
  const double chosen = quantiles::AbsoluteImpurity(x, y, quantiles::BestSplit(found).threshold);
  return chosen == best ? 0 : chosen / best - 1;
}

class SplitProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/split"; }
  std::string summary() const override {
    return "splits under mean absolute error, by sketches and by exact medians";
  }
  Names metrics() const override { return {"loss", "impurity_error", "time"}; }
  Algorithms algorithms() const override {
    const harness::ParameterSpec order{"l", std::int64_t{15}, "highest order, 1 to 15"};
    return {{"exact", {"cpu"}, {}, "exact medians of both sides, by selection", "definition"},
            {"Retable", {"cpu"}, {order}, "sketches of labels, merged by a scan", "this project"},
            {"mean", {"cpu"}, {}, "squared error instead of absolute", "definition"}};
  }
  Specs axes() const override {
    return {{"bins", std::int64_t{32}, "bins of a column"},
            {"size", std::int64_t{2000}, "rows of the node"}};
  }
  Specs settings() const override {
    return {{"features", std::int64_t{16}, "columns of the node"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveGenerated(dataset); }

  Outcome measure(const Cell& cell) override {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    const auto bins = static_cast<std::size_t>(IntegerIn(cell.axes, "bins", 2, kMost));
    const auto features = IntegerIn(cell.settings, "features", 1, kMost);
    const Node node = MakeNode(cell.dataset, SizeOf(cell), static_cast<std::size_t>(features),
                               static_cast<std::uint64_t>(cell.seed));
    harness::Metric loss{"loss", "1"};
    harness::Metric error{"impurity_error", "1"};
    harness::Metric time{"time", "s"};
    harness::RunTimer timer({.pin = true});
    double worst = 0;
    for (const auto& column : node.columns) {
      const auto exact = quantiles::SplitsExactly(column, node.labels, bins);
      std::vector<AbsoluteSplit> found;
      time.samples.push_back(timer.Time([&] { found = Find(cell, node, column, bins, exact); }));
      double sum = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        sum += std::abs(found[i].impurity / exact[i].impurity - 1);
      }
      const bool other_measure = cell.algorithm == "mean";
      error.samples.push_back(other_measure ? std::numeric_limits<double>::quiet_NaN()
                                            : sum / static_cast<double>(exact.size()));
      loss.samples.push_back(Loss(column, node.labels, found, exact));
      // NaN is worse than any loss.
      if (!(loss.samples.back() <= worst) && !std::isnan(worst)) worst = loss.samples.back();
    }
    harness::Outcome outcome;
    outcome.verification =
        AtMost("largest loss of a split", worst, 0.5, "exact medians on the same thresholds");
    outcome.metrics = {loss, error, time};
    harness::DescribeTiming(outcome, timer.result());
    // Every value and its label are read once.
    outcome.costs = CostsOf({{"read", 16.0 * static_cast<double>(node.labels.size())}}, 1);
    return outcome;
  }

 private:
  static std::vector<AbsoluteSplit> Find(const harness::CellConfig& cell, const Node& node,
                                         const std::vector<double>& column, std::size_t bins,
                                         const std::vector<AbsoluteSplit>& thresholds) {
    if (cell.algorithm == "exact") return quantiles::SplitsExactly(column, node.labels, bins);
    if (cell.algorithm == "mean") return SplitsByMean(column, node.labels, thresholds);
    return quantiles::SplitsBySketch(column, node.labels, bins,
                                     quantiles::CheckOrder(IntegerOr(cell.parameters, "l", 15)),
                                     quantiles::CpuDualSolver(1));
  }
};

RETABLE_PROTOCOL(SplitProtocol);

}  // namespace
}  // namespace retable::experiments

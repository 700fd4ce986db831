//! @file
//! Many columns at once: sums of all columns of a table, then all of their fits.
//!
//! The table is synthetic: columns of every distribution in turn (normal, lognormal, uniform,
//! zero-inflated like pixels, few levels, decimals), float32, of equal length. Timed separately:
//! the sums (CPU: one thread, or all; CUDA: from a table on the device until the sums are back on
//! the host), the duals of all fits as one batch, and both with the rest of the fits. Checked
//! before timed: 101 quantiles of every column against those of a sketch of this column alone.

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/cuda/max_entropy_dual.hpp"
#include "algorithms/quantiles/estimators/chebyshev_fit.hpp"
#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"
#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "base/parallel.hpp"
#include "datasets/generators/generators.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/common/device_floats.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments {
namespace {

using namespace retable::quantiles;  // NOLINT: the whole file is about it

struct Table {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values;
  std::span<const float> column(std::size_t c) const {
    return std::span<const float>(values).subspan(c * rows, rows);
  }
};

Table MakeTable(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  const char* shapes[] = {"normal(1000,1)",     "lognormal(0,1)", "uniform(0,1)", "gamma(0.2)",
                          "zero_inflated(0.8)", "discrete(256)",  "discrete(10)", "normal(0,100)"};
  constexpr std::size_t kWhole = 7;  // rounded to whole numbers
  Table table{rows, columns, std::vector<float>(rows * columns)};
  ParallelFor(columns, [&](std::size_t c) {
    const std::size_t shape = c % std::size(shapes);
    const std::span<float> out(table.values.data() + c * rows, rows);
    datasets::Generate(datasets::ParseGenerator(shapes[shape]), seed + c, 0, out);
    if (shape == kWhole) {
      for (float& x : out) x = std::round(x);
    }
  });
  return table;
}

// The implementation for one device and number of threads.
struct Way {
  std::function<std::vector<ColumnSums>()> sums;
  DualSolver solve;
};

std::vector<ColumnSums> SumsOnCpu(const Table& table, int order, int threads) {
  std::vector<ColumnSums> out(table.columns);
  ParallelFor(table.columns, threads, [&](std::size_t c) {
    ChebyshevAccumulator sums(order);
    sums.Update(table.column(c));
    out[c] = {sums.sums(), {}, sums.digits()};
  });
  return out;
}

std::vector<FitInput> Inputs(const std::vector<ColumnSums>& sums, int order) {
  std::vector<FitInput> inputs;
  for (const ColumnSums& column : sums) inputs.push_back({column.sums, {}, order, column.digits});
  return inputs;
}

class BatchProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/batch"; }
  std::string summary() const override {
    return "time to sketch and to solve many columns at once";
  }
  Names metrics() const override { return {"time", "sums", "duals", "columns_per_second"}; }
  Algorithms algorithms() const override {
    return {{"Retable",
             {"cpu", "cuda"},
             {{"l", std::int64_t{15}, "highest order of the moments, 1 to 15"},
              {"threads", std::int64_t{1}, "CPU threads; 0: all"}},
             "sums of all columns in one pass, all duals in one batch",
             "this project"}};
  }
  Specs axes() const override {
    return {{"columns", std::int64_t{100}, "columns of the table"},
            {"rows", std::int64_t{1000}, "values of a column"}};
  }
  Datasets resolve(const std::string& dataset) const override {
    return ResolveMade(dataset, {kName});
  }

  Outcome measure(const Cell& cell) override {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    const auto rows = static_cast<std::size_t>(IntegerIn(cell.axes, "rows", 1, kMost));
    const auto columns = static_cast<std::size_t>(IntegerIn(cell.axes, "columns", 1, kMost));
    const int order = CheckOrder(IntegerOr(cell.parameters, "l", 15));
    int threads = IntParameter(cell.parameters, "threads", 1);
    if (threads == 0) threads = harness::AllowedProcessors();
    const Table table = MakeTable(rows, columns, static_cast<std::uint64_t>(cell.seed));
    const bool cuda = cell.device == "cuda";
    std::unique_ptr<DeviceFloats> resident;
    if (cuda) resident = std::make_unique<DeviceFloats>(table.values);
    const Way way = cuda ? OnCuda(table, *resident, order) : OnCpu(table, order, threads);

    harness::Outcome outcome;
    const std::vector<FitInput> inputs = Inputs(way.sums(), order);
    outcome.verification = Verify(table, inputs, way.solve, order);
    if (!outcome.verification.ok) return outcome;
    std::vector<DualProblem> problems;
    FitColumns(inputs, [&](std::span<const DualProblem> asked) {
      problems.insert(problems.end(), asked.begin(), asked.end());
      return way.solve(asked);
    });
    harness::RepeatOptions options;
    options.min_samples = 3;
    options.max_samples = static_cast<int>(std::max<std::int64_t>(3, cell.repeats));
    options.budget = 3;
    options.gpu_clock = cuda;
    const auto time = [&](const char* metric, const std::function<void()>& body) {
      const harness::TimingResult timing = harness::TimeRepeated(body, options);
      outcome.metrics.push_back({metric, "s", timing.seconds});
      return timing;
    };
    time("sums", [&] { way.sums(); });
    time("duals", [&] { way.solve(problems); });
    const auto all = time("time", [&] { FitColumns(Inputs(way.sums(), order), way.solve); });
    harness::DescribeTiming(outcome, all);
    // The least work of the sums; the arithmetic of the fits depends on the data.
    outcome.costs = CostsOf({{"read", static_cast<double>(table.values.size() * sizeof(float))}},
                            all.cores_used);
    harness::Metric rate{"columns_per_second", "columns/s"};
    for (const double seconds : all.seconds) {
      rate.samples.push_back(static_cast<double>(columns) / seconds);
    }
    outcome.metrics.push_back(rate);
    outcome.facts["duals"] = static_cast<std::int64_t>(problems.size());
    outcome.facts["threads"] = static_cast<std::int64_t>(cuda ? 1 : threads);
    return outcome;
  }

 private:
  static constexpr const char* kName = "synthetic mixture of columns";

  static Way OnCpu(const Table& table, int order, int threads) {
    return {[&table, order, threads] { return SumsOnCpu(table, order, threads); },
            CpuDualSolver(threads)};
  }

  static Way OnCuda([[maybe_unused]] const Table& table,
                    [[maybe_unused]] const DeviceFloats& resident, [[maybe_unused]] int order) {
#if defined(RETABLE_HAS_CUDA)
    const auto sums = std::make_shared<ColumnsCuda>(order);
    const DeviceColumns<float> all{resident.data(), table.rows, table.columns, table.rows};
    return {[sums, all] { return sums->Sum(all, nullptr); }, CudaDualSolver()};
#else
    throw std::runtime_error("this build has no CUDA");
#endif
  }

  static harness::Verification Verify(const Table& table, const std::vector<FitInput>& inputs,
                                      const DualSolver& solve, int order) {
    constexpr double kAllowed = 1e-3;  // fraction of the range, mean over 101 quantiles
    const auto phis = NiaePhis(101);
    const std::vector<ChebyshevFit> fits = FitColumns(inputs, solve);
    const std::size_t step = std::max<std::size_t>(1, table.columns / 64);
    double worst = 0;
    for (std::size_t c = 0; c < table.columns; c += step) {
      ChebyshevAccumulator sums(order);
      sums.Update(table.column(c));
      const ChebyshevFit alone({sums.sums(), {}, order, sums.digits()});
      const auto a = alone.Quantiles(phis);
      const auto b = fits[c].Quantiles(phis);
      double area = 0;
      for (std::size_t i = 0; i < a.size(); ++i) area += std::abs(a[i] - b[i]);
      const double range = sums.sums().max - sums.sums().min;
      if (range > 0) worst = std::max(worst, area / static_cast<double>(a.size()) / range);
    }
    return AtMost("largest mean distance of quantiles", worst, kAllowed,
                  "the sketch of the column alone");
  }
};

RETABLE_PROTOCOL(BatchProtocol);

}  // namespace
}  // namespace retable::experiments

//! @file
//! Time to take a stream into a sketch (figures 10, 11 and 12).
//!
//! Timed: begin_pass and update over all values, for every pass of the sketch, on one thread, with
//! the data in memory as float32; queries are not included, as in the paper (section 8.2). Google
//! Benchmark times it; its raw JSON is kept beside the cell. CUDA backends read values that are
//! already on the device; their wall time runs from the call until the sums are back on the host.
//! The sketch's count and its median are checked against the values before it is timed.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <span>
#include <stdexcept>

#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"
#include "base/parallel.hpp"
#include "datasets/generators/generators.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/common/device_floats.hpp"
#include "experiments/quantiles/data/columns.hpp"
#include "experiments/quantiles/peers/external_sketch.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments {
namespace {

using quantiles::QuantileSketch;

class ThroughputProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/throughput"; }
  std::string summary() const override { return "time to take a stream into a sketch"; }
  Names metrics() const override { return {"time", "rate"}; }
  Algorithms algorithms() const override { return ListMethods<QuantileSketch>(); }
  Specs axes() const override { return {{"size", std::int64_t{1000}, "values in the stream"}}; }
  Specs settings() const override {
    return {{"min_time", 0.05, "seconds a repetition lasts at least"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveGenerated(dataset); }

  Reason unsupported(const Cell& cell) const override { return WhyNotExternal(cell); }

  Outcome measure(const Cell& cell) override {
    std::vector<float> values(SizeOf(cell));
    Fill(datasets::ParseGenerator(cell.dataset), static_cast<std::uint64_t>(cell.seed), values);
    const auto fresh = MakeMethod<QuantileSketch>(cell);
    if (auto* external = dynamic_cast<ExternalSketch*>(fresh.get())) {
      return MeasureExternal(cell, *external, values);
    }
    if (cell.device == "cuda") {
      const DeviceFloats resident(values);
      return Measure(cell, *fresh, values, [&resident](QuantileSketch& sketch) {
        auto* device = sketch.device_update();
        if (!device) throw std::invalid_argument("this method cannot read device memory");
        device->update_device(resident.data(), resident.size(), nullptr);
      });
    }
    return Measure(cell, *fresh, values,
                   [&values](QuantileSketch& sketch) { experiments::Feed(sketch, values); });
  }

 private:
  using Feed = std::function<void(QuantileSketch&)>;

  // Counter-based, so that pieces are generated in parallel.
  static void Fill(const datasets::GeneratorSpec& spec, std::uint64_t seed,
                   std::span<float> values) {
    ParallelBlocks(values.size(), 1 << 16, [&](std::size_t first, std::size_t end) {
      datasets::Generate(spec, seed, first, values.subspan(first, end - first));
    });
  }

  static harness::TimingResult Time(const harness::CellConfig& cell, const QuantileSketch& fresh,
                                    std::size_t n, double first_seconds, const Feed& feed) {
    const auto body = [&] {
      const auto sketch = fresh.empty_clone();
      feed(*sketch);
      harness::KeepAlive(sketch.get());
    };
    if (cell.device == "cuda") {
      harness::RepeatOptions options;
      options.budget = 10 * RealOf(cell.settings, "min_time") * static_cast<double>(cell.repeats);
      options.gpu_clock = true;
      auto timing = harness::TimeRepeated(body, options);
      timing.included = "from the call until the sums are back on the host; values on the device";
      return timing;
    }
    if (first_seconds >= 1) {  // a budget of two or three samples
      harness::RepeatOptions options;
      options.min_samples = static_cast<int>(cell.repeats);
      options.budget = 1;
      options.pin = true;
      return harness::TimeAfterFirstCall(body, first_seconds, options);
    }
    harness::BenchmarkOptions options;
    options.min_time = options.warmup = RealOf(cell.settings, "min_time");
    options.repetitions = static_cast<int>(cell.repeats);
    options.items_per_iteration = static_cast<double>(n);
    options.bytes_per_iteration = static_cast<double>(n * sizeof(float));
    options.pin = true;
    return harness::TimeWithGoogleBenchmark(cell.label + "/" + std::to_string(n), body, options);
  }

  // A program in another language receives the values first; only its run is timed.
  static harness::Outcome MeasureExternal(const harness::CellConfig& cell, ExternalSketch& sketch,
                                          const std::vector<float>& values) {
    harness::Outcome outcome;
    const auto fed = sketch.empty_clone();
    fed->update(values);
    outcome.verification = Verify(*fed, values);
    if (!outcome.verification.ok) return outcome;
    sketch.update(values);
    sketch.Load();
    harness::RepeatOptions options;
    options.min_samples = static_cast<int>(cell.repeats);
    options.budget = 10 * RealOf(cell.settings, "min_time");
    auto timing = harness::TimeRepeated([&] { sketch.program().Run(); }, options);
    timing.included = DescribeResident(sketch.program());
    timing.cores_used = 0;  // unknown: the work is in another process
    harness::AddTiming(outcome, timing);
    outcome.costs = CostsOf(sketch.work(values.size(), sizeof(double)), 1);
    harness::AddRate(outcome, timing, static_cast<double>(values.size()), "values/s");
    outcome.facts["bytes"] = static_cast<std::int64_t>(sketch.bytes());
    outcome.facts["data"] = std::string("in the contender's memory, float64");
    return outcome;
  }

  static harness::Outcome Measure(const harness::CellConfig& cell, const QuantileSketch& fresh,
                                  const std::vector<float>& values, const Feed& feed) {
    harness::Outcome outcome;
    const auto fed = fresh.empty_clone();
    const double first_seconds = harness::TimeOnce([&] { feed(*fed); });
    outcome.verification = Verify(*fed, values);
    if (!outcome.verification.ok) return outcome;
    const auto timing = Time(cell, fresh, values.size(), first_seconds, feed);
    harness::AddTiming(outcome, timing);
    harness::AddRate(outcome, timing, static_cast<double>(values.size()), "values/s");
    outcome.costs = CostsOf(fresh.work(values.size(), sizeof(float)), timing.cores_used);
    outcome.facts["bytes"] = static_cast<std::int64_t>(fresh.bytes());
    outcome.facts["data"] =
        std::string(cell.device == "cuda" ? "resident on the device" : "in host memory");
    if (!timing.raw_json.empty()) outcome.attachments["benchmark.json"] = timing.raw_json;
    return outcome;
  }

  template <typename Counts>
  static std::size_t CountIf(const std::vector<float>& values, Counts counts) {
    std::atomic<std::size_t> count = 0;
    ParallelBlocks(values.size(), 1 << 16, [&](std::size_t first, std::size_t end) {
      count += static_cast<std::size_t>(
          std::count_if(values.data() + first, values.data() + end, counts));
    });
    return count;
  }

  // A sketch that lost its values would be very fast: a tenth, half and nine tenths of them must
  // lie below its answers, within the roughest method's error.
  static harness::Verification Verify(const QuantileSketch& sketch,
                                      const std::vector<float>& values) {
    constexpr double kRoughest = 0.35;  // KLL of ten values errs by 0.29 on a million
    double error = 1;
    const std::size_t present = CountIf(values, [](float x) { return !std::isnan(x); });
    if (sketch.count() == present) {
      try {
        error = 0;
        const auto share = [&](const auto& counts) {
          return static_cast<double>(CountIf(values, counts)) / static_cast<double>(present);
        };
        const std::vector<double> phis = {0.1, 0.5, 0.9}, answers = sketch.quantiles(phis);
        for (std::size_t i = 0; i < phis.size(); ++i) {
          const double phi = phis[i], answer = answers[i];
          // A value that many share has a range of ranks.
          const double below = share([&](float x) { return static_cast<double>(x) < answer; });
          const double up_to = share([&](float x) { return static_cast<double>(x) <= answer; });
          error = std::max({error, below - phi, phi - up_to});
          const auto infinite = [](float x) { return std::isinf(x); };
          if (std::isnan(answer) || (std::isinf(answer) && CountIf(values, infinite) == 0)) {
            error = 1;
          }
        }
      } catch (const quantiles::SketchFailure&) {
        error = 0;  // naive sums break here: a finding of the accuracy tables, not a wrong time
      }
    }
    return AtMost("rank error of three quantiles", error, kRoughest, "count of values below them");
  }
};

RETABLE_PROTOCOL(ThroughputProtocol);

}  // namespace
}  // namespace retable::experiments

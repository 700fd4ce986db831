//! @file
//! Time to take a stream into a sketch (figures 10, 11 and 12).
//!
//! What is timed: begin_pass and update over all values, for every pass the sketch needs, on one
//! thread, with the data in memory as float32; queries are not included, as in the paper (section
//! 8.2). CUDA twins copy the values to the card inside update, so that their time includes the
//! transfer. Google Benchmark times it; its raw JSON is kept beside the cell. Before anything is
//! timed the sketch's count and its median are checked against the sorted stream.

#include <algorithm>
#include <cmath>
#include <span>

#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"
#include "datasets/generators.hpp"
#include "experiments/common/glue.hpp"
#include "harness/protocol.hpp"
#include "harness/timing.hpp"

namespace retable::experiments {
namespace {

using quantiles::QuantileSketch;

void Feed(QuantileSketch& sketch, std::span<const float> values) {
  for (int pass = 0; pass < sketch.passes(); ++pass) {
    sketch.begin_pass(pass);
    sketch.update(values);
  }
}

class ThroughputProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/throughput"; }
  std::string family() const override { return "quantiles"; }
  std::string summary() const override { return "time to take a stream into a sketch"; }
  std::vector<harness::AlgorithmInfo> algorithms() const override {
    return ListMethods<QuantileSketch>();
  }
  std::vector<harness::ParameterSpec> axes() const override {
    return {{"size", std::int64_t{1000}, "values in the stream"}};
  }
  std::vector<harness::ParameterSpec> settings() const override {
    return {{"min_time", 0.05, "seconds a repetition lasts at least"}};
  }
  std::vector<harness::DatasetInfo> resolve(const std::string& dataset) const override {
    return ResolveData(dataset);
  }

  harness::Outcome measure(const harness::CellConfig& cell) override {
    std::vector<float> values(static_cast<std::size_t>(IntegerOf(cell.axes, "size")));
    datasets::Generate(datasets::ParseGenerator(cell.dataset),
                       static_cast<std::uint64_t>(cell.seed), 0, std::span<float>(values));
    const auto fresh = MakeMethod<QuantileSketch>(cell);
    harness::Outcome outcome;
    outcome.verification = Verify(*fresh, values);
    if (!outcome.verification.ok) return outcome;

    harness::BenchmarkOptions options;
    options.min_time = std::get<double>(cell.settings.at("min_time"));
    options.warmup = options.min_time;
    options.repetitions = static_cast<int>(cell.repeats);
    options.items_per_iteration = static_cast<double>(values.size());
    options.bytes_per_iteration = static_cast<double>(values.size() * sizeof(float));
    const auto timing = harness::TimeWithGoogleBenchmark(
        cell.label + "/" + std::to_string(values.size()),
        [&] {
          const auto sketch = fresh->empty_clone();
          Feed(*sketch, values);
          harness::KeepAlive(sketch.get());
        },
        options);
    outcome.metrics = {{"time", "s", timing.seconds, {}, {}},
                       {"rate", "values/s", timing.items_per_second(), {}, {}}};
    outcome.facts["iterations"] = timing.iterations;
    outcome.facts["cores_used"] = timing.cores_used;
    outcome.facts["bytes"] = static_cast<std::int64_t>(fresh->bytes());
    outcome.attachments["benchmark.json"] = timing.raw_json;
    return outcome;
  }

 private:
  // A sketch that lost its values would be very fast: half of them must lie below its median,
  // within the roughest method's error.
  static harness::Verification Verify(const QuantileSketch& fresh,
                                      const std::vector<float>& values) {
    constexpr double kRoughest = 0.25;
    const auto sketch = fresh.empty_clone();
    Feed(*sketch, values);
    double error = 1;
    if (sketch->count() == values.size()) {
      try {
        std::vector<double> sorted(values.begin(), values.end());
        std::sort(sorted.begin(), sorted.end());
        error = quantiles::IntervalRankError(sorted, 0.5, sketch->quantile(0.5));
      } catch (const quantiles::SketchFailure&) {
        error = 0;  // naive sums break here: a finding of the accuracy tables, not a wrong time
      }
    }
    return {true,  error <= kRoughest, "rank error of the median",
            error, kRoughest,          "sorted stream"};
  }
};

RETABLE_PROTOCOL(ThroughputProtocol);

}  // namespace
}  // namespace retable::experiments

// The engine for short bodies: Google Benchmark as a library.

#include <benchmark/benchmark.h>

#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/timing/pinning.hpp"
#include "harness/timing/stop_rule.hpp"
#include "harness/timing/timing.hpp"

namespace retable::harness {
namespace {

// Keeps each repetition and passes everything on to the library's JSON reporter. Only members that
// versions 1.7 and 1.8 share are touched (failed runs are called differently in the two).
class Capture : public benchmark::BenchmarkReporter {
 public:
  Capture() { json_.SetOutputStream(&text_), json_.SetErrorStream(&errors_); }

  bool ReportContext(const Context& context) override { return json_.ReportContext(context); }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.iterations <= 0) continue;
      iterations = run.iterations;
      seconds.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
    }
    json_.ReportRuns(runs);
  }

  void Finalize() override { json_.Finalize(); }

  // The library's report, without the name of the host.
  std::string Text() const {
    nlohmann::ordered_json report = nlohmann::ordered_json::parse(text_.str(), nullptr, false);
    if (report.is_discarded()) return text_.str();
    if (report.contains("context")) report["context"].erase("host_name");
    return report.dump(1);
  }

  std::vector<double> seconds;
  std::int64_t iterations = 0;

 private:
  std::ostringstream text_, errors_;
  benchmark::JSONReporter json_;
};

}  // namespace

TimingResult TimeWithGoogleBenchmark(const std::string& name, const std::function<void()>& body,
                                     const BenchmarkOptions& options) {
  if (options.repetitions < 1) throw std::invalid_argument("timing: repetitions is below 1");
  if (!(options.min_time > 0)) throw std::invalid_argument("timing: min_time is not above 0 s");
  const Pinned pinned(options.pin);
  std::exception_ptr thrown;
  const auto run = [&](benchmark::State& state) {
    try {
      for (auto _ : state) body();
    } catch (...) {
      thrown = std::current_exception();
      state.SkipWithError("the body threw");
    }
    const auto iterations = static_cast<double>(state.iterations());
    if (options.items_per_iteration > 0) {
      state.SetItemsProcessed(std::llround(options.items_per_iteration * iterations));
    }
    if (options.bytes_per_iteration > 0) {
      state.SetBytesProcessed(std::llround(options.bytes_per_iteration * iterations));
    }
  };
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->UseRealTime()
      ->MinTime(options.min_time)
      ->MinWarmUpTime(options.warmup)
      ->Repetitions(options.repetitions);
  Capture capture;
  const CoresUsed cores;
  benchmark::RunSpecifiedBenchmarks(&capture, "all");
  benchmark::ClearRegisteredBenchmarks();
  if (thrown) std::rethrow_exception(thrown);

  TimingResult result;
  result.cores_used = cores.SoFar();
  result.pinned_to = pinned.processor();
  result.seconds = capture.seconds;
  result.iterations = capture.iterations;
  result.steady = IsSteady(result.seconds);
  result.stop_reason = "repetitions";
  result.raw_json = capture.Text();
  return result;
}

}  // namespace retable::harness

//! @file
//! Sums at memory speed: the sketch's CUDA kernels beside a plain read of the same memory, in the
//! same run.
//!
//! Timed by the steady clock around a call that waits for its result: the plain read (one sum per
//! block), and the sketch's sums until they are back on the host. Runs alternate, so that changes
//! of clock and power affect both. `share` is the time of a read over that of the next sums. The
//! sums of a prefix are checked against the CPU's before anything is timed.

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "algorithms/quantiles/cuda/stream_sums.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/sums/moment_difference.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/quantiles/data/columns.hpp"
#include "experiments/quantiles/protocols/bandwidth_kernels.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "base/cuda/memory.hpp"
#endif

namespace retable::experiments {
namespace {

using quantiles::Shape;

const std::map<std::string, Shape>& Shapes() {
  static const std::map<std::string, Shape> shapes{
      {"synthetic normal", Shape::kNormal},
      {"synthetic normal, far off zero", Shape::kOffsetNormal},
      {"synthetic lognormal", Shape::kLognormal},
      {"synthetic pixels, 70 % zeros", Shape::kPixel}};
  return shapes;
}

class BandwidthProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/bandwidth"; }
  std::string summary() const override {
    return "sums on the GPU against a plain read of the same memory";
  }
  Names metrics() const override { return {"time", "read", "share", "rate"}; }
  Algorithms algorithms() const override {
    return {{"Retable",
             {"cuda"},
             {{"l", std::int64_t{15}, "highest order of the moments, 1 to 15"},
              {"type", std::string("float32"), "float32 or float64"}},
             "Chebyshev sums in one pass, bounds unknown",
             "this project"}};
  }
  Specs axes() const override { return {{"size", std::int64_t{1000}, "values in device memory"}}; }
  Datasets resolve(const std::string& dataset) const override {
    std::vector<std::string> known;
    for (const auto& [name, shape] : Shapes()) known.push_back(name);
    return ResolveMade(dataset, known);
  }

  Outcome measure([[maybe_unused]] const Cell& cell) override {
#if defined(RETABLE_HAS_CUDA)
    const std::string type = TextOf(cell.parameters, "type");
    if (type == "float32") return Measure<float>(cell);
    if (type == "float64") return Measure<double>(cell);
    throw std::invalid_argument("type must be float32 or float64, not " + type);
#else
    throw std::runtime_error("this build has no CUDA");
#endif
  }

 private:
#if defined(RETABLE_HAS_CUDA)
  template <class Real>
  static harness::Outcome Measure(const harness::CellConfig& cell) {
    const auto n = SizeOf(cell);
    const int order = quantiles::CheckOrder(IntegerOr(cell.parameters, "l", 15));
    const DeviceArray<Real> values(n);
    const DeviceArray<double> scratch(4096);
    quantiles::FillDevice(values.data(), n, Shapes().at(cell.dataset),
                          static_cast<std::uint64_t>(cell.seed));
    quantiles::ChebyshevCuda sums(order);
    harness::Outcome outcome;
    outcome.verification =
        Verify<Real>(sums, values.data(), std::min<std::size_t>(n, 5000000), order);
    if (!outcome.verification.ok) return outcome;

    const auto read = [&] {
      quantiles::EnqueuePlainRead(values.data(), n, scratch.data());
      CheckCuda(cudaDeviceSynchronize(), "plain read");
    };
    const auto sum = [&] { sums.Sum(values.data(), n, nullptr); };
    for (int i = 0; i < 3; ++i) {
      read();
      sum();
    }
    harness::Metric time{"time", "s"};
    harness::Metric reading{"read", "s"};
    harness::Metric share{"share", "1"};
    harness::Metric rate{"rate", "B/s"};
    harness::RunTimer timer({.gpu_clock = true});  // the plain reads are timed apart
    const std::int64_t samples = std::max<std::int64_t>(5, cell.repeats);
    for (std::int64_t i = 0; i < samples; ++i) {
      reading.samples.push_back(harness::TimeOnce(read));
      time.samples.push_back(timer.Time(sum));
      share.samples.push_back(reading.samples.back() / time.samples.back());
      rate.samples.push_back(static_cast<double>(n * sizeof(Real)) / time.samples.back());
    }
    outcome.metrics = {time, reading, share, rate};
    harness::DescribeTiming(outcome, timer.result());
    outcome.costs = CostsOf({{"read", static_cast<double>(n * sizeof(Real))},
                             { "FMA fp64",
                               2.0 * order * static_cast<double>(n) }},
                            1);
    return outcome;
  }

  template <class Real>
  static harness::Verification Verify(quantiles::ChebyshevCuda& sums, const Real* values,
                                      std::size_t n, int order) {
    std::vector<Real> host(n);
    CheckCuda(cudaMemcpy(host.data(), values, n * sizeof(Real), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
    quantiles::ChebyshevAccumulator reference(order, false);
    reference.Update(std::span<const Real>(host));
    const double worst =
        quantiles::MomentDifference(sums.Sum(values, n, nullptr), reference.sums(), order);
    return AtMost("largest error of a moment", worst, sizeof(Real) == 4 ? 1e-8 : 1e-13,
                  "the CPU's sums of the first values");
  }
#endif
};

RETABLE_PROTOCOL(BandwidthProtocol);

}  // namespace
}  // namespace retable::experiments

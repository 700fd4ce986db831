//! @file
//! Values a second that the sums of several GPUs take in together.
//!
//! A stream lies in equal slices on the GPUs; each sums its own, a thread of the host for each, and
//! the host merges the sums. Timed by the steady clock until they are merged: with memory =
//! "device" the sums alone, with "host" also the way of the slices from page-locked host memory.
//! The sums of a prefix of each slice are checked against the CPU's before anything is timed.

#include <stdexcept>

#include "algorithms/quantiles/cuda/stream_sums.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"
#include "algorithms/quantiles/sums/moment_difference.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/quantiles/data/columns.hpp"
#include "experiments/quantiles/protocols/bandwidth_kernels.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

#if defined(RETABLE_HAS_CUDA)
#include "base/cuda/streams.hpp"
#include "base/parallel.hpp"
#endif

namespace retable::experiments {
namespace {

constexpr int kOrder = 15;
constexpr const char* kNormal = "synthetic normal";

#if defined(RETABLE_HAS_CUDA)
// A GPU's slice of the stream.
struct Slice {
  Slice(int id, std::size_t n, std::uint64_t seed)
      : device(SelectDevice(id)), sums(kOrder), values(n), count(n) {
    quantiles::FillDevice(values.data(), n, quantiles::Shape::kNormal, seed);
    CheckCuda(cudaMemcpy(host.Reserve(n), values.data(), n * sizeof(float), cudaMemcpyDeviceToHost),
              "cudaMemcpy of a slice");
  }
  quantiles::ChebyshevSums Sum(std::size_t n, bool from_host) {
    SelectDevice(device);
    if (from_host) {
      CheckCuda(cudaMemcpyAsync(values.data(), host.data(), n * sizeof(float),
                                cudaMemcpyHostToDevice, stream.get()),
                "cudaMemcpyAsync of a slice");
    }
    return sums.Sum(values.data(), n, stream.get());
  }

  int device;
  CudaStream stream;
  quantiles::ChebyshevCuda sums;
  DeviceArray<float> values;
  PinnedArray<float> host;
  std::size_t count;
};

class SlicedStream {
 public:
  SlicedStream(std::size_t n, int gpus, std::uint64_t seed) {
    for (int g = 0; g < gpus; ++g) {
      const auto parts = static_cast<std::size_t>(gpus), part = static_cast<std::size_t>(g);
      slices_.push_back(
          std::make_unique<Slice>(g, n * (part + 1) / parts - n * part / parts, seed + part));
    }
  }

  // The sums of the first `most` values of each slice.
  quantiles::ChebyshevSums Sum(std::size_t most, bool from_host) {
    std::vector<quantiles::ChebyshevSums> sums(slices_.size());
    ParallelFor(slices_.size(), static_cast<int>(slices_.size()), [&](std::size_t g) {
      sums[g] = slices_[g]->Sum(std::min(most, slices_[g]->count), from_host);
    });
    for (std::size_t g = 1; g < sums.size(); ++g) sums[0].Merge(sums[g], kOrder);
    return sums[0];
  }

  harness::Verification Verify() {
    constexpr std::size_t kPrefix = 2'000'000;
    quantiles::ChebyshevAccumulator reference(kOrder, false);
    for (const auto& slice : slices_) {
      reference.Update(std::span<const float>(slice->host.data(), std::min(kPrefix, slice->count)));
    }
    const double worst = quantiles::MomentDifference(Sum(kPrefix, false), reference.sums(), kOrder);
    return AtMost("largest error of a moment", worst, 1e-8,
                  "the CPU's sums of the first values of each slice");
  }

 private:
  std::vector<std::unique_ptr<Slice>> slices_;
};
#endif

class SumsOverGpus final : public harness::Protocol {
 public:
  std::string name() const override { return "quantiles/several_gpus"; }
  std::string summary() const override { return "sums of one stream on several GPUs"; }
  Names metrics() const override { return {"time", "rate"}; }
  Algorithms algorithms() const override {
    return {{"Retable",
             {"cuda"},
             {{"memory", std::string("device"), "where values lie: device or host"}},
             "Chebyshev sums of order 15 of each slice, merged",
             "this project"}};
  }
  Specs axes() const override {
    return {{"gpus", std::int64_t{1}, "GPUs that share the values"},
            {"size", std::int64_t{1000}, "float32 values in all"}};
  }
  Specs settings() const override {
    return {{"budget", 2.0, "seconds for warm-up and samples of a cell"}};
  }
  Datasets resolve(const std::string& dataset) const override {
    return ResolveMade(dataset, {kNormal});
  }
  Reason unsupported(const Cell& cell) const override { return WhyNotSoManyGpus(cell); }

  Outcome measure([[maybe_unused]] const Cell& cell) override {
#if defined(RETABLE_HAS_CUDA)
    const auto n = SizeOf(cell);
    const std::string memory = TextOf(cell.parameters, "memory");
    if (memory != "device" && memory != "host") {
      throw std::invalid_argument("memory must be device or host, not " + memory);
    }
    SlicedStream stream(n, static_cast<int>(IntegerIn(cell.axes, "gpus", 1, 64)),
                        static_cast<std::uint64_t>(cell.seed));
    harness::Outcome outcome;
    outcome.verification = stream.Verify();
    if (!outcome.verification.ok) return outcome;
    const harness::TimingResult timing =
        harness::TimeRepeated([&] { stream.Sum(n, memory == "host"); }, RepeatsOf(cell));
    harness::AddTiming(outcome, timing);
    harness::AddRate(outcome, timing, static_cast<double>(n), "million values/s", 1e6);
    return outcome;
#else
    throw std::runtime_error("this build has no CUDA");
#endif
  }
};

RETABLE_PROTOCOL(SumsOverGpus);

}  // namespace
}  // namespace retable::experiments

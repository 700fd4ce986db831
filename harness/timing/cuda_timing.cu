#include <stdexcept>

#include "base/cuda/streams.hpp"
#include "harness/timing/cuda_timing.hpp"
#include "harness/timing/gpu_clock.hpp"
#include "harness/timing/stop_rule.hpp"

namespace retable::harness {
namespace {

constexpr double kWarmUpAgreement = 0.02;
constexpr int kMostWarmUpRuns = 50;
constexpr double kTarget = 0.01;  // half width of the interval over the median
constexpr std::uint64_t kSeed = 1;
constexpr unsigned long long kDelayNanoseconds = 50000;

__device__ unsigned long long GlobalNanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Holds the stream up while the host puts a sample on it.
__global__ void Delay(unsigned long long nanoseconds) {
  const unsigned long long begin = GlobalNanoseconds();
  while (GlobalNanoseconds() - begin < nanoseconds) {
  }
}

class Sampler {
 public:
  explicit Sampler(const std::function<void(CUstream_st*)>& body) : body_(body) {}

  struct Sample {
    double seconds, sm_mhz;
  };

  Sample Take() {
    clock_.Begin(stream_.get());
    Delay<<<1, 1, 0, stream_.get()>>>(kDelayNanoseconds);
    begin_.Record(stream_.get());
    body_(stream_.get());
    end_.Record(stream_.get());
    CheckCuda(cudaGetLastError(), "the timed body");
    clock_.End(stream_.get());
    const double mhz = clock_.Mhz(stream_.get());  // waits for all of it
    return {end_.SecondsSince(begin_), mhz};
  }

  double peak_mhz() const { return clock_.peak_mhz(); }

 private:
  const std::function<void(CUstream_st*)>& body_;
  CudaStream stream_;
  CudaEvent begin_, end_;
  GpuClock clock_;
};

}  // namespace

TimingResult TimeOnGpu(const std::function<void(CUstream_st*)>& body,
                       const CudaTimingOptions& options) {
  if (options.min_samples < 1 || options.max_samples < options.min_samples) {
    throw std::invalid_argument("timing: 1 <= min_samples <= max_samples is needed");
  }
  TimingResult timing;
  timing.included = "work on one stream between two events; no transfer, no allocation";
  Sampler sampler(body);
  timing.peak_mhz = sampler.peak_mhz();
  const double begin = SteadyNow();
  WarmUp(
      kWarmUpAgreement, kMostWarmUpRuns, timing.warmup_runs,
      [&] { return SteadyNow() < begin + options.budget / 2; },
      [&] { return sampler.Take().seconds; });
  StopRule rule({options.min_samples, options.max_samples, kTarget});
  do {
    const Sampler::Sample sample = sampler.Take();
    timing.seconds.push_back(sample.seconds);
    timing.sm_mhz.push_back(sample.sm_mhz);
    timing.throttled += sample.sm_mhz < kThrottledShare * timing.peak_mhz;
  } while (!rule.Stop(timing.seconds.size(), SteadyNow(), begin + options.budget,
                      [&] { return MedianInterval(timing.seconds, kSeed); }));
  timing.stop_reason = rule.reason;
  timing.steady = IsSteady(timing.seconds);
  return timing;
}

}  // namespace retable::harness

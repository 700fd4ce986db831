#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "base/cuda/streams.hpp"
#include "harness/timing/cuda_timing.hpp"
#include "harness/timing/gpu_clock.hpp"
#include "harness/timing/stop_rule.hpp"

namespace retable::harness {
namespace {

constexpr double kUnsteady = 0.05;
constexpr std::uint64_t kSeed = 1;

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

double WallNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The body as it is put on the stream: directly, or as a graph captured from it.
class Launcher {
 public:
  Launcher(const std::function<void(CUstream_st*)>& body, const CudaTimingOptions& options,
           const CudaStream& stream)
      : body_(body), stream_(stream) {
    if (options.mode == CudaMode::kGraph) Capture();
  }
  ~Launcher() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void Launch() const {
    if (executable_ == nullptr) return body_(stream_.get());
    CheckCuda(cudaGraphLaunch(executable_, stream_.get()), "cudaGraphLaunch");
  }

 private:
  void Capture() {
    body_(stream_.get());  // once outside: lazy set-up must not land in the graph
    stream_.Wait();
    cudaGraph_t graph = nullptr;
    CheckCuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture");
    try {
      body_(stream_.get());
    } catch (...) {
      cudaStreamEndCapture(stream_.get(), &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    CheckCuda(cudaStreamEndCapture(stream_.get(), &graph),
              "capturing the body as a graph (it must not synchronise or allocate)");
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    CheckCuda(error, "cudaGraphInstantiate");
  }

  const std::function<void(CUstream_st*)>& body_;
  const CudaStream& stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class Sampler {
 public:
  Sampler(const std::function<void(CUstream_st*)>& body, const CudaTimingOptions& options)
      : options_(options), launcher_(body, options, stream_) {
    if (options.mode == CudaMode::kCold) {
      flush_.emplace(2 * static_cast<std::size_t>(DeviceAttribute(cudaDevAttrL2CacheSize)));
    }
  }

  struct Sample {
    double seconds, sm_mhz;
  };

  Sample Take() {
    if (options_.before) options_.before(stream_.get());
    if (flush_) {
      CheckCuda(cudaMemsetAsync(flush_->data(), 0, flush_->size(), stream_.get()),
                "flushing the cache");
    }
    clock_.Begin(stream_.get());
    Delay<<<1, 1, 0, stream_.get()>>>(static_cast<unsigned long long>(options_.delay * 1e9));
    const int bodies = options_.mode == CudaMode::kBatch ? options_.batch : 1;
    begin_.Record(stream_.get());
    for (int i = 0; i < bodies; ++i) launcher_.Launch();
    end_.Record(stream_.get());
    CheckCuda(cudaGetLastError(), "the timed body");
    clock_.End(stream_.get());
    const double mhz = clock_.Mhz(stream_.get());  // waits for all of it
    return {end_.SecondsSince(begin_) / bodies, mhz};
  }

  double peak_mhz() const { return clock_.peak_mhz(); }
  std::int64_t flushed_bytes() const {
    return flush_ ? static_cast<std::int64_t>(flush_->size()) : 0;
  }

 private:
  const CudaTimingOptions& options_;
  CudaStream stream_;
  CudaEvent begin_, end_;
  GpuClock clock_;
  std::optional<DeviceArray<std::byte>> flush_;
  Launcher launcher_;
};

int WarmUp(Sampler& sampler, const CudaTimingOptions& options, double deadline) {
  std::vector<double> last;
  int runs = 0;
  while (runs < options.max_warmup_runs && (runs == 0 || WallNow() < deadline)) {
    last.push_back(sampler.Take().seconds);
    ++runs;
    if (last.size() > 3) last.erase(last.begin());
    const auto [low, high] = std::minmax_element(last.begin(), last.end());
    if (last.size() == 3 && *high - *low <= options.warmup_agreement * *low) break;
  }
  return runs;
}

GpuState StateOfCurrentDevice() {
  const Nvml nvml;
  int device = 0;
  if (!nvml.available() || cudaGetDevice(&device) != cudaSuccess) return {};
  return nvml.state(device);
}

void CheckOptions(const CudaTimingOptions& options) {
  if (options.min_samples < 1 || options.max_samples < options.min_samples || options.batch < 1 ||
      options.max_warmup_runs < 1) {
    throw std::invalid_argument(
        "timing: 1 <= min_samples <= max_samples, batch and max_warmup_runs of at least 1 are "
        "needed");
  }
  if (options.mode == CudaMode::kBatch && options.before) {
    throw std::invalid_argument("timing: in batch mode nothing can be put before each body");
  }
}

}  // namespace

CudaTimingResult TimeOnGpu(const std::function<void(CUstream_st*)>& body,
                           const CudaTimingOptions& options) {
  CheckOptions(options);
  CudaTimingResult result;
  result.before = StateOfCurrentDevice();
  TimingResult& timing = result.timing;
  timing.included = "work on one stream between two events; no transfer, no allocation";
  Sampler sampler(body, options);
  result.flushed_bytes = sampler.flushed_bytes();
  timing.peak_mhz = sampler.peak_mhz();
  const double begin = WallNow();
  timing.warmup_runs = WarmUp(sampler, options, begin + options.budget / 2);
  StopRule rule({options.min_samples, options.max_samples, options.target});
  do {
    const Sampler::Sample sample = sampler.Take();
    timing.seconds.push_back(sample.seconds);
    timing.sm_mhz.push_back(sample.sm_mhz);
    timing.throttled += sample.sm_mhz < kThrottledShare * timing.peak_mhz;
  } while (!rule.Stop(timing.seconds.size(), WallNow(), begin + options.budget,
                      [&] { return MedianInterval(timing.seconds, kSeed); }));
  timing.iterations = options.mode == CudaMode::kBatch ? options.batch : 1;
  timing.stop_reason = rule.reason;
  timing.steady = std::abs(Drift(timing.seconds)) <= kUnsteady;
  timing.items_per_iteration = options.items_per_iteration;
  timing.bytes_per_iteration = options.bytes_per_iteration;
  result.after = StateOfCurrentDevice();
  return result;
}

}  // namespace retable::harness

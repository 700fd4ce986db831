// `make gpu-check FAMILY=harness`: is the stop-watch right, and do comparisons made with it hold?
//
//   known length    a kernel that looks at the clock on the wall runs 50, 200 and 1000 us: what do
//                   the events say, in every mode, and which clock did the card run at?
//   A/A             the same kernel against itself, 100 times: how often is the verdict "same"?
//   planted         the same kernel with 5 % more steps, 100 times: how often is it "slower"?
//
// One line of CSV each; exit 1 when a length is off by more than 5 us, fewer than 95 of 100 are the
// same, or fewer than 95 of 100 slowdowns are found.

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/streams.hpp"
#include "harness/cuda_timing.hpp"
#include "harness/noise.hpp"
#include "harness/statistics.hpp"

namespace {

using namespace retable::harness;

__global__ void RunFor(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

// A kernel whose time is its number of steps: what a real slowdown does to a real kernel.
__global__ void Work(const float* in, float* out, int steps) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float x = in[i];
  for (int s = 0; s < steps; ++s) x = fmaf(x, 0.999f, 0.5f);
  out[i] = x;
}

bool KnownLengths(const std::vector<double>& lengths) {
  bool right = true;
  for (const double length : lengths) {
    for (const CudaMode mode :
         {CudaMode::kCold, CudaMode::kWarm, CudaMode::kBatch, CudaMode::kGraph}) {
      CudaTimingOptions options;
      options.mode = mode;
      options.batch = 4;
      options.max_samples = 60;
      options.budget = 0.2;
      const auto nanoseconds = static_cast<unsigned long long>(length * 1e9);
      const auto result = TimeOnGpu(
          [&](CUstream_st* stream) { RunFor<<<1, 1, 0, stream>>>(nanoseconds); }, options);
      const Interval median = MedianInterval(result.timing.seconds, 1);
      const double off = median.estimate - length;
      right = right && off > -2e-6 && off < 5e-6;
      std::printf("known length,%s,%.0f us,%.2f us,off %+.2f us,%zu samples,%.0f MHz of %.0f,%s\n",
                  std::string(Name(mode)).c_str(), 1e6 * length, 1e6 * median.estimate, 1e6 * off,
                  result.timing.seconds.size(), Quantile(result.timing.sm_mhz, 0.5),
                  result.timing.peak_mhz, result.timing.stop_reason.c_str());
    }
  }
  return right;
}

class Kernel {
 public:
  Kernel() { CheckCuda(cudaMemset(in_.as<char>(), 0, in_.bytes()), "cudaMemset"); }
  std::vector<double> Times(int steps) const {
    CudaTimingOptions options;
    options.mode = CudaMode::kWarm;
    options.min_samples = 20;
    options.max_samples = 40;
    options.budget = 0.1;
    return TimeOnGpu(
               [&](CUstream_st* stream) {
                 Work<<<kBlocks, kThreads, 0, stream>>>(in_.as<float>(), out_.as<float>(), steps);
               },
               options)
        .timing.seconds;
  }

 private:
  static constexpr int kBlocks = 2048, kThreads = 256;
  DeviceBytes in_{kBlocks * kThreads * sizeof(float)}, out_{kBlocks * kThreads * sizeof(float)};
};

bool Comparisons(int trials, int noise_pairs) {
  constexpr int kSteps = 4000;
  const Kernel kernel;
  std::vector<SamePair> pairs;
  for (int i = 0; i < noise_pairs; ++i)
    pairs.push_back({kernel.Times(kSteps), kernel.Times(kSteps)});
  const Noise noise = MeasureNoise(pairs, {});
  std::printf("noise,floor %.2f %%,margin %.2f %%,%d pairs,kernel of %.1f us\n", 100 * noise.floor,
              100 * noise.margin, noise.pairs, 1e6 * Quantile(pairs[0].first, 0.5));
  int same = 0, slower = 0;
  for (int i = 0; i < trials; ++i) {
    const auto before = kernel.Times(kSteps);
    same += CompareTimes(before, kernel.Times(kSteps), noise.Rule()).change == Change::kSame;
    const auto slow = kernel.Times(kSteps * 105 / 100);
    slower += CompareTimes(before, slow, noise.Rule()).change == Change::kSlower;
  }
  std::printf("A/A,%d of %d same\nplanted 5 %%,%d of %d slower\n", same, trials, slower, trials);
  return same >= 95 * trials / 100 && slower >= 95 * trials / 100;
}

}  // namespace

// With --quick few of everything, for compute-sanitizer, under which no time means anything.
int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: nothing checked");
    return 0;
  }
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const bool right = KnownLengths(quick ? std::vector{50e-6} : std::vector{50e-6, 200e-6, 1e-3});
  const bool sure = Comparisons(quick ? 1 : 100, quick ? 2 : 40);
  std::puts(quick || (right && sure) ? "ok" : "FAILED");
  return quick || (right && sure) ? 0 : 1;
}

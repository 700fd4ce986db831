#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/cuda/streams.hpp"
#include "harness/machine/device.hpp"
#include "harness/stats/noise.hpp"
#include "harness/stats/significance.hpp"
#include "harness/stats/statistics.hpp"
#include "harness/timing/cuda_timing.hpp"

namespace retable::harness {
namespace {

// A kernel of known length: it looks at the clock on the wall.
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

class WorkKernel {
 public:
  WorkKernel() { in_.Zeros(kBlocks * kThreads); }
  std::vector<double> Times(int steps) const {
    CudaTimingOptions options;
    options.min_samples = 20;
    options.max_samples = 40;
    options.budget = 0.1;
    const auto body = [&](CUstream_st* stream) {
      Work<<<kBlocks, kThreads, 0, stream>>>(in_.data(), out_.data(), steps);
    };
    return TimeOnGpu(body, options).seconds;
  }

 private:
  static constexpr int kBlocks = 2048, kThreads = 256;
  DeviceArray<float> in_, out_{kBlocks * kThreads};
};

class CudaTimingOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!CudaDevicePresent(&why)) GTEST_SKIP() << why;
  }
};

TEST_F(CudaTimingOnDevice, AKernelOfKnownLengthWithTheClockOfEachSample) {
  constexpr double kLength = 400e-6;
  const TimingResult timing = TimeOnGpu(
      [&](CUstream_st* stream) { RunFor<<<1, 1, 0, stream>>>(static_cast<int>(kLength * 1e9)); });
  const double median = Quantile(timing.seconds, 0.5);
  // The global timer moves in steps of up to 1 us on some cards, and a launch takes a few us.
  EXPECT_GT(median, kLength - 2e-6);
  EXPECT_LT(median, kLength + 12e-6);
  EXPECT_EQ(timing.stop_reason, "interval");
  EXPECT_EQ(timing.sm_mhz.size(), timing.seconds.size());
  for (const double mhz : timing.sm_mhz) {
    EXPECT_GT(mhz, 100);
    EXPECT_LT(mhz, 1.1 * timing.peak_mhz);
  }
}

TEST_F(CudaTimingOnDevice, ShortAndLongKernelsAreReadWithinFiveMicroseconds) {
  for (const double length : {50e-6, 200e-6, 1e-3}) {
    CudaTimingOptions options;
    options.max_samples = 60;
    options.budget = 0.2;
    const auto nanoseconds = static_cast<unsigned long long>(length * 1e9);
    const TimingResult timing =
        TimeOnGpu([&](CUstream_st* stream) { RunFor<<<1, 1, 0, stream>>>(nanoseconds); }, options);
    const double off = MedianInterval(timing.seconds, 1).estimate - length;
    EXPECT_GT(off, -2e-6) << length;
    EXPECT_LT(off, 5e-6) << length;
  }
}

TEST_F(CudaTimingOnDevice, SameCodeIsTheSameAndAPlantedSlowdownIsFound) {
  const auto times = [](double microseconds) {
    CudaTimingOptions options;
    options.min_samples = 20;
    const auto length = static_cast<unsigned long long>(microseconds * 1e3);
    return TimeOnGpu([=](CUstream_st* stream) { RunFor<<<1, 1, 0, stream>>>(length); }, options)
        .seconds;
  };
  const auto first = times(400);
  EXPECT_EQ(CompareTimes(first, times(400)).significance, Significance::kSame);
  EXPECT_EQ(CompareTimes(first, times(420)).significance, Significance::kSlower);
}

TEST_F(CudaTimingOnDevice, NinetyFiveOfAHundredComparisonsHold) {
  constexpr int kSteps = 4000, kTrials = 100, kNoisePairs = 40;
  const WorkKernel kernel;
  std::vector<SamePair> pairs;
  for (int i = 0; i < kNoisePairs; ++i) {
    pairs.push_back({kernel.Times(kSteps), kernel.Times(kSteps)});
  }
  const Noise noise = MeasureNoise(pairs, {});
  int same = 0, slower = 0;
  for (int i = 0; i < kTrials; ++i) {
    const auto before = kernel.Times(kSteps);
    const SignificanceRule rule = noise.Rule(Quantile(before, 0.5));
    same += CompareTimes(before, kernel.Times(kSteps), rule).significance == Significance::kSame;
    const auto slow = kernel.Times(kSteps * 105 / 100);
    slower += CompareTimes(before, slow, rule).significance == Significance::kSlower;
  }
  EXPECT_GE(same, 95) << "noise: floor " << noise.floor << ", margin " << noise.margin;
  EXPECT_GE(slower, 95) << "noise: floor " << noise.floor << ", margin " << noise.margin;
}

TEST_F(CudaTimingOnDevice, ErrorsOfTheBodyAreReported) {
  // 2000 threads a block are too many.
  EXPECT_THROW(TimeOnGpu([](CUstream_st* stream) { RunFor<<<1, 2000, 0, stream>>>(1); }),
               std::runtime_error);
}

}  // namespace
}  // namespace retable::harness

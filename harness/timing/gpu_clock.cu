#include "harness/timing/gpu_clock.hpp"

#include <vector>

#include "base/cuda/streams.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace {

constexpr int kMaxMultiprocessors = 1024;
constexpr std::size_t kStamps = 2 * kMaxMultiprocessors;  // at the begin and at the end

struct Stamp {
  unsigned long long cycles, nanoseconds;
};

// Cycle counters are of their multiprocessor: a stamp is filed under its number.
__global__ void TakeStamps(Stamp* stamps) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor >= kMaxMultiprocessors) return;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  stamps[multiprocessor].cycles = static_cast<unsigned long long>(clock64());
  stamps[multiprocessor].nanoseconds = now;
}

int CurrentDevice() {
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

// What is timed may have moved on to another device; the stamps stay where they began.
class OnDevice {
 public:
  explicit OnDevice(int device) : previous_(CurrentDevice()) {
    if (device != previous_) CheckCuda(cudaSetDevice(device), "cudaSetDevice");
  }
  ~OnDevice() { cudaSetDevice(previous_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int previous_;
};

}  // namespace

struct GpuClock::Device {
  int index = CurrentDevice();
  DeviceArray<Stamp> stamps{kStamps};
  PinnedArray<Stamp> host;
  int multiprocessors = MultiprocessorCount();
  double peak_mhz = DeviceAttribute(cudaDevAttrClockRate) / 1e3;

  Device() { host.Reserve(kStamps); }

  // Several blocks a multiprocessor, so that each gets at least one.
  void Put(int which, CUstream_st* stream) {
    TakeStamps<<<4 * multiprocessors, 1, 0, stream>>>(stamps.data() + which * kMaxMultiprocessors);
    CheckCuda(cudaGetLastError(), "stamping the clock");
  }
};

GpuClock::GpuClock() : device_(std::make_unique<Device>()) {}
GpuClock::~GpuClock() = default;

void GpuClock::Begin(CUstream_st* stream) {
  const OnDevice here(device_->index);
  CheckCuda(cudaMemsetAsync(device_->stamps.data(), 0, kStamps * sizeof(Stamp), stream),
            "clearing the stamps");
  device_->Put(0, stream);
}

void GpuClock::Wait(CUstream_st* stream) {
  const OnDevice here(device_->index);
  CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void GpuClock::End(CUstream_st* stream) {
  const OnDevice here(device_->index);
  device_->Put(1, stream);
}

double GpuClock::Mhz(CUstream_st* stream) {
  const OnDevice here(device_->index);
  CheckCuda(cudaMemcpyAsync(device_->host.data(), device_->stamps.data(), kStamps * sizeof(Stamp),
                            cudaMemcpyDeviceToHost, stream),
            "reading the stamps");
  Wait(stream);
  const Stamp* first = device_->host.data();
  const Stamp* second = first + kMaxMultiprocessors;
  std::vector<double> mhz;
  for (int i = 0; i < kMaxMultiprocessors; ++i) {
    if (first[i].nanoseconds == 0 || second[i].nanoseconds <= first[i].nanoseconds) continue;
    const auto cycles = static_cast<double>(second[i].cycles - first[i].cycles);
    mhz.push_back(1e3 * cycles / static_cast<double>(second[i].nanoseconds - first[i].nanoseconds));
  }
  return Quantile(mhz, 0.5);
}

double GpuClock::peak_mhz() const {
  return device_->peak_mhz;
}

}  // namespace retable::harness

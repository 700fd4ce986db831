#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/cuda/streams.hpp"
#include "harness/machine/device.hpp"
#include "harness/roofline/ceilings.hpp"

namespace retable::harness {
namespace {

constexpr int kThreads = 256;

__global__ void Copy(const uint4* from, uint4* to, std::size_t n) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    to[i] = from[i];
  }
}

__global__ void Read(const uint4* from, std::size_t n, unsigned* sink) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint4 v = from[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 0xDEADBEEF) *sink = sum;  // never; but the compiler cannot know
}

// Places by a linear congruence on 64 bits; `mask` + 1 is a power of two.
__device__ std::uint64_t NextPlace(std::uint64_t& state, std::uint64_t mask) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 20) & mask;
}

__device__ std::uint64_t FirstState() {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  return (thread + 1) * 0x9E3779B97F4A7C15u;
}

__global__ void Gather(const unsigned long long* from, std::uint64_t mask, int reads,
                       unsigned* sink) {
  std::uint64_t state = FirstState();
  unsigned long long sum = 0;
#pragma unroll 8
  for (int i = 0; i < reads; ++i) sum += from[NextPlace(state, mask)];
  if (sum == 0xDEADBEEFDEADBEEF) *sink = 1;
}

__global__ void Scatter(unsigned long long* counters, std::uint64_t mask, int additions) {
  std::uint64_t state = FirstState();
#pragma unroll 8
  for (int i = 0; i < additions; ++i) atomicAdd(&counters[NextPlace(state, mask)], 1ULL);
}

constexpr int kChains = 8, kSteps = 4096;

template <typename T>
__global__ void Fma(T* sink) {
  T x[kChains];
  for (int c = 0; c < kChains; ++c) x[c] = T(threadIdx.x + c) * T(1e-3);
  for (int s = 0; s < kSteps; ++s) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = fma(x[c], T(0.5), T(1));
  }
  T sum = 0;
  for (int c = 0; c < kChains; ++c) sum += x[c];
  if (sum == T(-1)) *sink = sum;
}

__global__ void Nothing() {}

template <typename T>
T* As(const DeviceArray<std::byte>& bytes) {
  return reinterpret_cast<T*>(bytes.data());
}

// Best time on the card of one `work`, over runs for about `seconds` and at least three.
double BestTime(const CudaStream& stream, double seconds, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  CudaEvent begin, end;
  work();  // warm-up: code is loaded, memory is touched
  stream.Wait();
  const Clock::time_point start = Clock::now();
  double best = 1e300;
  for (int run = 0; run < 3 || Clock::now() - start < std::chrono::duration<double>(seconds);
       ++run) {
    begin.Record(stream.get());
    work();
    CheckCuda(cudaGetLastError(), "launching a measuring kernel");
    end.Record(stream.get());
    end.Wait();
    best = std::min(best, end.SecondsSince(begin));
  }
  return best;
}

class CudaCeilings {
 public:
  CudaCeilings(const CeilingOptions& options, const CudaDevice& device)
      : seconds_(options.seconds),
        bytes_(options.array_bytes > 0 ? options.array_bytes : DefaultBytes(device)),
        blocks_(device.multiprocessors * 16),
        from_(bytes_),
        to_(bytes_),
        sink_(64) {
    CheckCuda(cudaMemsetAsync(from_.data(), 1, bytes_, stream_.get()), "cudaMemsetAsync");
    Memory();
    Random();
    Arithmetic();
    Launches();
    Transfers();
  }

  std::vector<Ceiling> ceilings;

 private:
  // A power of two well above the cache, at most an eighth of the card.
  static std::size_t DefaultBytes(const CudaDevice& device) {
    std::size_t bytes = std::size_t{1} << 26;
    const auto wanted = static_cast<std::size_t>(device.l2_bytes) * 16;
    while (bytes < wanted && bytes * 16 <= static_cast<std::size_t>(device.memory_bytes))
      bytes *= 2;
    return bytes;
  }

  void Add(const char* name, double value, const char* unit, const std::string& note) {
    ceilings.push_back({"cuda", name, value, unit, note});
  }

  std::string ArrayNote() const { return "arrays of " + std::to_string(bytes_ >> 20) + " MiB"; }

  void Memory() {
    const std::size_t n = bytes_ / sizeof(uint4);
    const double copy = BestTime(stream_, seconds_, [&] {
      Copy<<<blocks_, kThreads, 0, stream_.get()>>>(As<uint4>(from_), As<uint4>(to_), n);
    });
    Add("copy", 2e-9 * static_cast<double>(bytes_) / copy, "GB/s", ArrayNote());
    const double read = BestTime(stream_, seconds_, [&] {
      Read<<<blocks_, kThreads, 0, stream_.get()>>>(As<uint4>(from_), n, As<unsigned>(sink_));
    });
    Add("read", 1e-9 * static_cast<double>(bytes_) / read, "GB/s", ArrayNote());
  }

  void Random() {
    constexpr int kEach = 64;
    std::uint64_t items = 1;
    while (items * 2 * 8 <= bytes_) items *= 2;
    const double all = 1e-9 * kEach * kThreads * static_cast<double>(blocks_);
    const double gather = BestTime(stream_, seconds_, [&] {
      Gather<<<blocks_, kThreads, 0, stream_.get()>>>(As<unsigned long long>(from_), items - 1,
                                                      kEach, As<unsigned>(sink_));
    });
    Add("gather", all / gather, "G/s", ArrayNote());
    const double atomics = BestTime(stream_, seconds_, [&] {
      Scatter<<<blocks_, kThreads, 0, stream_.get()>>>(As<unsigned long long>(to_), items - 1,
                                                       kEach);
    });
    Add("atomics", all / atomics, "G/s", ArrayNote());
  }

  template <typename T>
  double FmaRate() {
    const double time = BestTime(
        stream_, seconds_, [&] { Fma<T><<<blocks_, kThreads, 0, stream_.get()>>>(As<T>(sink_)); });
    return 2e-9 * kChains * kSteps * kThreads * static_cast<double>(blocks_) / time;
  }

  void Arithmetic() {
    Add("FMA fp64", FmaRate<double>(), "GFLOP/s", "");
    Add("FMA fp32", FmaRate<float>(), "GFLOP/s", "");
  }

  void Launches() {
    constexpr int kLaunches = 500;
    const double time = BestTime(stream_, seconds_, [&] {
      for (int i = 0; i < kLaunches; ++i) Nothing<<<1, 1, 0, stream_.get()>>>();
    });
    Add("launch", 1e6 * time / kLaunches, "us", "empty kernels, one after another");
  }

  void Transfers() {
    const std::size_t bytes = std::min(bytes_, std::size_t{1} << 28);
    PinnedArray<std::byte> host;
    host.Reserve(bytes);
    if (!host.pinned()) throw std::runtime_error("the system locks no memory to copy from");
    const auto rate = [&](void* to, const void* from, cudaMemcpyKind kind) {
      return 1e-9 * static_cast<double>(bytes) / BestTime(stream_, seconds_, [&] {
               CheckCuda(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "cudaMemcpyAsync");
             });
    };
    const std::string note = "pinned, " + std::to_string(bytes >> 20) + " MiB";
    Add("host to device", rate(to_.data(), host.data(), cudaMemcpyHostToDevice), "GB/s", note);
    Add("device to host", rate(host.data(), from_.data(), cudaMemcpyDeviceToHost), "GB/s", note);
  }

  double seconds_;
  std::size_t bytes_;
  int blocks_;
  CudaStream stream_;
  DeviceArray<std::byte> from_, to_, sink_;
};

}  // namespace

std::vector<Ceiling> MeasureCudaCeilings(const CeilingOptions& options) {
  const CudaPlatform platform = QueryCuda();
  if (platform.devices.empty()) return {};
  CheckCuda(cudaSetDevice(platform.devices.front().index), "cudaSetDevice");
  return CudaCeilings(options, platform.devices.front()).ceilings;
}

}  // namespace retable::harness

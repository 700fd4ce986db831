#include "experiments/shuffle/device_timing.hpp"

#include <stdexcept>

#ifdef RETABLE_HAS_CUDA
#include <cuda_runtime_api.h>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "harness/cuda_timing.hpp"
#endif

namespace retable::experiments {

#ifdef RETABLE_HAS_CUDA
namespace {

void Check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) { Check(cudaMalloc(&data_, bytes)); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { cudaFree(data_); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace

harness::TimingResult TimeShuffleOnDevice(shuffle::Shuffler& shuffler,
                                          std::span<const std::byte> in, std::size_t item_bytes,
                                          std::uint64_t seed, double budget, int min_samples) {
  auto* cuda = dynamic_cast<shuffle::CudaShuffler*>(&shuffler);
  if (cuda == nullptr) throw std::invalid_argument("this method does not run on CUDA devices");
  const DeviceBytes source(in.size()), target(in.size());
  Check(cudaMemcpy(source.data(), in.data(), in.size(), cudaMemcpyHostToDevice));
  const std::uint64_t n = in.size() / item_bytes;
  cuda->prepare(n, item_bytes);
  harness::CudaTimingOptions options;
  options.mode = harness::CudaMode::kWarm;  // as the published loop does
  options.min_samples = min_samples;
  options.budget = budget;
  return harness::TimeOnGpu(
             [&](CUstream_st* stream) {
               cuda->enqueue(source.data(), target.data(), n, item_bytes, seed, stream);
             },
             options)
      .timing;
}
#else
harness::TimingResult TimeShuffleOnDevice(shuffle::Shuffler&, std::span<const std::byte>,
                                          std::size_t, std::uint64_t, double, int) {
  throw std::runtime_error("compiled without CUDA");
}
#endif

}  // namespace retable::experiments

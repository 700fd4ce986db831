#include "experiments/shuffle/protocols/device_timing.hpp"

#include <stdexcept>

#ifdef RETABLE_HAS_CUDA
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "base/cuda/memory.hpp"
#include "harness/timing/cuda_timing.hpp"
#endif

namespace retable::experiments {

#ifdef RETABLE_HAS_CUDA
harness::TimingResult TimeShuffleOnDevice(shuffle::Shuffler& shuffler,
                                          std::span<const std::byte> in, std::size_t item_bytes,
                                          std::uint64_t seed, double budget, int min_samples) {
  auto* cuda = dynamic_cast<shuffle::CudaShuffler*>(&shuffler);
  if (cuda == nullptr) throw std::invalid_argument("this method does not run on CUDA devices");
  const DeviceArray<std::byte> source(in), target(in.size());
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

#include "algorithms/shuffle/cuda_shuffler.hpp"

#include <memory>

#include "base/cuda/memory.hpp"

namespace retable::shuffle {

void CudaShuffler::Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                       std::uint64_t seed) {
  DeviceArray<std::byte> source, target;
  source.Reserve(n * item_bytes);
  target.Reserve(n * item_bytes);
  prepare(n, item_bytes);
  CheckCuda(cudaMemcpy(source.data(), in, n * item_bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  enqueue(source.data(), target.data(), n, item_bytes, seed, nullptr);
  CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CheckCuda(cudaMemcpy(out, target.data(), n * item_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

std::unique_ptr<CudaShuffler> MakeCudaShuffler(const std::string& name) {
  auto made = Registry<Shuffler>::Instance().Make(name, Device::kCuda, {});
  auto& cuda = dynamic_cast<CudaShuffler&>(*made);
  static_cast<void>(made.release());
  return std::unique_ptr<CudaShuffler>(&cuda);
}

}  // namespace retable::shuffle

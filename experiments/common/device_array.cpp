#include "experiments/common/device_array.hpp"

#include <stdexcept>
#include <string>

#if defined(RETABLE_HAS_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace retable::experiments {

#if defined(RETABLE_HAS_CUDA)
namespace {
void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
  }
}
}  // namespace

DeviceArray::DeviceArray(std::span<const float> values) : size_(values.size()) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, size_ * sizeof(float)), "device memory");
  data_ = static_cast<float*>(memory);
  const auto copied =
      cudaMemcpy(data_, values.data(), size_ * sizeof(float), cudaMemcpyHostToDevice);
  if (copied != cudaSuccess) cudaFree(data_);
  Check(copied, "copy to the device");
}

DeviceArray::~DeviceArray() {
  cudaFree(data_);
}
#else
DeviceArray::DeviceArray(std::span<const float>) {
  throw std::runtime_error("this build has no CUDA");
}
DeviceArray::~DeviceArray() = default;
#endif

}  // namespace retable::experiments

#pragma once
//! @file
//! Device memory of the family's CUDA twins: checked calls and an array that frees itself.

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace retable::shuffle {

//! @throws std::runtime_error that names the call and CUDA's reason.
inline void CudaCheck(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

//! Uninitialised device memory that only grows.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  //! Room for `count` values; the contents are lost when it has to grow.
  //! @throws std::runtime_error with the sizes when the card has too little memory.
  void Reserve(std::uint64_t count) {
    if (count <= size_) return;
    std::size_t free_bytes = 0, total = 0;
    CudaCheck(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
    if (count * sizeof(T) > free_bytes + size_ * sizeof(T)) {
      throw std::runtime_error("the device has " + std::to_string(free_bytes >> 20) +
                               " MiB free; this shuffle needs " +
                               std::to_string((count * sizeof(T)) >> 20) + " MiB more");
    }
    cudaFree(data_);
    data_ = nullptr;
    size_ = 0;
    CudaCheck(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMalloc");
    size_ = count;
  }

  T* data() const { return data_; }
  std::uint64_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::uint64_t size_ = 0;
};

inline int MultiprocessorCount() {
  int device = 0, count = 0;
  CudaCheck(cudaGetDevice(&device), "cudaGetDevice");
  CudaCheck(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
  return count;
}

}  // namespace retable::shuffle

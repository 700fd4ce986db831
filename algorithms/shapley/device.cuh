#pragma once
//! @file
//! Checked CUDA calls and device memory that grows and never shrinks, so that a sampler which is
//! called again does not allocate again.

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace retable::shapley {

//! @throws std::runtime_error naming the step and the driver's words.
inline void CudaCheck(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* Reserve(std::size_t count) {
    if (count <= size_) return data_;
    cudaFree(data_);
    data_ = nullptr;
    size_ = 0;
    CudaCheck(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)),
              "device memory for permutations");
    size_ = count;
    return data_;
  }
  T* Zeros(std::size_t count) {
    Reserve(count);
    CudaCheck(cudaMemset(data_, 0, count * sizeof(T)), "clearing device memory");
    return data_;
  }
  T* Upload(std::span<const T> host) {
    Reserve(host.size());
    CudaCheck(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "upload");
    return data_;
  }
  void Download(std::span<T> host) const {
    CudaCheck(cudaMemcpy(host.data(), data_, host.size_bytes(), cudaMemcpyDeviceToHost),
              "download");
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace retable::shapley

#pragma once
//! @file
//! Device memory of the family: checked calls and a grow-only array, so that a trainer which fits
//! again does not allocate again.

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace retable::extratrees {

//! @throws std::runtime_error naming the call's place and the driver's words.
inline void CheckCuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
#define RETABLE_CUDA_CHECK(call) ::retable::extratrees::CheckCuda((call), #call)

template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  void swap(DeviceArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  //! Makes room for `count` elements; contents are lost when it grows.
  T* Reserve(std::size_t count) {
    if (count > size_) {
      cudaFree(data_);
      data_ = nullptr;
      size_ = 0;
      CheckCuda(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)),
                "device memory for the forest");
      size_ = count;
    }
    return data_;
  }
  T* Upload(const T* host, std::size_t count) {
    Reserve(count);
    CheckCuda(cudaMemcpy(data_, host, count * sizeof(T), cudaMemcpyHostToDevice), "upload");
    return data_;
  }
  void Download(T* host, std::size_t count) const {
    CheckCuda(cudaMemcpy(host, data_, count * sizeof(T), cudaMemcpyDeviceToHost), "download");
  }
  T* get() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace retable::extratrees

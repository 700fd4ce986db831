#pragma once
//! @file
//! Owned device memory and checked calls, for host code.

#if defined(RETABLE_HAS_CUDA)

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace retable::quantiles {

inline void CheckCuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
  }
}

//! Device memory for n items, freed at the end.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t n) : size_(n) {
    if (n > 0) CheckCuda(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)), "cudaMalloc");
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

inline int MultiprocessorCount() {
  int device = 0;
  int count = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
  return count;
}

//! Feeds host values through a device buffer, piece by piece.
template <class Real, class UpdateDevice>
void FeedThroughDevice(std::span<const Real> values, const UpdateDevice& update_device) {
  constexpr std::size_t kPiece = std::size_t{1} << 24;
  if (values.empty()) return;
  const DeviceArray<Real> buffer(values.size() < kPiece ? values.size() : kPiece);
  while (!values.empty()) {
    const std::size_t n = values.size() < kPiece ? values.size() : kPiece;
    CheckCuda(cudaMemcpy(buffer.data(), values.data(), n * sizeof(Real), cudaMemcpyHostToDevice),
              "cudaMemcpy to device");
    update_device(buffer.data(), n);
    values = values.subspan(n);
  }
}

}  // namespace retable::quantiles

#endif

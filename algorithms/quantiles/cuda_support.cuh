#pragma once
//! @file
//! Owned device memory, checked calls, wide loads: what the .cu files of this folder share.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
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
    if (n > 0) CheckCuda(cudaMalloc(&data_, n * sizeof(T)), "cudaMalloc");
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

//! Values in a 16-byte load.
template <class Real>
inline constexpr int kWideValues = 16 / sizeof(Real);

//! One 16-byte load, from an address aligned to it.
__device__ __forceinline__ void LoadWide(const double* p, double* out) {
  const double2 v = __ldcs(reinterpret_cast<const double2*>(p));
  out[0] = v.x;
  out[1] = v.y;
}
__device__ __forceinline__ void LoadWide(const float* p, float* out) {
  const float4 v = __ldcs(reinterpret_cast<const float4*>(p));
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
  out[3] = v.w;
}

//! How many of n values lie before the first address aligned to 16 bytes.
template <class Real>
__host__ __device__ std::size_t ValuesBeforeAligned(const Real* values, std::size_t n) {
  const std::size_t off = reinterpret_cast<std::uintptr_t>(values) % 16;
  const std::size_t head = off == 0 ? 0 : (16 - off) / sizeof(Real);
  return head < n ? head : n;
}

//! Calls function(integral_constant<int, L>) with the smallest compiled L of 5, 10, 15 >= order.
template <class Function>
void DispatchCompiledOrder(int order, const Function& function) {
  if (order <= 5) {
    function(std::integral_constant<int, 5>{});
  } else if (order <= 10) {
    function(std::integral_constant<int, 10>{});
  } else {
    function(std::integral_constant<int, 15>{});
  }
}

}  // namespace retable::quantiles

#pragma once
//! @file
//! Checked CUDA calls and owned device memory, for host code of every family. Empty where there is
//! no CUDA toolkit.

#if defined(RETABLE_HAS_CUDA) || defined(__CUDACC__)

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/cuda/cards.hpp"
#include "base/cuda/out_of_memory.hpp"
#include "base/memory/large_memory.hpp"

namespace retable {

//! @throws std::runtime_error that names `what` and CUDA's reason; OutOfDeviceMemory where it is
//! that.
inline void CheckCuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // nothing is left behind for the next call, unless the error is sticky
  const std::string message = std::string(what) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(message);
  throw std::runtime_error(message);
}
//! The call is its own name.
#define RETABLE_CUDA_CHECK(call) ::retable::CheckCuda((call), #call)

//! Device memory. @throws OutOfDeviceMemory, with what is asked for and what is free.
inline void* AllocateOnDevice(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free_bytes = 0, total = 0;
    CheckCuda(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
    throw OutOfDeviceMemory("the device has " + std::to_string(free_bytes >> 20) + " MiB free of " +
                            std::to_string(total >> 20) + "; " + std::to_string(bytes >> 20) +
                            " MiB more are needed");
  }
  CheckCuda(status, "cudaMalloc");
  return memory;
}

//! An array in device memory, not initialised. It only grows, so that what runs again does not
//! allocate again. Copies run on the default stream, and return when they are done.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count) { Reserve(count); }
  // Delegates: where the copy fails, the destructor gives the memory back.
  explicit DeviceArray(std::span<const T> host) : DeviceArray() { Upload(host); }
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

  //! Room for `count` values; the contents are lost when it has to grow. @return data()
  T* Reserve(std::size_t count) {
    if (count <= size_) return data_;
    DeviceArray().swap(*this);  // the old room may be what is missing for the new one
    data_ = static_cast<T*>(AllocateOnDevice(count * sizeof(T)));
    size_ = count;
    return data_;
  }
  //! Makes room for them. @return data()
  T* Upload(std::span<const T> host) {
    Reserve(host.size());
    if (host.empty()) return data_;
    CheckCuda(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "upload");
    return data_;
  }
  //! Makes room for `count` values of all bits zero. @return data()
  T* Zeros(std::size_t count) {
    Reserve(count);
    if (count > 0) CheckCuda(cudaMemset(data_, 0, count * sizeof(T)), "clearing device memory");
    return data_;
  }
  //! The first host.size() values.
  void Download(std::span<T> host) const {
    if (host.empty()) return;
    CheckCuda(cudaMemcpy(host.data(), data_, host.size_bytes(), cudaMemcpyDeviceToHost),
              "download");
  }

  T* data() const { return data_; }
  //! How many values there is room for.
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

//! Of the current device.
inline int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

//! An array in page-locked host memory, not initialised: copies to and from it run beside the host
//! and at the full rate of the bus. Where the system locks no more memory it is of the usual kind,
//! and copies wait. It only grows. It locks pages of AllocatePages: cudaHostAlloc takes eleven
//! times as long for 64 MB (H200, 2026-11-28; docs/lab/treeshap/036-first-calls.md).
template <class T>
class PinnedArray {
 public:
  PinnedArray() = default;
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  ~PinnedArray() { Free(); }

  //! Room for `count` values; the contents are lost when it has to grow. @return data()
  //! @throws std::bad_alloc where the host has no memory of any kind
  T* Reserve(std::size_t count) {
    if (count <= size_) return data_;
    Free();
    data_ = static_cast<T*>(AllocatePages(count * sizeof(T)));
    size_ = count;
    if (DeviceAttribute(cudaDevAttrCanUseHostPointerForRegisteredMem) == 0) return data_;
    // Portable: locked for all devices.
    pinned_ = cudaHostRegister(data_, count * sizeof(T), cudaHostRegisterPortable) == cudaSuccess;
    if (!pinned_) cudaGetLastError();
    return data_;
  }

  T* data() const { return data_; }
  //! How many values there is room for.
  std::size_t size() const { return size_; }
  //! Whether it is locked, and kernels may use it.
  bool pinned() const { return pinned_; }

 private:
  void Free() {
    if (pinned_) cudaHostUnregister(data_);
    FreePages(data_, size_ * sizeof(T));
    data_ = nullptr;
    size_ = 0;
    pinned_ = false;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  bool pinned_ = false;
};

//! A limit of the current device, or of the emulated card where that has less.
template <class Limit>
Limit WithinEmulated(int own, Limit CardLimits::*emulated) {
  const CardLimits* card = EmulatedCard();
  const auto limit = static_cast<Limit>(own);
  return card == nullptr ? limit : std::min(limit, card->*emulated);
}

inline int MultiprocessorCount() {
  return WithinEmulated(DeviceAttribute(cudaDevAttrMultiProcessorCount),
                        &CardLimits::multiprocessors);
}

//! 89 for 8.9.
inline int ComputeCapability() {
  return WithinEmulated(10 * DeviceAttribute(cudaDevAttrComputeCapabilityMajor) +
                            DeviceAttribute(cudaDevAttrComputeCapabilityMinor),
                        &CardLimits::capability);
}

//! Bytes of shared memory that a block of the current device may have.
inline std::size_t SharedMemoryLimit() {
  return WithinEmulated(DeviceAttribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                        &CardLimits::shared_per_block);
}

//! Lets a kernel be launched with so much dynamic shared memory. @return bytes
//! @throws std::runtime_error with both figures where a block of this device cannot have it
template <class... Arguments>
std::size_t AllowSharedMemory(void (*kernel)(Arguments...), std::size_t bytes) {
  const auto refuse = [bytes](std::size_t limit) {
    throw std::runtime_error("a kernel needs " + std::to_string(bytes) +
                             " bytes of shared memory a block; this device offers " +
                             std::to_string(limit));
  };
  if (EmulatedCard() != nullptr && bytes > SharedMemoryLimit()) refuse(SharedMemoryLimit());
  const cudaError_t status =
      cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                           cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status == cudaErrorInvalidValue) {
    cudaGetLastError();
    refuse(SharedMemoryLimit());
  }
  CheckCuda(status, "cudaFuncSetAttribute");
  return bytes;
}

//! Blocks of a kernel that are on a multiprocessor at a time, at least 1.
//! @param bytes of dynamic shared memory, which AllowSharedMemory has allowed
template <class... Arguments>
int BlocksOnMultiprocessor(void (*kernel)(Arguments...), int threads, std::size_t bytes) {
  int blocks = 1;
  CheckCuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes),
            "occupancy");
  if (const CardLimits* card = EmulatedCard()) {
    cudaFuncAttributes attributes;
    CheckCuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    const std::size_t shared = bytes + attributes.sharedSizeBytes + 1024;
    blocks = std::min({blocks, card->threads_per_multiprocessor / threads,
                       static_cast<int>(card->shared_per_multiprocessor / shared)});
  }
  return std::max(1, blocks);
}

}  // namespace retable

#endif

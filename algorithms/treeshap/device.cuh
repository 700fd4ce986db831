#pragma once
//! @file
//! Owned device memory, streams and event pairs for this family's CUDA twins.

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace retable::treeshap {

//! @throws std::runtime_error naming the call.
inline void CudaCheck(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

//! An array in device memory.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count) : count_(count) {
    if (count > 0) CudaCheck(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceArray(std::span<const T> host) : DeviceArray(host.size()) { Upload(host); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }

  void Upload(std::span<const T> host) {
    if (host.empty()) return;
    CudaCheck(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "upload");
  }
  void Download(std::span<T> host) const {
    if (host.empty()) return;
    CudaCheck(cudaMemcpy(host.data(), data_, host.size_bytes(), cudaMemcpyDeviceToHost),
              "download");
  }
  //! Grows, without keeping the content.
  void Reserve(std::size_t count) {
    if (count > count_) {
      *this = DeviceArray();
      *this = DeviceArray(count);
    }
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

//! A stream of its own.
class Stream {
 public:
  Stream() { CudaCheck(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { CudaCheck(cudaEventCreate(&event_), "event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void Record(cudaStream_t stream) { CudaCheck(cudaEventRecord(event_, stream), "event"); }
  //! Seconds since the earlier event; waits for this one.
  double SecondsSince(const Event& start) const {
    float milliseconds = 0;
    CudaCheck(cudaEventSynchronize(event_), "event");
    CudaCheck(cudaEventElapsedTime(&milliseconds, start.event_, event_), "event");
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace retable::treeshap

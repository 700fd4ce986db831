#pragma once
//! @file
//! Owners of CUDA's things for the harness's own measurements: memory, streams, events, graphs.
//! Constructors throw std::runtime_error naming the call; destructors never do.

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace retable::harness {

inline void CheckCuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // leave no error behind for the next call, unless it is sticky
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) : bytes_(bytes) {
    CheckCuda(cudaMalloc(&data_, bytes), "cudaMalloc");
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

class PinnedBytes {
 public:
  explicit PinnedBytes(std::size_t bytes) {
    CheckCuda(cudaMallocHost(&data_, bytes), "cudaMallocHost");
  }
  ~PinnedBytes() { cudaFreeHost(data_); }
  PinnedBytes(const PinnedBytes&) = delete;
  PinnedBytes& operator=(const PinnedBytes&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class CudaStream {
 public:
  CudaStream() {
    CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Wait() const { CheckCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() { CheckCuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void Record(cudaStream_t stream) const {
    CheckCuda(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  void Wait() const { CheckCuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  //! Seconds from `begin` to this; both must have happened.
  double SecondsSince(const CudaEvent& begin) const {
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace retable::harness

#pragma once
//! @file
//! Owned CUDA streams and events, and the choice of a device. Constructors throw what CheckCuda
//! throws; destructors never do. Empty where there is no CUDA toolkit.

#include "base/cuda/memory.hpp"

#if defined(RETABLE_HAS_CUDA) || defined(__CUDACC__)

namespace retable {

//! The device becomes the current one, to which streams, events and memory made from then on
//! belong: where a class makes any, this comes before its other members. @return device
inline int SelectDevice(int device) {
  CheckCuda(cudaSetDevice(device), "cudaSetDevice");
  return device;
}

class CudaStream {
 public:
  //! By default work on it does not wait for the default stream's.
  explicit CudaStream(unsigned flags = cudaStreamNonBlocking) {
    CheckCuda(cudaStreamCreateWithFlags(&stream_, flags), "cudaStreamCreate");
  }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Wait() const { CheckCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

//! Copies `count` values behind what the stream holds.
template <class T>
void CopyInStream(T* to, const T* from, std::size_t count, cudaMemcpyKind kind,
                  cudaStream_t stream) {
  CheckCuda(cudaMemcpyAsync(to, from, count * sizeof(T), kind, stream), "cudaMemcpyAsync");
}

//! Makes `count` values all bits zero, behind what the stream holds.
template <class T>
void ClearInStream(T* values, std::size_t count, cudaStream_t stream) {
  CheckCuda(cudaMemsetAsync(values, 0, count * sizeof(T), stream), "cudaMemsetAsync");
}

class CudaEvent {
 public:
  //! cudaEventDisableTiming: for waiting alone, at less cost.
  explicit CudaEvent(unsigned flags = cudaEventDefault) {
    CheckCuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreate");
  }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }
  //! Null: on the default stream.
  void Record(cudaStream_t stream = nullptr) const {
    CheckCuda(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  void Wait() const { CheckCuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  //! Seconds since the earlier event; waits for this one.
  double SecondsSince(const CudaEvent& start) const {
    float milliseconds = 0;
    Wait();
    CheckCuda(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace retable

#endif

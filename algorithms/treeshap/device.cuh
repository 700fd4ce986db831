#pragma once
//! @file
//! Owned streams and events of this family's CUDA twins.

#include <cuda_runtime.h>

#include "base/cuda_memory.hpp"

namespace retable::treeshap {

//! The device becomes the current one, to which streams, events and memory made from then on
//! belong: where a class makes any, this comes before its other members. @return device
inline int SelectDevice(int device) {
  CheckCuda(cudaSetDevice(device), "cudaSetDevice");
  return device;
}

//! A stream of its own.
class Stream {
 public:
  Stream() { CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  //! cudaEventDisableTiming: for waiting alone, at less cost.
  explicit Event(unsigned flags = cudaEventDefault) {
    CheckCuda(cudaEventCreateWithFlags(&event_, flags), "event");
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void Record(cudaStream_t stream) { CheckCuda(cudaEventRecord(event_, stream), "event"); }
  void Wait() const { CheckCuda(cudaEventSynchronize(event_), "event"); }
  //! Seconds since the earlier event; waits for this one.
  double SecondsSince(const Event& start) const {
    float milliseconds = 0;
    CheckCuda(cudaEventSynchronize(event_), "event");
    CheckCuda(cudaEventElapsedTime(&milliseconds, start.event_, event_), "event");
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace retable::treeshap

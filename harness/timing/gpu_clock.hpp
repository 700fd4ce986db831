#pragma once
//! @file
//! The clock that a GPU's multiprocessors really ran at between two moments.
//!
//! Two stamp kernels write, per multiprocessor, its cycle counter (clock64) and the time
//! (%globaltimer); cycles over nanoseconds between them is the effective clock, and the median over
//! multiprocessors is reported. It needs no privileges and no management library.

#include <memory>

struct CUstream_st;  // CUDA's, so that this header needs no CUDA

namespace retable::harness {

//! Samples below this share of the peak clock are called throttled.
inline constexpr double kThrottledShare = 0.75;

class GpuClock {
 public:
  //! For the current device. @throws std::runtime_error without one, or on a CUDA error
  GpuClock();
  ~GpuClock();
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  //! Puts the first stamp on a stream (null: the default stream).
  void Begin(CUstream_st* stream = nullptr);
  //! Waits for the stream.
  void Wait(CUstream_st* stream = nullptr);
  //! Puts the second stamp on the stream; nothing is waited for.
  void End(CUstream_st* stream = nullptr);
  //! MHz between the stamps of the last Begin and End; waits for the stream.
  double Mhz(CUstream_st* stream = nullptr);
  //! What the device may reach, in MHz.
  double peak_mhz() const;

 private:
  struct Device;
  std::unique_ptr<Device> device_;
};

}  // namespace retable::harness

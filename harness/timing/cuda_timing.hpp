#pragma once
//! @file
//! Times of work on a GPU, by events, with what a reader needs to trust them.
//!
//! Timed is what the body puts on the stream it is given, from its first to its last piece of work:
//! no transfer and no allocation unless the body makes one, and no launch latency as long as the
//! body is put on the stream faster than a short delay kernel before it runs. For a time from the
//! caller's side (transfers, launches, synchronisation) use TimeRepeated with a body that waits.
//!
//!   cold    the L2 cache is overwritten before every sample (twice its size): as a first call
//!   warm    samples follow each other: as in a loop
//!   batch   many bodies between two events, divided: for bodies of a few microseconds
//!   graph   the body is captured once and launched as a graph: no launch overhead per kernel
//!
//! Warm-up ends when three samples in a row agree. Sampling ends when the median's 95 % interval is
//! within 1 % (half width), or the budget is spent. Clocks are not locked (that needs privileges);
//! instead each sample carries the clock that the multiprocessors really ran at: cycles (clock64)
//! over nanoseconds (%globaltimer) between two stamp kernels around it, the median over
//! multiprocessors. Samples below 75 % of the card's peak clock are counted as throttled and kept.
//! What the driver says of power, heat and throttling is asked before and after.
//!
//! Method after nvbench (NVIDIA, 2021 onwards): cold samples, clock check; the delay kernel instead
//! of one that waits for the host cannot hang a body that synchronises.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/machine/nvml.hpp"
#include "harness/timing/timing.hpp"

struct CUstream_st;  // CUDA's, so that this header needs no CUDA

namespace retable::harness {

enum class CudaMode { kCold, kWarm, kBatch, kGraph };

struct CudaTimingOptions {
  CudaMode mode = CudaMode::kCold;
  int min_samples = 10, max_samples = 500;
  double budget = 5;     //!< seconds of wall time, warm-up included; at least one sample
  double target = 0.01;  //!< half width of the interval over the median
  double warmup_agreement = 0.02;
  int max_warmup_runs = 50;
  int batch = 16;        //!< bodies a sample, in batch mode
  double delay = 50e-6;  //!< seconds the stream is held up while a sample is put on it
  //! Puts untimed work on the stream before each sample (restores an input); not in batch mode.
  std::function<void(CUstream_st*)> before;
  double items_per_iteration = 0, bytes_per_iteration = 0;
};

struct CudaTimingResult {
  TimingResult timing;             //!< seconds per body, with the clock of each sample
  std::int64_t flushed_bytes = 0;  //!< overwritten before each sample; 0 when not cold
  GpuState before, after;          //!< empty where the management library is missing
};

//! Times a body on the current device.
//! @throws std::runtime_error without a device, or when CUDA reports an error (also the body's)
CudaTimingResult TimeOnGpu(const std::function<void(CUstream_st*)>& body,
                           const CudaTimingOptions& options = {});

}  // namespace retable::harness

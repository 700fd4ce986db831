#pragma once
//! @file
//! Times of work on a GPU, by events, with what a reader needs to trust them.
//!
//! Timed is what the body puts on the stream it is given, from its first to its last piece of work:
//! no transfer and no allocation unless the body makes one, and no launch latency as long as the
//! body is put on the stream faster than a short delay kernel before it runs. Samples follow each
//! other, as in a loop: caches are warm. For a time from the caller's side (transfers, launches,
//! synchronisation) use TimeRepeated with a body that waits.
//!
//! Warm-up ends when three samples in a row agree. Sampling ends when the median's 95 % interval is
//! within 1 % (half width), or the budget is spent. Clocks are not locked (that needs privileges);
//! instead each sample carries the clock that the multiprocessors really ran at: cycles (clock64)
//! over nanoseconds (%globaltimer) between two stamp kernels around it, the median over
//! multiprocessors. Samples below 75 % of the card's peak clock are counted as throttled and kept.
//!
//! Method after nvbench (NVIDIA, 2021 onwards): clock check; the delay kernel instead of one that
//! waits for the host cannot hang a body that synchronises.

#include <functional>

#include "harness/timing/timing.hpp"

struct CUstream_st;  // CUDA's, so that this header needs no CUDA

namespace retable::harness {

struct CudaTimingOptions {
  int min_samples = 10, max_samples = 500;
  double budget = 5;  //!< seconds of wall time, warm-up included; at least one sample
};

//! Times a body on the current device: seconds with the clock of each sample.
//! @throws std::runtime_error without a device, or when CUDA reports an error (also the body's)
TimingResult TimeOnGpu(const std::function<void(CUstream_st*)>& body,
                       const CudaTimingOptions& options = {});

}  // namespace retable::harness

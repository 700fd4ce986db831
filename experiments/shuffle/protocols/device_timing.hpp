#pragma once
//! @file
//! Times a CUDA shuffler on device memory.

#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithms/shuffle/shuffler.hpp"
#include "harness/timing/timing.hpp"

namespace retable::experiments {

//! Seconds of the device's work for one shuffle. @throws std::runtime_error where CUDA was not
//! compiled in or there is no device, std::invalid_argument for a method that is none of CUDA.
harness::TimingResult TimeShuffleOnDevice(shuffle::Shuffler& shuffler,
                                          std::span<const std::byte> in, std::size_t item_bytes,
                                          std::uint64_t seed, double budget, int min_samples);

}  // namespace retable::experiments

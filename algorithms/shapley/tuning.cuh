#pragma once
//! @file
//! Tuning constants of the family's kernels: H200, 2026-11. Measurements: docs/lab/shapley.

#include <cstddef>

namespace retable::shapley {

constexpr int kThreads = 256;  //!< threads a block, where a warp works alone
//! Blocks of kThreads that make so many threads.
constexpr unsigned BlocksFor(std::size_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}
constexpr std::size_t kBlock = 16;  //!< steps that herding looks ahead: launches against idle warps
constexpr int kTogether = 4;        //!< candidates a warp compares at once: bound by registers
constexpr std::size_t kChunk = 32;  //!< chosen orders a warp compares them with: one a lane
//! Doubles of a batch of points or bases: 256 MiB of device memory in each of two arrays.
constexpr std::size_t kMostDoubles = std::size_t{1} << 25;

}  // namespace retable::shapley

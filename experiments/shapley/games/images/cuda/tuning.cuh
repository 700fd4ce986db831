#pragma once
//! @file
//! Tuning constants of the convolutions: H200, 2026-11-21, Fashion-MNIST's network. Other values
//! lost 3 % to 40 %: docs/lab/shapley/011-images-on-gpu.md.

#include <cstddef>

namespace retable::experiments {

constexpr int kImages = 4;  //!< images a lane: one load of 16 bytes
constexpr int kWarpImages = 32 * kImages;
constexpr int kWarps = 4;                     //!< warps a block, each on a pixel of its own
constexpr int kMostGroup = 24;                //!< output channels a lane: 96 sums in registers
constexpr std::size_t kSlab = 32 << 10;       //!< bytes of weights in shared memory at a time
constexpr std::size_t kMostImages = 1 << 16;  //!< images a batch
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  //!< device memory of a batch's tensors

}  // namespace retable::experiments

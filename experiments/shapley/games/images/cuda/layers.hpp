#pragma once
//! @file
//! The layers of games/images/layers.hpp on a CUDA device, for one image under many coalitions of
//! its tiles: only masks are uploaded and log-odds downloaded.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "experiments/shapley/games/images/layers.hpp"
#include "experiments/shapley/games/images/tiled_image.hpp"

namespace retable::experiments {

//! Keeps its device memory between calls. Not for several threads at a time.
class DeviceLayers {
 public:
  //! @throws std::invalid_argument for a kernel that does not fit into a block's shared memory, or
  //! more than 65,535 groups of channels, std::runtime_error on a CUDA error.
  DeviceLayers(const LayerGraph& graph, const TiledImage& tiled);
  ~DeviceLayers();

  //! values[k] = log-odds of class `answer` for the image under coalition k: masks of
  //! (players + 63) / 64 words each. The logits are the CPU backend's, bit for bit.
  void LogOdds(std::span<const std::uint64_t> coalitions, std::size_t answer,
               std::span<double> values);
  //! The logits themselves, [coalition][class].
  std::vector<float> Logits(std::span<const std::uint64_t> coalitions);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace retable::experiments

#pragma once
//! @file
//! One image whose tiles are players.

#include <cstdint>
#include <vector>

#include "experiments/shapley/games/images/network.hpp"

namespace retable::experiments {

struct TiledImage {
  Image image;
  std::vector<float> black;          //!< of each channel, as the network sees it
  std::vector<std::int32_t> player;  //!< of each pixel, row by row
  int players = 0;
};

}  // namespace retable::experiments

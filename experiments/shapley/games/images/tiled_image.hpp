#pragma once
//! @file
//! One image whose tiles are players.

#include <cstdint>
#include <vector>

#include "experiments/shapley/games/images/network.hpp"

namespace retable::experiments {

struct TiledImage {
  Image image;
  std::vector<float> black;          //!< one a channel, as the network sees it
  std::vector<std::int32_t> player;  //!< one a pixel, row by row
  int players = 0;
};

}  // namespace retable::experiments

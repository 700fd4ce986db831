#pragma once
//! @file
//! Binary PPM and PGM pictures (8 bits a channel): the plainest formats that every tool can write.

#include <string>
#include <string_view>

#include "experiments/shapley/games/images/network.hpp"

namespace retable::experiments {

//! Three planes (P6) or one (P5) with values from 0 to 1. @throws std::invalid_argument naming
//! `file` for anything but one of these with depth 255, all its bytes and none more.
Image ReadPpm(std::string_view bytes, const std::string& file);

}  // namespace retable::experiments

#pragma once
//! @file
//! Binary PPM pictures (P6, 8 bits a channel): the plainest format that every tool can write.

#include <string>
#include <string_view>

#include "experiments/shapley/games/images/network.hpp"

namespace retable::experiments {

//! Three planes with values from 0 to 1. @throws std::invalid_argument naming `file` for anything
//! but P6 of depth 255 with all its bytes.
Image ReadPpm(std::string_view bytes, const std::string& file);

}  // namespace retable::experiments

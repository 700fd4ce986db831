#pragma once
//! @file
//! Arguments of the tile kernels of both forms of interaction values.

#include <cstdint>

#include "algorithms/treeshap/quadrature/tape/format.hpp"

namespace retable::treeshap {

template <class Tile, class Sizes>
struct TileLaunch {
  bool general = true;  //!< missing values or categories
  struct Tape {
    const Tile* tiles = nullptr;
    std::uint32_t tile_count = 0;
    Sizes sizes;
    const Float4* words = nullptr;
    const std::uint32_t* sets = nullptr;
  } tape;
  struct Rows {
    const float* x = nullptr;  //!< features x stride
    std::uint32_t stride = 0;  //!< padded row count: a multiple of 32
    float scale = 1;           //!< fixed-point units in one
  } rows;
  struct Output {
    unsigned long long* sums = nullptr;  //!< the tape set's sums x stride, fixed point
    //! What tiles leave for those above. Ancestor form: K, tiles x points x stride. Derivative
    //! form: vectors x stride / 32 x 32 points.
    float* below = nullptr;
    //! Zero before: the next ticket, then for each tile and block of rows the number of tiles
    //! below that have ended; 1 + tiles x stride / 32.
    std::uint32_t* progress = nullptr;
  } output;
};

}  // namespace retable::treeshap

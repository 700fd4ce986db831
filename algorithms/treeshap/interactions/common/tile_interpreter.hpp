#pragma once
//! @file
//! Common to the interpreters of both tapes of interaction values
//! (interactions/ancestor/interpreter.hpp, interactions/derivative/interpreter.hpp): arrays over
//! points, and sides of splits.

#include <cstdint>

#include "algorithms/treeshap/quadrature/tape/interpreter.hpp"
#include "base/cuda/host_device.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::treeshap::tiles {

//! Groups of four words of an array of Q points.
template <int Q>
inline constexpr int kGroups = (Q + 3) / 4;

template <int Q>
RETABLE_HD void LoadPoints(const Float4* at, float (&to)[Q]) {
  RETABLE_UNROLL
  for (int v = 0; v < kGroups<Q>; ++v) {
    const Float4 four = at[v];
    to[4 * v] = four.x;
    if (4 * v + 1 < Q) to[4 * v + 1] = four.y;
    if (4 * v + 2 < Q) to[4 * v + 2] = four.z;
    if (4 * v + 3 < Q) to[4 * v + 3] = four.w;
  }
}

//! Where `memory`'s row is at `split`. General: with missing values and categories.
template <bool General, class Memory>
RETABLE_HD tape::Side Locate(const Float4& split, Memory& memory) {
  const float x = memory.X(tape::Bits(split.w));
  return tape::SideOf<General, General>(split, x, [&] {
    return tape::Side{tape::IsAtCategory(split, false, x, memory),
                      tape::IsAtCategory(split, true, x, memory)};
  });
}

}  // namespace retable::treeshap::tiles

#pragma once
//! @file
//! Host values for a sketch that reads device memory.

#if defined(RETABLE_HAS_CUDA)

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/cuda/memory.hpp"

namespace retable::quantiles {

//! Feeds host values through a device buffer, piece by piece.
template <class Real, class UpdateDevice>
void FeedThroughDevice(std::span<const Real> values, const UpdateDevice& update_device) {
  constexpr std::size_t kPiece = std::size_t{1} << 24;
  DeviceArray<Real> buffer(std::min(values.size(), kPiece));
  while (!values.empty()) {
    const std::size_t n = std::min(values.size(), kPiece);
    update_device(buffer.Upload(values.first(n)), n);
    values = values.subspan(n);
  }
}

}  // namespace retable::quantiles

#endif

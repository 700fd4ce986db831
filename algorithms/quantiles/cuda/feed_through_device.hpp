#pragma once
//! @file
//! Copies host values to the device for a sketch that reads device memory.

#if defined(RETABLE_HAS_CUDA)

#include <algorithm>
#include <cstddef>
#include <span>

#include "algorithms/quantiles/tuning.hpp"
#include "base/cuda/memory.hpp"

namespace retable::quantiles {

//! Feeds host values through a device buffer, piece by piece.
template <class Real, class UpdateDevice>
void FeedThroughDevice(std::span<const Real> values, const UpdateDevice& update_device) {
  DeviceArray<Real> buffer(std::min(values.size(), kUploadPiece));
  while (!values.empty()) {
    const std::size_t n = std::min(values.size(), kUploadPiece);
    update_device(buffer.Upload(values.first(n)), n);
    values = values.subspan(n);
  }
}

}  // namespace retable::quantiles

#endif

#pragma once
//! @file
//! Copies host values to the device for a sketch that reads device memory.

#if defined(RETABLE_HAS_CUDA)

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/quantiles/sums/infinities.hpp"
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

//! The finite values and NaN among n values in device memory; infinite ones are counted. A stream
//! seldom has any: the sums are then taken again, of what is left.
template <class Real>
std::vector<Real> FiniteOnHost(const Real* values, std::size_t n, void* stream,
                               Infinities& infinite) {
  std::vector<Real> host(n);
  const auto on = static_cast<cudaStream_t>(stream);
  CheckCuda(cudaMemcpyAsync(host.data(), values, n * sizeof(Real), cudaMemcpyDeviceToHost, on),
            "cudaMemcpyAsync of values");
  CheckCuda(cudaStreamSynchronize(on), "copy of values");
  std::erase_if(host, [&](Real x) { return infinite.Take(static_cast<double>(x)); });
  return host;
}

}  // namespace retable::quantiles

#endif

//! @file
//! k of n on the GPU, with the counting and scan of the bijective shuffle.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/bijective/kernels.cuh"
#include "algorithms/shuffle/selection/cuda_sample.hpp"

namespace retable::shuffle {
namespace {

// Tiles of evaluations among which k of n values are found.
unsigned SampleTiles(std::uint64_t domain, std::uint64_t n, std::uint64_t k) {
  const double found = static_cast<double>(n) / static_cast<double>(domain);
  const double wanted = (static_cast<double>(k) + 16 * std::sqrt(static_cast<double>(k))) / found;
  const std::uint64_t evaluations =
      std::min(domain, static_cast<std::uint64_t>(wanted) + kBijectTile);
  return static_cast<unsigned>((evaluations + kBijectTile - 1) / kBijectTile);
}

void Check(std::uint64_t n, std::uint64_t k) {
  if (k > n) {
    throw std::invalid_argument("cannot take " + std::to_string(k) + " of " + std::to_string(n) +
                                " items without replacement");
  }
  if (n > std::uint64_t{1} << 32) {
    throw std::invalid_argument("samples on a GPU are of up to 2^32 items, not " +
                                std::to_string(n));
  }
}

}  // namespace

void DeviceSample::Prepare(std::uint64_t n, std::uint64_t k) {
  Check(n, k);
  counts_.Reserve(SampleTiles(MakeWhitenedPhilox(n, 0).size(), n, k));
}

template <class Index>
void DeviceSample::Enqueue(Index* out, std::uint64_t n, std::uint64_t k, std::uint64_t seed,
                           cudaStream_t stream) {
  Check(n, k);
  if (k == 0) return;
  const WhitenedPhilox f = MakeWhitenedPhilox(n, seed);
  const unsigned tiles = SampleTiles(f.size(), n, k);
  std::uint32_t* counts = counts_.Reserve(tiles);
  CountValid<<<tiles, kBijectThreads, 0, stream>>>(f, n, f.size(), counts);
  CheckCuda(cudaGetLastError(), "CountValid");
  ScanCounts<<<1, 1024, 0, stream>>>(counts, tiles);
  CheckCuda(cudaGetLastError(), "ScanCounts");
  WriteValid<<<tiles, kBijectThreads, 0, stream>>>(f, out, n, k,
                                                   static_cast<const std::uint32_t*>(counts));
  CheckCuda(cudaGetLastError(), "WriteValid");
}

template void DeviceSample::Enqueue(std::uint32_t*, std::uint64_t, std::uint64_t, std::uint64_t,
                                    cudaStream_t);
template void DeviceSample::Enqueue(std::uint64_t*, std::uint64_t, std::uint64_t, std::uint64_t,
                                    cudaStream_t);

}  // namespace retable::shuffle

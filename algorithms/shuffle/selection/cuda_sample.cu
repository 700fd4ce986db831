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

template <class F, class Index>
__global__ void __launch_bounds__(kBijectThreads)
    WriteSample(const F f, Index* out, std::uint64_t n, std::uint64_t k,
                const std::uint32_t* __restrict__ starts) {
  __shared__ std::uint32_t warps[kBijectThreads / 32];
  std::uint32_t source[kBijectEach], valid[kBijectEach], total;
  const std::uint32_t count = EvaluateRows<kBijectEach>(f, blockIdx.x, n, f.size(), source, valid);
  std::uint64_t place = starts[blockIdx.x] + WarpsBefore(count, warps, total);
  // The last tile ends before the k-th value: an error, once in 10^57 samples.
  if (blockIdx.x + 1 == gridDim.x && std::uint64_t{starts[blockIdx.x]} + total < k) __trap();
  const std::uint32_t lane = threadIdx.x & 31, below = (1u << lane) - 1;
#pragma unroll
  for (int e = 0; e < kBijectEach; ++e) {
    const std::uint64_t at = place + __popc(valid[e] & below);
    if (((valid[e] >> lane) & 1) != 0 && at < k) out[at] = source[e];
    place += __popc(valid[e]);
  }
}

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
  WriteSample<<<tiles, kBijectThreads, 0, stream>>>(f, out, n, k,
                                                    static_cast<const std::uint32_t*>(counts));
  CheckCuda(cudaGetLastError(), "WriteSample");
}

template void DeviceSample::Enqueue(std::uint32_t*, std::uint64_t, std::uint64_t, std::uint64_t,
                                    cudaStream_t);
template void DeviceSample::Enqueue(std::uint64_t*, std::uint64_t, std::uint64_t, std::uint64_t,
                                    cudaStream_t);

}  // namespace retable::shuffle

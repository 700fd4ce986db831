//! @file
//! Kernel sums over all pairs of a sample: a warp takes one order and 32 others, a lane keeps the
//! outcome of each. O(n^2 d^2 / 64) population counts, n^2 / 32 doubles.

#include "algorithms/shapley/discrepancy/cuda/weighted_pairs.hpp"
#include "algorithms/shapley/kernels/codes.cuh"
#include "algorithms/shapley/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shapley {
namespace {

__global__ void EncodeAll(const std::int32_t* orders, int d, bool by_ranks, std::uint64_t* code,
                          std::size_t words) {
  extern __shared__ std::uint16_t memory[];
  const std::int32_t* mine = orders + static_cast<std::size_t>(blockIdx.x) * d;
  for (int k = static_cast<int>(threadIdx.x); k < d; k += static_cast<int>(blockDim.x)) {
    memory[k] = static_cast<std::uint16_t>(mine[k]);
  }
  __syncthreads();
  EncodeOrder(memory, d, by_ranks, memory + d, code + blockIdx.x * words, words);
}

// parts[i, chunk] = w_i sum of w_j K(i, j) over the j < i of the chunk.
template <bool kRanks>
__global__ void PairSums(const std::uint64_t* code, std::size_t words, const double* value,
                         const double* weight, std::size_t n, std::size_t chunks, double* parts) {
  const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  const std::size_t i = warp / chunks, begin = warp % chunks * 32, lane = threadIdx.x % 32;
  if (i >= n) return;
  Common<kRanks> kept = 0;
  for (std::size_t j = begin; j < begin + 32 && j < i; ++j) {
    const auto whole = Compare<kRanks>(code + i * words, code + j * words, words);
    if (lane == j - begin) kept = whole;
  }
  double sum = 0;
  if (begin + lane < i) {
    if constexpr (kRanks) {
      sum = weight[begin + lane] * static_cast<double>(kept);
    } else {
      sum = weight[begin + lane] * value[kept];
    }
  }
  sum = WarpSum(sum);
  if (lane == 0) parts[warp] = weight[i] * sum;
}

}  // namespace

double WeightedPairs(const KernelTables& kernel, std::span<const std::int32_t> orders,
                     std::span<const double> weights) {
  const int d = kernel.dimension;
  if (d > kLargestDeviceDimension) {
    throw std::invalid_argument("on a CUDA device at most 12288 players: take device = \"cpu\"");
  }
  const std::size_t n = weights.size(), chunks = (n + 31) / 32;
  DeviceArray<std::int32_t> device_orders;
  DeviceArray<std::uint64_t> code;
  DeviceArray<double> value, weight, parts;
  code.Reserve(n * kernel.words + 1);
  EncodeAll<<<static_cast<unsigned>(n), 128, OrderBytes(d)>>>(
      device_orders.Upload(orders), d, kernel.by_ranks, code.data(), kernel.words);
  const auto blocks = BlocksFor(n * chunks * 32);
  const auto sums = kernel.by_ranks ? PairSums<true> : PairSums<false>;
  sums<<<blocks, kThreads>>>(code.data(), kernel.words, value.Upload(kernel.value),
                             weight.Upload(weights), n, chunks, parts.Reserve(n * chunks));
  CheckCuda(cudaGetLastError(), "the discrepancy");
  std::vector<double> host(n * chunks);
  parts.Download(host);
  double sum = 0;
  for (const double part : host) sum += part;
  return sum;
}

}  // namespace retable::shapley

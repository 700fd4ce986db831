#pragma once
//! @file
//! Orders on a CUDA device: drawn by a block as UniformOrder draws them, coded as PermutationKernel
//! codes them, compared by a warp.

#include <cstdint>

#include "algorithms/common/philox.hpp"
#include "algorithms/shapley/kernels/discordance.hpp"
#include "algorithms/shapley/kernels/permutation_kernel.hpp"
#include "base/cuda/warp_reduce.cuh"

namespace retable::shapley {

//! Two arrays of 16 bits a player fit a block's 48 KiB.
constexpr int kLargestDeviceDimension = 12288;

//! Shared memory of the functions below.
inline std::size_t OrderBytes(int d) {
  return 2 * sizeof(std::uint16_t) * static_cast<std::size_t>(d);
}

//! UniformOrder of (seed, stream, index) into `order`; `picks` is room for d numbers. All threads
//! of the block take part and may read `order` afterwards.
__device__ inline void DrawOrder(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                 int d, std::uint16_t* order, std::uint16_t* picks) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  for (int t = static_cast<int>(threadIdx.x); t < d; t += static_cast<int>(blockDim.x)) {
    const PhiloxBlock block =
        random.Block((index << 15) + static_cast<std::uint64_t>(t) / 2, stream);
    picks[t] = static_cast<std::uint16_t>(
        UniformBelow(block.half(t % 2), static_cast<std::uint64_t>(d - t)));
    order[t] = static_cast<std::uint16_t>(t);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 0; t + 1 < d; ++t) {
      const std::uint16_t last = order[d - t - 1];
      order[d - t - 1] = order[picks[t]];
      order[picks[t]] = last;
    }
  }
  __syncthreads();
}

//! Codes the order by pairs, or by ranks for Spearman. `ranks` is room for d numbers.
__device__ inline void EncodeOrder(const std::uint16_t* order, int d, bool by_ranks,
                                   std::uint16_t* ranks, std::uint64_t* code, std::size_t words) {
  for (int k = static_cast<int>(threadIdx.x); k < d; k += static_cast<int>(blockDim.x)) {
    ranks[order[k]] = static_cast<std::uint16_t>(k);
  }
  __syncthreads();
  const std::int64_t pairs = PairCount(d);
  for (std::size_t w = threadIdx.x; w < words; w += blockDim.x) {
    std::uint64_t word = 0;
    if (by_ranks) {
      const int first = static_cast<int>(2 * w);
      word = static_cast<std::uint64_t>(ranks[first]) + 1;
      if (first + 1 < d) word |= (static_cast<std::uint64_t>(ranks[first + 1]) + 1) << 32;
    } else {
      const auto from = static_cast<std::int64_t>(w) * 64;
      int i = FirstOfPair(from, d);
      int j = static_cast<int>(from - PairIndex(i, i + 1, d)) + i + 1;
      for (int bit = 0; bit < 64 && from + bit < pairs; ++bit) {
        word |= static_cast<std::uint64_t>(ranks[i] < ranks[j]) << bit;
        if (++j == d) {
          ++i;
          j = i + 1;
        }
      }
    }
    code[w] = word;
  }
}

//! The sum of a value over the warp, in every lane: lane l adds lane l + 16, then + 8, ...
template <class T>
__device__ inline T WarpSum(T x) {
  for (int width = 16; width > 0; width /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, width);
  return x;
}

__device__ inline int WarpSum(int x) {
  return static_cast<int>(WarpAdd(static_cast<std::uint32_t>(x)));
}

//! This lane's part of what two codes have in common: discordant pairs, or products of ranks.
template <bool kRanks>
__device__ inline auto Part(std::uint64_t a, std::uint64_t b) {
  if constexpr (kRanks) {
    return static_cast<long long>(SpearmanPart(a, b));
  } else {
    return __popcll(a ^ b);
  }
}

template <bool kRanks>
using Common = decltype(Part<kRanks>(0, 0));

//! The whole of it, by a warp, in every lane.
template <bool kRanks>
__device__ inline Common<kRanks> Compare(const std::uint64_t* a, const std::uint64_t* b,
                                         std::size_t words) {
  Common<kRanks> part = 0;
  for (std::size_t w = threadIdx.x % 32; w < words; w += 32) part += Part<kRanks>(a[w], b[w]);
  return WarpSum(part);
}

}  // namespace retable::shapley

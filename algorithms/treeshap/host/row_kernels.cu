#include "algorithms/treeshap/host/row_kernels.cuh"

#include <algorithm>
#include <limits>

#include "base/cuda/memory.hpp"

namespace retable::treeshap {

namespace {

constexpr std::size_t kRoundingBlocks = 16;  // blocks on a multiprocessor

__global__ void __launch_bounds__(256)
    NarrowKernel(const double* from, std::size_t count, float* to) {
  const std::size_t step = std::size_t{gridDim.x} * 256;
  for (std::size_t i = std::size_t{blockIdx.x} * 256 + threadIdx.x; i < count; i += step) {
    to[i] = static_cast<float>(__ldcs(from + i));
  }
}

__global__ void __launch_bounds__(256)
    FetchKernel(const float* host, std::size_t count, float* to) {
  const std::size_t first = std::size_t{blockIdx.x} * 256 + threadIdx.x;
  const std::size_t step = std::size_t{gridDim.x} * 256;
  for (std::size_t i = first; i < count / 4; i += step) {
    reinterpret_cast<float4*>(to)[i] = __ldcs(reinterpret_cast<const float4*>(host) + i);
  }
  const std::size_t rest = count / 4 * 4 + first;
  if (rest < count) to[rest] = host[rest];
}

__global__ void __launch_bounds__(256)
    MissingKernel(const float* values, std::size_t count, std::uint32_t* missing) {
  const std::size_t step = std::size_t{gridDim.x} * 256;
  bool found = false;
  for (std::size_t i = std::size_t{blockIdx.x} * 256 + threadIdx.x; i < count; i += step) {
    found = found || isnan(values[i]);
  }
  if (found) *missing = 1;
}

// A warp a block of results.
__global__ void __launch_bounds__(256) FinishKernel(FinishedBlocks to) {
  const std::size_t lane = threadIdx.x % 32;
  const std::size_t warps = std::size_t{gridDim.x} * 8;
  for (std::size_t b = std::size_t{blockIdx.x} * 8 + threadIdx.x / 32; b < to.blocks; b += warps) {
    double* block = to.results + b * to.block;
    for (std::size_t i = lane; to.round && i + 1 < to.block; i += 32) {
      block[i] = static_cast<double>(static_cast<float>(block[i]));
    }
    if (lane == 0) block[to.block - 1] = to.expected[b % to.outputs];
  }
}

unsigned RoundingBlocks(std::size_t wanted) {
  return static_cast<unsigned>(std::clamp<std::size_t>(
      wanted, 1, kRoundingBlocks * static_cast<std::size_t>(MultiprocessorCount())));
}

// 32 positions by 32 columns a block, by way of shared memory.
__global__ void __launch_bounds__(256)
    TransposeKernel(const float* rows, const std::uint32_t* order, std::uint32_t count,
                    std::uint32_t columns, std::uint32_t stride, float* x) {
  __shared__ float tile[32][33];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t first_position = blockIdx.x * 32;
  const std::uint32_t first_column = blockIdx.y * 32;
  for (std::uint32_t i = threadIdx.x / 32; i < 32; i += 8) {
    const std::uint32_t position = first_position + i;
    const std::uint32_t f = first_column + lane;
    float value = 0;
    if (position < count && f < columns) {
      const std::size_t row = order == nullptr ? position : order[position];
      value = rows[row * columns + f];
    }
    constexpr float limit = std::numeric_limits<float>::max();
    tile[i][lane] = value > limit ? limit : (value < -limit ? -limit : value);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x / 32; i < 32 && first_column + i < columns; i += 8) {
    x[static_cast<std::size_t>(first_column + i) * stride + first_position + lane] = tile[lane][i];
  }
}

}  // namespace

void RoundResults(const double* from, std::size_t count, float* to, cudaStream_t stream) {
  NarrowKernel<<<RoundingBlocks((count + 1023) / 1024), 256, 0, stream>>>(from, count, to);
  CheckCuda(cudaGetLastError(), "rounding results");
}

void FetchRows(const float* host, std::size_t count, float* to, cudaStream_t stream) {
  FetchKernel<<<RoundingBlocks((count + 1023) / 1024), 256, 0, stream>>>(host, count, to);
  CheckCuda(cudaGetLastError(), "fetching rows");
}

void FindMissing(const float* values, std::size_t count, std::uint32_t* missing,
                 cudaStream_t stream) {
  MissingKernel<<<RoundingBlocks((count + 1023) / 1024), 256, 0, stream>>>(values, count, missing);
  CheckCuda(cudaGetLastError(), "looking for missing values");
}

void FinishResults(const FinishedBlocks& to, cudaStream_t stream) {
  if (to.blocks == 0) return;
  FinishKernel<<<RoundingBlocks((to.blocks + 7) / 8), 256, 0, stream>>>(to);
  CheckCuda(cudaGetLastError(), "finishing results");
}

void TransposeRows(const float* rows, const std::uint32_t* order, std::uint32_t count,
                   std::uint32_t columns, std::uint32_t stride, float* x, cudaStream_t stream) {
  const dim3 grid(stride / 32, (columns + 31) / 32);
  TransposeKernel<<<grid, 256, 0, stream>>>(rows, order, count, columns, stride, x);
  CheckCuda(cudaGetLastError(), "transposing rows");
}

}  // namespace retable::treeshap

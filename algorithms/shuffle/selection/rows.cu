//! @file
//! Rows in random order on the GPU.

#include <stdexcept>

#include "algorithms/shuffle/selection/rows.hpp"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

// 2^log_lanes threads move a row of `words` words.
template <class Word, class Index>
__global__ void __launch_bounds__(kRowThreads)
    GatherRows(const Index* __restrict__ index, const Word* __restrict__ in, Word* __restrict__ out,
               std::uint64_t count, std::uint64_t words, int log_lanes) {
  const std::uint64_t row = (blockIdx.x * std::uint64_t{kRowThreads} + threadIdx.x) >> log_lanes;
  if (row >= count) return;
  const unsigned lanes = 1u << log_lanes;
  const Word* from = in + index[row] * words;
  Word* to = out + row * words;
#pragma unroll 4
  for (std::uint64_t w = threadIdx.x & (lanes - 1); w < words; w += lanes) to[w] = from[w];
}

template <class Word>
void Gather(const std::uint64_t* index, const void* in, void* out, std::uint64_t count,
            std::size_t row_bytes, cudaStream_t stream) {
  const std::uint64_t words = row_bytes / sizeof(Word);
  int log_lanes = 0;
  while (log_lanes < 5 && (std::uint64_t{1} << log_lanes) < words) ++log_lanes;
  const std::uint64_t blocks = ((count << log_lanes) + kRowThreads - 1) / kRowThreads;
  GatherRows<<<static_cast<unsigned>(blocks), kRowThreads, 0, stream>>>(
      index, static_cast<const Word*>(in), static_cast<Word*>(out), count, words, log_lanes);
  CheckCuda(cudaGetLastError(), "GatherRows");
}

}  // namespace

void EnqueueRowGather(const std::uint64_t* index, const void* in, void* out, std::uint64_t count,
                      std::size_t row_bytes, cudaStream_t stream) {
  if (row_bytes == 0) throw std::invalid_argument("row_bytes is 0: give the size of one row");
  if (count == 0) return;
  const std::uint64_t together =
      reinterpret_cast<std::uint64_t>(in) | reinterpret_cast<std::uint64_t>(out) | row_bytes;
  const auto gather = together % 16 == 0  ? Gather<uint4>
                      : together % 8 == 0 ? Gather<uint2>
                      : together % 4 == 0 ? Gather<std::uint32_t>
                                          : Gather<std::uint8_t>;
  gather(index, in, out, count, row_bytes, stream);
}

}  // namespace retable::shuffle

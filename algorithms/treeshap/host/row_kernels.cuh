#pragma once
//! @file
//! What every method does with the rows and the results of a batch on the device.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace retable::treeshap {

//! x[column][place] = rows[order[place]][column], infinities clamped, 0 beyond `count`; order: null
//! for the rows' own. `stride`: a multiple of 32.
void TransposeRows(const float* rows, const std::uint32_t* order, std::uint32_t count,
                   std::uint32_t columns, std::uint32_t stride, float* x, cudaStream_t stream);

//! Sets *missing to 1 if a value is NaN.
void FindMissing(const float* values, std::size_t count, std::uint32_t* missing,
                 cudaStream_t stream);

//! Blocks of results, the last number of each an output's expected value, which this writes.
//! `round`: the others are rounded to float, as results are that travel so.
struct FinishedBlocks {
  double* results = nullptr;         //!< rows x outputs x block
  std::size_t blocks = 0;            //!< rows x outputs
  std::size_t block = 0;             //!< numbers of a block
  const double* expected = nullptr;  //!< one an output
  std::size_t outputs = 0;
  bool round = false;
};
void FinishResults(const FinishedBlocks& to, cudaStream_t stream);

//! Copies `count` values from the host's locked memory; both begin at a multiple of 16 bytes.
void FetchRows(const float* host, std::size_t count, float* to, cudaStream_t stream);

//! Rounds results to float on the stream.
void RoundResults(const double* from, std::size_t count, float* to, cudaStream_t stream);

}  // namespace retable::treeshap

//! @file
//! Sums of many columns on a CUDA device: a block per tile of a column, then a warp per column that
//! adds the sums of its tiles on their joint bounds.

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstring>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
namespace {

constexpr int kColumnWarps = kColumnThreads / 32;

//! What a block must know of its tile before it sums.
struct TileBounds {
  double min;
  double max;
  double count;
  int digits;
};

__device__ __forceinline__ void Join(TileBounds& a, const TileBounds& b) {
  a.min = b.min < a.min ? b.min : a.min;
  a.max = b.max > a.max ? b.max : a.max;
  a.count += b.count;
  a.digits = b.digits > a.digits ? b.digits : a.digits;
}

//! The block's bounds, in all threads. `shared` has one entry per warp.
__device__ __forceinline__ TileBounds JoinBounds(TileBounds mine, TileBounds* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    Join(mine,
         {__shfl_xor_sync(kFull, mine.min, step), __shfl_xor_sync(kFull, mine.max, step),
          __shfl_xor_sync(kFull, mine.count, step), __shfl_xor_sync(kFull, mine.digits, step)});
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
  __syncthreads();
  TileBounds all = shared[0];
  for (int w = 1; w < kColumnWarps; ++w) Join(all, shared[w]);
  return all;
}

//! Bounds, count and decimal digits of this thread's values of a tile: of x, or of log x.
template <class Real, bool kLog>
__device__ __forceinline__ TileBounds FindTileBounds(const Real* values, std::size_t n) {
  TileBounds mine{Infinity<double>(), -Infinity<double>(), 0, 0};
  for (std::size_t i = threadIdx.x; i < n; i += kColumnThreads) {
    const double value = static_cast<double>(values[i]);
    if (!(value == value)) continue;
    mine.count += 1;
    if constexpr (!kLog) {
      while (mine.digits <= kMaxDigits && !IsOnLattice(value, mine.digits, kRounding<Real>)) {
        ++mine.digits;
      }
    }
    const double x = kLog ? log(value) : value;  // not finite unless value > 0
    mine.min = x < mine.min ? x : mine.min;
    mine.max = x > mine.max ? x : mine.max;
    if (kLog && !(value > 0)) mine.min = -Infinity<double>();
  }
  return mine;
}

//! Sums of each warp over a tile, and its counts of values on the bounds, into shared memory.
template <class Real, bool kLog>
__device__ __forceinline__ void SumTile(const Real* values, std::size_t n, const TileBounds& all,
                                        const ChebyshevMap& map, double scale, double (*slots)[16],
                                        double (*ends)[2]) {
  double slot[16] = {0};
  double at_min = 0;
  double at_max = 0;
  for (std::size_t i = threadIdx.x; i < n; i += kColumnThreads) {
    const double value = static_cast<double>(values[i]);
    if (!(value == value)) continue;
    const double x = kLog ? log(value) : value;
    at_min += x == all.min ? 1 : 0;
    at_max += x == all.max ? 1 : 0;
    AddChebyshevTerms<kMaxOrder, double>((x - map.centre) * scale, slot);
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const double sum = SumSlots(slot);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    at_min += __shfl_xor_sync(kFull, at_min, step);
    at_max += __shfl_xor_sync(kFull, at_max, step);
  }
  if (lane % 2 == 0) slots[warp][lane / 2] = sum;
  if (lane == 0) {
    ends[warp][0] = at_min;
    ends[warp][1] = at_max;
  }
  __syncthreads();
}

//! Sums of one tile on its own bounds: of x, or of log x (none unless every x > 0).
template <class Real, bool kLog>
__global__ void __launch_bounds__(kColumnThreads)
    TileKernel(DeviceColumns<Real> columns, std::size_t tile, int tiles, int order,
               ChebyshevSums* out, int* digits) {
  __shared__ TileBounds bounds[kColumnWarps];
  __shared__ double slots[kColumnWarps][16];
  __shared__ double ends[kColumnWarps][2];
  const std::size_t column = blockIdx.x / static_cast<unsigned>(tiles);
  const std::size_t first = blockIdx.x % static_cast<unsigned>(tiles) * tile;
  const std::size_t left = columns.rows - first;
  const Real* values = columns.data + column * columns.stride + first;
  const std::size_t n = left < tile ? left : tile;

  const TileBounds all = JoinBounds(FindTileBounds<Real, kLog>(values, n), bounds);
  const bool finite = all.min > -Infinity<double>() && all.max < Infinity<double>();
  ChebyshevMap map;
  if (finite && all.count > 0) map = ChebyshevMap::Of(all.min, all.max);
  double scale = map.half > 0 ? 2 / map.half : 0;
  if (!(scale < Infinity<double>())) {
    scale = 0;
    map.half = 0;
  }

  SumTile<Real, kLog>(values, n, all, map, scale, slots, ends);
  if (threadIdx.x != 0) return;
  ChebyshevSums state;
  for (int w = 0; w < kColumnWarps; ++w) {
    for (int k = 1; k <= order; ++k) state.sum[k] += slots[w][k];
    state.at_min += ends[w][0];
    state.at_max += ends[w][1];
  }
  RecoverSums(state.sum, order);
  state.sum[0] = kLog && !finite ? 0 : all.count;
  state.map = map;
  state.min = all.min;
  state.max = all.max;
  out[blockIdx.x] = state;
  if constexpr (!kLog) digits[blockIdx.x] = all.digits;
}

//! What the host fetches of a column, or of its logarithms, which have no digits.
struct ColumnAnswer {
  ChebyshevSums sums;
  int digits;
};

//! One warp joins the tiles of a column.
__global__ void __launch_bounds__(kColumnThreads)
    JoinTilesKernel(const ChebyshevSums* tiles, const int* digits, int tiles_per_column,
                    std::size_t columns, int order, ColumnAnswer* out) {
  const std::size_t column = std::size_t{blockIdx.x} * kColumnWarps + threadIdx.x / 32;
  if (column >= columns) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t first = column * static_cast<std::size_t>(tiles_per_column);
  const ChebyshevSums* const own = tiles + first;
  double low, high;
  JoinBoundsOf(own, lane, 32, tiles_per_column, low, high);
  Store(AddStates(own, lane, 32, tiles_per_column, low, high, order), &out[column].sums, order);
  if (digits == nullptr || lane != 0) return;
  int most = 0;
  for (int t = 0; t < tiles_per_column; ++t) most = max(most, digits[first + t]);
  out[column].digits = most;
}

//! Maximum over all values of the decimal digits, and of the magnitude as ordered bits.
template <class Real>
__global__ void __launch_bounds__(kColumnThreads)
    DigitsKernel(const Real* values, std::size_t n, int* digits, unsigned long long* magnitude) {
  const std::size_t stride = std::size_t{gridDim.x} * kColumnThreads;
  int most = 0;
  double largest = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * kColumnThreads + threadIdx.x; i < n; i += stride) {
    const double x = static_cast<double>(values[i]);
    if (!(x == x)) continue;
    while (most <= kMaxDigits && !IsOnLattice(x, most, kRounding<Real>)) {
      ++most;
    }
    largest = fabs(x) > largest ? fabs(x) : largest;
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const int other = __shfl_xor_sync(kFull, most, step);
    const double other_largest = __shfl_xor_sync(kFull, largest, step);
    most = other > most ? other : most;
    largest = other_largest > largest ? other_largest : largest;
  }
  if (threadIdx.x % 32 != 0) return;
  atomicMax(digits, most);
  atomicMax(magnitude, static_cast<unsigned long long>(__double_as_longlong(largest)));
}

struct FoundDigits {
  unsigned long long magnitude;
  int digits;
};

//! Decimal digits of n values.
template <class Real>
int RunDigits(const Real* values, std::size_t n, const DeviceArray<FoundDigits>& found,
              cudaStream_t stream) {
  CheckCuda(cudaMemsetAsync(found.data(), 0, sizeof(FoundDigits), stream), "cudaMemset");
  const std::size_t useful = (n + kColumnThreads - 1) / kColumnThreads;
  const std::size_t most =
      kDigitsBlocksPerMultiprocessor * static_cast<std::size_t>(MultiprocessorCount());
  const auto blocks = static_cast<unsigned>(useful < most ? useful : most);
  DigitsKernel<<<blocks, kColumnThreads, 0, stream>>>(values, n, &found.data()->digits,
                                                      &found.data()->magnitude);
  FoundDigits host;
  CheckCuda(cudaMemcpyAsync(&host, found.data(), sizeof host, cudaMemcpyDeviceToHost, stream),
            "copy of digits");
  CheckCuda(cudaStreamSynchronize(stream), "digits kernel");
  double magnitude;
  std::memcpy(&magnitude, &host.magnitude, sizeof magnitude);
  const bool lattice =
      host.digits <= kMaxDigits && LatticeIsFiner(magnitude, host.digits, kRounding<Real>);
  return lattice ? host.digits : kNoLattice;
}

std::size_t TileLength(std::size_t rows) {
  const std::size_t even = (rows + kMaxColumnTiles - 1) / kMaxColumnTiles;
  const std::size_t blocks = (even + kMinColumnTile - 1) / kMinColumnTile;
  return (blocks > 0 ? blocks : 1) * kMinColumnTile;
}

std::size_t TileCount(std::size_t rows) {
  return rows == 0 ? 1 : (rows + TileLength(rows) - 1) / TileLength(rows);
}

}  // namespace

struct ColumnsCuda::Memory {
  DeviceArray<ChebyshevSums> tiles;
  DeviceArray<int> digits;
  DeviceArray<ColumnAnswer> answers;  //!< Of all columns, then of all logarithms.
  PinnedArray<ColumnAnswer> fetched;
  DeviceArray<FoundDigits> found{1};
  double rounding = 0;
};

ColumnsCuda::ColumnsCuda(int order, bool logs)
    : order_(CheckOrder(order)), logs_(logs), memory_(std::make_unique<Memory>()) {}
ColumnsCuda::~ColumnsCuda() = default;
ColumnsCuda::ColumnsCuda(ColumnsCuda&&) noexcept = default;
ColumnsCuda& ColumnsCuda::operator=(ColumnsCuda&&) noexcept = default;

template <class Real>
void ColumnsCuda::Launch(const DeviceColumns<Real>& columns, void* stream) {
  if (columns.columns == 0) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const std::size_t tile = TileLength(columns.rows);
  const std::size_t tiles = TileCount(columns.rows);
  const std::size_t variables = logs_ ? 2 : 1;  // x, log x
  Memory& memory = *memory_;
  memory.tiles.Reserve(tiles * columns.columns * variables);
  memory.digits.Reserve(tiles * columns.columns);
  memory.answers.Reserve(columns.columns * variables);
  memory.fetched.Reserve(columns.columns * variables);
  memory.rounding = kRounding<Real>;
  const auto blocks = static_cast<unsigned>(tiles * columns.columns);
  const auto join_blocks =
      static_cast<unsigned>((columns.columns + kColumnWarps - 1) / kColumnWarps);
  const int count = static_cast<int>(tiles);
  TileKernel<Real, false><<<blocks, kColumnThreads, 0, cuda_stream>>>(
      columns, tile, count, order_, memory.tiles.data(), memory.digits.data());
  JoinTilesKernel<<<join_blocks, kColumnThreads, 0, cuda_stream>>>(
      memory.tiles.data(), memory.digits.data(), count, columns.columns, order_,
      memory.answers.data());
  if (logs_) {
    ChebyshevSums* const log_tiles = memory.tiles.data() + blocks;
    TileKernel<Real, true><<<blocks, kColumnThreads, 0, cuda_stream>>>(columns, tile, count, order_,
                                                                       log_tiles, nullptr);
    JoinTilesKernel<<<join_blocks, kColumnThreads, 0, cuda_stream>>>(
        log_tiles, nullptr, count, columns.columns, order_,
        memory.answers.data() + columns.columns);
  }
  CheckCuda(cudaGetLastError(), "column kernels");
}

std::vector<ColumnSums> ColumnsCuda::Fetch(std::size_t columns, void* stream) {
  if (columns == 0) return {};
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const ColumnAnswer* const found = memory_->fetched.data();
  CheckCuda(cudaMemcpyAsync(memory_->fetched.data(), memory_->answers.data(),
                            columns * (logs_ ? 2 : 1) * sizeof(ColumnAnswer),
                            cudaMemcpyDeviceToHost, cuda_stream),
            "copy of column sums");
  CheckCuda(cudaStreamSynchronize(cuda_stream), "column kernels");
  std::vector<ColumnSums> out(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    if (found[c].sums.sum[0] > 0) out[c].sums = found[c].sums;
    const ChebyshevSums& sums = out[c].sums;
    if (logs_ && found[columns + c].sums.sum[0] == sums.sum[0]) {
      out[c].log_sums = found[columns + c].sums;
    }
    const int digits = found[c].digits;
    const double magnitude = std::fmax(std::fabs(sums.min), std::fabs(sums.max));
    const bool lattice = digits <= kMaxDigits &&
                         (sums.sum[0] == 0 || LatticeIsFiner(magnitude, digits, memory_->rounding));
    out[c].digits = lattice ? digits : kNoLattice;
  }
  return out;
}

std::vector<ColumnSums> ColumnsCuda::Sum(const DeviceColumns<float>& columns, void* stream) {
  Launch(columns, stream);
  return Fetch(columns.columns, stream);
}
std::vector<ColumnSums> ColumnsCuda::Sum(const DeviceColumns<double>& columns, void* stream) {
  Launch(columns, stream);
  return Fetch(columns.columns, stream);
}

template <class Real>
int ColumnsCuda::RunPrefixFirst(const Real* values, std::size_t n, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (n == 0) return 0;
  const std::size_t prefix = n < kDigitsPrefix ? n : kDigitsPrefix;
  const int first = RunDigits(values, prefix, memory_->found, cuda_stream);
  return n == prefix || first == kNoLattice ? first
                                            : RunDigits(values, n, memory_->found, cuda_stream);
}
int ColumnsCuda::Digits(const float* values, std::size_t n, void* stream) {
  return RunPrefixFirst(values, n, stream);
}
int ColumnsCuda::Digits(const double* values, std::size_t n, void* stream) {
  return RunPrefixFirst(values, n, stream);
}

}  // namespace retable::quantiles

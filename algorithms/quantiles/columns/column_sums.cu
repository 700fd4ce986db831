//! @file
//! Sums of many columns on a CUDA device: a block per tile of a column; the last block of a column
//! joins its tiles.
//!
//! A tile is kept in shared memory: its bounds are found first, then its sums on them.

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/cuda/answers.hpp"
#include "algorithms/quantiles/cuda/join_states.cuh"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/lattice/digits_by_warp.cuh"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
namespace {

constexpr int kColumnWarps = kColumnThreads / 32;
constexpr int kTileValues = kColumnTile / kColumnThreads;  // of a thread

//! What the host fetches of a column, or of its logarithms, which have no digits.
struct ColumnAnswer {
  ChebyshevSums sums;
  int digits;
};

//! What a block must know of its tile before it sums.
struct TileBounds {
  double min;
  double max;
  int digits;
};

//! Shared memory of a block. Of log x: float64 for either input type.
template <class Value>
struct TileSpace {
  union {
    Value values[kColumnTile];
    JoinSpace<kColumnThreads> join;
  };
  TermSpace<kColumnThreads> terms;
  double bounds[kColumnWarps][2];
  int digits[kColumnWarps];
};

//! Copies the block's tile to shared memory: a thread reads its own values again. NaN: missing.
template <class Real, bool kLog, class Value>
__device__ __forceinline__ void LoadTile(const Real* values, int n, Value* tile) {
  const int thread = static_cast<int>(threadIdx.x);
  Real x[kTileValues];
#pragma unroll
  for (int i = 0; i < kTileValues; ++i) {
    const int at = i * kColumnThreads + thread;
    x[i] = at < n ? values[at] : NotANumber<Real>();
  }
#pragma unroll
  for (int i = 0; i < kTileValues; ++i) {
    tile[i * kColumnThreads + thread] = static_cast<Value>(x[i]);
  }
  if constexpr (kLog) {
#pragma unroll 1
    for (int i = thread; i < kColumnTile; i += kColumnThreads) {
      tile[i] = tile[i] <= 0 ? -Infinity<double>() : log(tile[i]);
    }
  }
}

//! The block's bounds, in all threads.
template <class Real, bool kLog, class Value>
__device__ __forceinline__ TileBounds FindTileBounds(const Value* tile, TileSpace<Value>& space) {
  const int thread = static_cast<int>(threadIdx.x);
  Value low = Infinity<Value>();
  Value high = -Infinity<Value>();
#pragma unroll
  for (int i = 0; i < kTileValues; ++i) {
    const Value x = tile[i * kColumnThreads + thread];
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  const int digits = kLog ? 0 : DigitsByWarp<Real>(tile + thread, kTileValues, kColumnThreads);
  if (thread % 32 == 0) space.digits[thread / 32] = digits;
  TileBounds all{static_cast<double>(low), static_cast<double>(high), 0};
  JoinBoundsOfBlock<kColumnThreads>(space.bounds, all.min, all.max);
#pragma unroll
  for (int w = 0; w < kColumnWarps; ++w) all.digits = max(all.digits, space.digits[w]);
  return all;
}

//! Sums a tile on its bounds into `out`. `valid` is false for logarithms that are not all finite.
template <class Value>
__device__ __forceinline__ void SumTile(const TileBounds& all, bool valid, int order,
                                        TileSpace<Value>& space, ChebyshevSums* out) {
  ChebyshevMap map;
  if (all.min > -Infinity<double>() && all.max < Infinity<double>()) {
    map = JointMap(all.min, all.max);
  }
  const double scale = map.half > 0 ? 2 / map.half : 0;
  double slot[16] = {0};
  int count = 0;
  int at_min = 0;
  int at_max = 0;
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < kColumnTile; i += kColumnThreads) {
    const double x = static_cast<double>(space.values[i]);
    if (!(x == x)) continue;
    ++count;
    at_min += x == all.min ? 1 : 0;
    at_max += x == all.max ? 1 : 0;
    AddChebyshevTerms<kMaxOrder, double>((x - map.centre) * scale, slot);
  }
  slot[0] = valid ? count : 0;
  StoreTerms<kColumnThreads>(slot, at_min, at_max, order, map, all.min, all.max, space.terms, out);
}

//! Sums of one tile on its own bounds: of x, or of log x (none unless every x > 0). The last block
//! of a column writes its answer.
template <class Real, bool kLog>
__global__ void __launch_bounds__(kColumnThreads, kColumnBlocksPerMultiprocessor)
    TileKernel(DeviceColumns<Real> columns, unsigned tiles, int order, ChebyshevSums* states,
               unsigned* progress, ColumnAnswer* answers) {
  using Value = std::conditional_t<kLog, double, Real>;
  __shared__ TileSpace<Value> space;
  const std::size_t column = blockIdx.x / tiles;
  const std::size_t first = std::size_t{blockIdx.x % tiles} * kColumnTile;
  const std::size_t left = columns.rows - first;
  const int n = left < kColumnTile ? static_cast<int>(left) : kColumnTile;
  LoadTile<Real, kLog>(columns.data + column * columns.stride + first, n, space.values);
  const TileBounds all = FindTileBounds<Real, kLog>(space.values, space);
  const bool valid = !kLog || (all.min > -Infinity<double>() && all.max < Infinity<double>());
  ColumnAnswer& answer = answers[column];
  SumTile(all, valid, order, space, tiles > 1 ? states + blockIdx.x : &answer.sums);
  if (tiles == 1) {
    if (threadIdx.x == 0) answer.digits = all.digits;
    return;
  }
  // The most digits of a tile, then the counters of joined tiles.
  unsigned* const own = progress + column * (1 + JoinCounters(tiles));
  if (threadIdx.x == 0) atomicMax(own, static_cast<unsigned>(all.digits));
  if (!JoinBlocks(states + column * tiles, blockIdx.x % tiles, tiles, order, own + 1, space.join,
                  &answer.sums)) {
    return;
  }
  if (threadIdx.x == 0) answer.digits = static_cast<int>(atomicExch(own, 0u));
}

//! Maximum over all values of the decimal digits, and of the magnitude as ordered bits: of no use
//! where a value is no decimal.
template <class Real>
__global__ void __launch_bounds__(kColumnThreads)
    DigitsKernel(const Real* values, std::size_t n, int* digits, unsigned long long* magnitude) {
  const std::size_t stride = std::size_t{gridDim.x} * kColumnThreads;
  int most = 0;
  double largest = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * kColumnThreads + threadIdx.x;
       i < n && most <= kMaxDigits; i += stride) {
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

}  // namespace

struct ColumnsCuda::Memory {
  DeviceArray<ChebyshevSums> tiles;
  DeviceArray<unsigned> progress;  //!< Zeros, between launches.
  Answers<ColumnAnswer> answers;   //!< Of all columns, then of all logarithms.
  DeviceArray<FoundDigits> found{1};
};

ColumnsCuda::ColumnsCuda(int order, bool logs)
    : order_(CheckOrder(order)), logs_(logs), memory_(std::make_unique<Memory>()) {}
ColumnsCuda::~ColumnsCuda() = default;

template <class Real>
std::vector<ColumnSums> ColumnsCuda::Sum(const DeviceColumns<Real>& columns, void* stream) {
  if (columns.columns == 0) return {};
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const std::size_t tiles = columns.rows == 0 ? 1 : (columns.rows - 1) / kColumnTile + 1;
  Memory& memory = *memory_;
  memory.tiles.Reserve(tiles * columns.columns);
  ColumnAnswer* const answers = memory.answers.Reserve(columns.columns * (logs_ ? 2 : 1));
  const auto count = static_cast<unsigned>(tiles);
  const std::size_t counters = columns.columns * (1 + JoinCounters(count));
  if (memory.progress.size() < counters) {
    memory.progress.Reserve(counters);
    CheckCuda(cudaMemsetAsync(memory.progress.data(), 0, counters * sizeof(unsigned), cuda_stream),
              "clearing the columns' progress");
  }
  const auto blocks = static_cast<unsigned>(tiles * columns.columns);
  TileKernel<Real, false><<<blocks, kColumnThreads, 0, cuda_stream>>>(
      columns, count, order_, memory.tiles.data(), memory.progress.data(), answers);
  if (logs_) {
    TileKernel<Real, true><<<blocks, kColumnThreads, 0, cuda_stream>>>(
        columns, count, order_, memory.tiles.data(), memory.progress.data(),
        answers + columns.columns);
  }
  CheckCuda(cudaGetLastError(), "column kernels");
  const ColumnAnswer* const found = memory.answers.Fetch(stream);
  std::vector<ColumnSums> out(columns.columns);
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (found[c].sums.sum[0] > 0) out[c].sums = found[c].sums;
    const ChebyshevSums& sums = out[c].sums;
    if (logs_ && found[out.size() + c].sums.sum[0] == sums.sum[0]) {
      out[c].log_sums = found[out.size() + c].sums;
    }
    const double magnitude = std::fmax(std::fabs(sums.min), std::fabs(sums.max));
    out[c].digits = LatticeDigits(found[c].digits, magnitude, kRounding<Real>);
  }
  return out;
}

template <class Real>
int ColumnsCuda::Digits(const Real* values, std::size_t n, void* stream) {
  if (n == 0) return 0;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  FoundDigits* const found = memory_->found.data();
  CheckCuda(cudaMemsetAsync(found, 0, sizeof(FoundDigits), cuda_stream), "cudaMemset");
  const std::size_t useful = (n + kColumnThreads - 1) / kColumnThreads;
  const std::size_t most =
      kDigitsBlocksPerMultiprocessor * static_cast<std::size_t>(MultiprocessorCount());
  const auto blocks = static_cast<unsigned>(useful < most ? useful : most);
  DigitsKernel<<<blocks, kColumnThreads, 0, cuda_stream>>>(values, n, &found->digits,
                                                           &found->magnitude);
  FoundDigits host;
  CheckCuda(cudaMemcpyAsync(&host, found, sizeof host, cudaMemcpyDeviceToHost, cuda_stream),
            "copy of digits");
  CheckCuda(cudaStreamSynchronize(cuda_stream), "digits kernel");
  double magnitude;
  std::memcpy(&magnitude, &host.magnitude, sizeof magnitude);
  return LatticeDigits(host.digits, magnitude, kRounding<Real>);
}

template std::vector<ColumnSums> ColumnsCuda::Sum(const DeviceColumns<float>&, void*);
template std::vector<ColumnSums> ColumnsCuda::Sum(const DeviceColumns<double>&, void*);
template int ColumnsCuda::Digits(const float*, std::size_t, void*);
template int ColumnsCuda::Digits(const double*, std::size_t, void*);

}  // namespace retable::quantiles

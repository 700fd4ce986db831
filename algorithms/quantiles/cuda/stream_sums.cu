//! @file
//! Chebyshev sums on a CUDA device (chebyshev_sums.hpp has the mathematics).
//!
//! Problem: one pass over device memory at its bandwidth, bounds unknown. Approach: each warp sums
//! tiles on bounds of its own (warp_accumulator.cuh; float32_sums.cuh for float32 input), which
//! stream through a ring in shared memory; a block joins its warps, the last block all blocks.
//! Streams of few evenly spaced values are counted instead (lattice/histogram.cuh), short ones
//! summed as a column (columns/column_sums.cu).
//!
//! Deterministic, on every device: the grid depends on the number of values alone, and all joins
//! have a fixed order. Memory: one state a block.

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/cuda/answers.hpp"
#include "algorithms/quantiles/cuda/float32_sums.cuh"
#include "algorithms/quantiles/cuda/join_states.cuh"
#include "algorithms/quantiles/cuda/stream_sums.hpp"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_accumulator.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/lattice/histogram.cuh"
#include "algorithms/quantiles/lattice/histogram_sums.cuh"
#include "algorithms/quantiles/lattice/sample.cuh"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
namespace {

template <class Real, int kSlots>
constexpr std::size_t kRingBytes = sizeof(Real) * kStreamWarps* kSlots * 32 * kLaneValues<Real>;
//! The rings of all warps and, for float64 input, a WarpState per thread; later a JoinSpace.
template <class Real, int kSlots>
constexpr std::size_t kSharedBytes = std::max(
    kRingBytes<Real, kSlots> + (sizeof(Real) == 8 ? kStreamThreads * sizeof(WarpState) : 0),
    sizeof(JoinSpace<kStreamThreads>));

enum class Outcome { kSummed, kCounted, kMissed };
//! What the host fetches.
struct Answer {
  ChebyshevSums sums;
  int digits;  //!< Decimal digits of all values, if they were counted, else of the sample's.
  Outcome outcome;
};
//! What the blocks of a stream's kernel share.
struct StreamState {
  ChebyshevSums* blocks;
  unsigned* done;  //!< JoinCounters zeros.
  const double* samples;
  LatticeHistogram* histogram;
  bool count;  //!< Whether values may be counted.
  Answer* answer;
};

//! Fills a tile with values before and behind all tiles, from the one of index `first` on, and with
//! missing values. A lane writes what it reads.
template <class Real>
__device__ __noinline__ void FillTile(const Real* values, std::size_t n, int first, Real* tile) {
  constexpr int kTile = 32 * kLaneValues<Real>;
  constexpr int kWide = kWideValues<Real>;
  const std::size_t head = ValuesBeforeAligned(values, n);
  const std::size_t tiles = (n - head) / kTile * kTile;
#pragma unroll 8
  for (int i = 0; i < kLaneValues<Real>; ++i) {
    const int to = i / kWide * 32 * kWide + static_cast<int>(threadIdx.x) % 32 * kWide + i % kWide;
    const auto at = static_cast<std::size_t>(first + to);
    const std::size_t from = at < head ? at : at + tiles;
    tile[to] = from < n ? __ldg(values + from) : NotANumber<Real>();
  }
}

//! The tiles of a warp, copied through its ring in shared memory. The last warp has the values
//! before and behind all tiles too.
template <int kSlots, class Real>
class TileRing {
 public:
  static constexpr int kTile = 32 * kLaneValues<Real>;

  //! Begins to copy.
  __device__ __forceinline__ TileRing(const Real* values, std::size_t n, float4* memory)
      : values_(values),
        n_(n),
        ring_(reinterpret_cast<Real*>(memory) + threadIdx.x / 32 * kSlots * kTile) {
    const std::size_t warp = std::size_t{blockIdx.x} * kStreamWarps + threadIdx.x / 32;
    const std::size_t head = ValuesBeforeAligned(values, n);
    const std::size_t tiles = (n - head) / kTile;
    full_ = tiles > warp ? static_cast<int>((tiles - warp + Warps() - 1) / Warps()) : 0;
    rest_ = warp == Warps() - 1 ? static_cast<int>(n - tiles * kTile) : 0;
    from_ = values + head + warp * kTile + LaneOffset();
#pragma unroll
    for (int slot = 0; slot < kSlots - 1; ++slot) Fetch(slot, slot);
  }

  //! Calls `add_tile` for each tile.
  template <class AddTile>
  __device__ __forceinline__ void ForEach(const AddTile& add_tile) {
    int slot = 0;
#pragma unroll 1
    for (int t = 0; t < full_ || (t - full_) * kTile < rest_; ++t) {
      if (t < full_) {
        Fetch(t + kSlots - 1, slot == 0 ? kSlots - 1 : slot - 1);
        __pipeline_wait_prior(kSlots - 1);
      } else {
        FillTile(values_, n_, (t - full_) * kTile, ring_ + slot * kTile);
      }
      add_tile(ring_ + slot * kTile);
      slot = slot == kSlots - 1 ? 0 : slot + 1;
    }
  }

 private:
  static constexpr int kWide = kWideValues<Real>;

  static __device__ __forceinline__ std::size_t Warps() {
    return std::size_t{gridDim.x} * kStreamWarps;
  }
  static __device__ __forceinline__ int LaneOffset() {
    return static_cast<int>(threadIdx.x) % 32 * kWide;
  }
  __device__ __forceinline__ void Fetch(int t, int slot) {
    if (t < full_) {
      Real* const to = ring_ + slot * kTile + LaneOffset();
#pragma unroll
      for (int i = 0; i < kTile; i += 32 * kWide) __pipeline_memcpy_async(to + i, from_ + i, 16);
      from_ += Warps() * kTile;
    }
    __pipeline_commit();
  }

  const Real* values_;
  std::size_t n_;
  Real* ring_;
  const Real* from_;
  int full_;  //!< Whole tiles.
  int rest_;  //!< Values outside of all whole tiles.
};

//! Counts all values; the last block sums the histogram.
template <class Real, int L>
__device__ __noinline__ void CountStream(const Real* values, std::size_t n, unsigned* histogram,
                                         const StreamState& state) {
  __shared__ PointMap<Real> shared_map;
  if (threadIdx.x < 32) {
    const PointMap<Real> found = FindLattice<Real>(state.samples, state.histogram);
    if (threadIdx.x == 0) {
      shared_map = found;
      if (!found.usable) state.histogram->missed = 1;
    }
  }
  __syncthreads();
  if (shared_map.usable) CountValues(values, n, shared_map, histogram, state.histogram);
  if (!IsLast(state.done, gridDim.x)) return;
  Answer* const answer = state.answer;
  const bool missed = *static_cast<volatile int*>(&state.histogram->missed) != 0;
  if (threadIdx.x == 0) answer->outcome = missed ? Outcome::kMissed : Outcome::kCounted;
  if (missed) return;
  SumHistogram<kStreamThreads>(*state.histogram, kRounding<Real>, L, &answer->sums,
                               &answer->digits);
}

//! Sums all values; counts them instead where the sample lies on a lattice.
template <class Real, int L, int kSlots>
__global__ void __launch_bounds__(kStreamThreads, kStreamBlocksPerMultiprocessor)
    ChebyshevKernel(const Real* values, std::size_t n, StreamState shared) {
  // Copies to shared memory are slower where a warp's 512 bytes do not begin a row of the banks.
  extern __shared__ __align__(128) float4 shared_memory[];
  __shared__ alignas(16) ChebyshevSums states[kStreamWarps];
  TileRing<kSlots, Real> tiles(values, n, shared_memory);
  WaitForKernelsBefore();
  if (shared.count && MayBeLattice(*shared.histogram)) {
    __pipeline_wait_prior(0);
    __syncthreads();
    CountStream<Real, L>(values, n, reinterpret_cast<unsigned*>(shared_memory), shared);
    return;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if constexpr (sizeof(Real) == 8) {
    auto* const warp_states = reinterpret_cast<WarpState*>(
        reinterpret_cast<std::byte*>(shared_memory) + kRingBytes<Real, kSlots>);
    WarpAccumulator<Real, L> sums(warp_states[threadIdx.x]);
    sums.StartFrom(shared.samples);
    tiles.ForEach([&](const Real* tile) { sums.AddTile(tile); });
    sums.Finish();
    Store(sums.state, states + warp, L);
  } else {
    WarpState cold_state;
    WarpAccumulator<Real, L> sums(cold_state);
    StartCold(&sums, shared.samples);
    Float32Sums<L> fast(&sums);
    tiles.ForEach([&](const Real* tile) { fast.AddTile(tile); });
    fast.Flush();
    FinishCold(&sums);
    Store(cold_state, states + warp, L);
  }
  __syncthreads();
  auto& space = *reinterpret_cast<JoinSpace<kStreamThreads>*>(shared_memory);  // rings are empty
  ChebyshevSums* const own = shared.blocks + blockIdx.x;
  JoinStates(states, kStreamWarps, 1, L, space, own);
  Answer* const answer = shared.answer;
  if (!JoinBlocks(shared.blocks, blockIdx.x, gridDim.x, L, shared.done, space, &answer->sums)) {
    return;
  }
  if (threadIdx.x > 0) return;
  answer->digits = DigitsOfSample(*shared.histogram);
  answer->outcome = Outcome::kSummed;
}

}  // namespace

struct ChebyshevCuda::Memory {
  explicit Memory(int order)
      : columns(order), done(std::vector<unsigned>(JoinCounters(kStreamBlocks))) {}
  ColumnsCuda columns;
  DeviceArray<ChebyshevSums> partial{std::size_t{kStreamBlocks}};
  DeviceArray<unsigned> done;
  DeviceArray<double> samples{2 * kSampleBlocks};
  DeviceArray<LatticeHistogram> histogram{1};
  Answers<Answer> answer;
  bool early = CanStartEarly(SampleKernel<float>);
};

ChebyshevCuda::ChebyshevCuda(int order)
    : order_(CheckOrder(order)), memory_(std::make_unique<Memory>(order)) {}

ChebyshevCuda::~ChebyshevCuda() = default;

template <class Real>
void ChebyshevCuda::Launch(const Real* values, std::size_t n, bool count, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  constexpr int kMany = kStages<Real>;
  constexpr std::size_t kStatic = 8192;  // at most
  const bool many = kSharedBytes<Real, kMany> + kStatic <= SharedMemoryLimit();
  Memory& memory = *memory_;
  const StreamState state{memory.partial.data(),
                          memory.done.data(),
                          memory.samples.data(),
                          memory.histogram.data(),
                          count,
                          memory.answer.Reserve(1)};
  if (count) {
    SampleKernel<<<kSampleBlocks, kSampleThreads, 0, cuda_stream>>>(
        values, n, memory.samples.data(), state.histogram);
    CheckCuda(cudaGetLastError(), "sample of a stream");
  }
  DispatchCompiledOrder(order_, [&](auto order) {
    const auto sum = [&]<int kSlots>() {
      const auto kernel = ChebyshevKernel<Real, decltype(order)::value, kSlots>;
      const std::size_t shared = AllowSharedMemory(kernel, kSharedBytes<Real, kSlots>);
      LaunchBehind(kernel, {kStreamBlocks, kStreamThreads, shared, memory.early}, cuda_stream,
                   values, n, state);
    };
    many ? sum.template operator()<kMany>() : sum.template operator()<1>();
  });
}

template <class Real>
ChebyshevSums ChebyshevCuda::SumLong(const Real* values, std::size_t n, void* stream) {
  Launch(values, n, true, stream);
  Answer found = *memory_->answer.Fetch(stream);
  if (found.outcome == Outcome::kMissed) {
    Launch(values, n, false, stream);
    found = *memory_->answer.Fetch(stream);
  }
  const double magnitude = std::fmax(std::fabs(found.sums.min), std::fabs(found.sums.max));
  const bool counted = found.outcome == Outcome::kCounted;
  digits_ = LatticeDigits(found.digits, magnitude, kRounding<Real>);
  if (digits_ != kNoLattice && !counted) digits_ = memory_->columns.Digits(values, n, stream);
  exact_ = sizeof(Real) == 8 || counted;
  return found.sums;
}

template <class Real>
ChebyshevSums ChebyshevCuda::Sum(const Real* values, std::size_t n, void* stream) {
  if (n >= kLongStream) return SumLong(values, n, stream);
  exact_ = true;
  const DeviceColumns<Real> column{values, n, n > 0 ? 1u : 0u, n};
  const std::vector<ColumnSums> found = memory_->columns.Sum(column, stream);
  digits_ = found.empty() ? 0 : found[0].digits;
  return found.empty() ? ChebyshevSums{} : found[0].sums;
}

template ChebyshevSums ChebyshevCuda::Sum(const float*, std::size_t, void*);
template ChebyshevSums ChebyshevCuda::Sum(const double*, std::size_t, void*);

}  // namespace retable::quantiles

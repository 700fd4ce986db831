//! @file
//! Chebyshev sums on a CUDA device (chebyshev_sums.hpp has the mathematics).
//!
//! Problem: one pass over device memory at its bandwidth, bounds unknown. Approach: each warp sums
//! tiles on bounds of its own (warp_accumulator.cuh; float32_sums.cuh for float32 input), which
//! stream through a ring in shared memory; a block joins its warps, one block joins all blocks.
//! Streams of few evenly spaced values are counted instead (lattice/histogram.cuh).
//!
//! Deterministic, on every device: the grid depends on the number of values alone, and all joins
//! have a fixed order. Memory: one state a block.

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "algorithms/quantiles/cuda/float32_sums.cuh"
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
//! The rings of all warps and, for float64 input, a WarpState per thread.
template <class Real, int kSlots>
constexpr std::size_t kSharedBytes = kRingBytes<Real, kSlots> +
                                     (sizeof(Real) == 8 ? kStreamThreads * sizeof(WarpState) : 0);

//! Calls `add_tile` for each tile of a warp, copied through the warp's ring in shared memory.
template <int kSlots, class Real, class AddTile>
__device__ __forceinline__ void StreamTiles(const Real* aligned, std::size_t tiles, Real* ring,
                                            const AddTile& add_tile) {
  constexpr int kTile = 32 * kLaneValues<Real>;
  constexpr int kWide = kWideValues<Real>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t warp = std::size_t{blockIdx.x} * kStreamWarps + threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * kStreamWarps;
  const int mine = tiles > warp ? static_cast<int>((tiles - warp + warps - 1) / warps) : 0;
  const Real* from = aligned + warp * kTile + lane * kWide;
  const auto fetch = [&](int t, int slot) {
    if (t < mine) {
      Real* to = ring + slot * kTile + lane * kWide;
#pragma unroll
      for (int i = 0; i < kTile; i += 32 * kWide) __pipeline_memcpy_async(to + i, from + i, 16);
      from += warps * kTile;
    }
    __pipeline_commit();
  };
#pragma unroll
  for (int slot = 0; slot < kSlots - 1; ++slot) fetch(slot, slot);
  int slot = 0;
#pragma unroll 1
  for (int t = 0; t < mine; ++t) {
    fetch(t + kSlots - 1, slot == 0 ? kSlots - 1 : slot - 1);
    __pipeline_wait_prior(kSlots - 1);
    add_tile(ring + slot * kTile);
    slot = slot == kSlots - 1 ? 0 : slot + 1;
  }
}

template <class Real, int L, int kSlots>
__global__ void __launch_bounds__(kStreamThreads, kStreamBlocksPerMultiprocessor)
    ChebyshevKernel(const Real* values, std::size_t n, const double* samples,
                    const LatticeHistogram* counted, ChebyshevSums* blocks) {
  if (counted != nullptr && counted->missed == 0) return;
  constexpr int kTile = 32 * kLaneValues<Real>;
  extern __shared__ float4 ring_memory[];
  __shared__ ChebyshevSums states[kStreamWarps];
  const std::size_t head = ValuesBeforeAligned(values, n);
  const Real* aligned = values + head;
  const std::size_t tiles = (n - head) / kTile;
  const std::size_t warp = std::size_t{blockIdx.x} * kStreamWarps + threadIdx.x / 32;
  const std::size_t warps = std::size_t{gridDim.x} * kStreamWarps;
  const bool has_rest = warp == warps - 1;  // values before and behind all tiles
  const Real* rest = aligned + tiles * kTile;
  const int rest_count = static_cast<int>(n - head - tiles * kTile);
  Real* ring = reinterpret_cast<Real*>(ring_memory) + threadIdx.x / 32 * kSlots * kTile;
  WarpState state;
  if constexpr (sizeof(Real) == 8) {
    auto* const warp_states = reinterpret_cast<WarpState*>(
        reinterpret_cast<std::byte*>(ring_memory) + kRingBytes<Real, kSlots>);
    WarpAccumulator<Real, L> sums(warp_states[threadIdx.x]);
    if (samples != nullptr) sums.StartFrom(samples);
    if (has_rest) {
      sums.AddExactly(values, static_cast<int>(head));
      sums.AddExactly(rest, rest_count);
    }
    StreamTiles<kSlots>(aligned, tiles, ring, [&](const Real* tile) { sums.AddTile(tile); });
    sums.Finish();
    state = JoinBlock(sums.state, states, L);
  } else {
    WarpState cold_state;
    WarpAccumulator<Real, L> sums(cold_state);
    if (samples != nullptr) StartCold(&sums, samples);
    if (has_rest) {
      AddExactlyCold(&sums, values, static_cast<int>(head));
      AddExactlyCold(&sums, rest, rest_count);
    }
    if (n < kFloat32From) {
      StreamTiles<kSlots>(aligned, tiles, ring, [&](const Real* tile) {
        __syncwarp();  // the exact path reads values of other lanes
        AddExactlyCold(&sums, tile, kTile);
        __syncwarp();
      });
    } else {
      Float32Sums<L> fast(&sums);
      StreamTiles<kSlots>(aligned, tiles, ring, [&](const Real* tile) { fast.AddTile(tile); });
      fast.Flush();
    }
    FinishCold(&sums);
    state = JoinBlock(sums.state, states, L);
  }
  if (threadIdx.x < 32) Store(state, blocks + blockIdx.x, L);
}

//! What the host fetches.
struct Answer {
  ChebyshevSums sums;
  int digits;  //!< Of counted values; -1 where they were not counted.
};

//! One block joins the states of all blocks, unless the values were counted.
__global__ void __launch_bounds__(kJoinThreads)
    JoinKernel(const LatticeHistogram* counted, const ChebyshevSums* blocks, int count, int order,
               Answer* out) {
  if (counted != nullptr && counted->missed == 0) return;
  __shared__ ChebyshevSums states[kJoinThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  double low, high;
  JoinBoundsOf(blocks, thread % 32, 32, count, low, high);
  const WarpState own = AddStates(blocks, thread, kJoinThreads, count, low, high, order);
  const WarpState all = JoinBlock(own, states, order);
  if (thread < 32) Store(all, &out->sums, order);
  if (thread == 0) out->digits = -1;
}

//! One block sums the histogram, if the values were counted.
__global__ void __launch_bounds__(kLatticePoints)
    CountedKernel(LatticeHistogram* counted, double rounding, int order, Answer* out) {
  if (counted->missed != 0) return;
  SumHistogram<kLatticePoints>(*counted, rounding, &out->sums, order);
  if (threadIdx.x == 0) out->digits = counted->digits;
}

}  // namespace

struct ChebyshevCuda::Memory {
  DeviceArray<ChebyshevSums> partial{std::size_t{kStreamBlocks}};
  DeviceArray<double> samples{2 * kSampleBlocks};
  DeviceArray<LatticeHistogram> histogram{1};
  DeviceArray<Answer> answer{1};
  PinnedArray<Answer> fetched;
  double rounding = 0;  //!< kRounding of the last stream's type.
};

ChebyshevCuda::ChebyshevCuda(int order) : order_(CheckOrder(order)) {
  memory_ = std::make_unique<Memory>();
  memory_->fetched.Reserve(1);
}

ChebyshevCuda::~ChebyshevCuda() = default;

template <class Real>
void ChebyshevCuda::Launch(const Real* values, std::size_t n, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  constexpr std::size_t kBlockTile = std::size_t{kStreamThreads} * kLaneValues<Real>;
  const std::size_t useful = n / kBlockTile + 1;
  const int blocks = static_cast<int>(std::min<std::size_t>(useful, kStreamBlocks));
  constexpr int kMany = kStages<Real>;
  constexpr std::size_t kOfStates = kStreamWarps * sizeof(ChebyshevSums);
  const bool many = kSharedBytes<Real, kMany> + kOfStates <= SharedMemoryLimit();
  DispatchCompiledOrder(order_, [&](auto order) {
    double* const samples = n >= kSampleFrom ? memory_->samples.data() : nullptr;
    LatticeHistogram* const histogram = n >= kSampleFrom ? memory_->histogram.data() : nullptr;
    if (samples != nullptr) {
      SampleKernel<<<kSampleBlocks, kSampleThreads, 0, cuda_stream>>>(values, n, samples,
                                                                      histogram);
      CountKernel<Real, kCountValues<Real>>
          <<<kCountBlocksPerMultiprocessor * MultiprocessorCount(), kCountThreads, 0,
             cuda_stream>>>(values, n, samples, histogram);
    }
    constexpr int kOrder = decltype(order)::value;
    const auto sum = [&]<int kSlots>() {
      const auto kernel = ChebyshevKernel<Real, kOrder, kSlots>;
      const std::size_t shared = AllowSharedMemory(kernel, kSharedBytes<Real, kSlots>);
      kernel<<<blocks, kStreamThreads, shared, cuda_stream>>>(values, n, samples, histogram,
                                                              memory_->partial.data());
    };
    many ? sum.template operator()<kMany>() : sum.template operator()<1>();
    Answer* const answer = memory_->answer.data();
    JoinKernel<<<1, kJoinThreads, 0, cuda_stream>>>(histogram, memory_->partial.data(), blocks,
                                                    kOrder, answer);
    if (histogram != nullptr) {
      CountedKernel<<<1, kLatticePoints, 0, cuda_stream>>>(histogram, kRounding<Real>, kOrder,
                                                           answer);
    }
  });
  CheckCuda(cudaGetLastError(), "Chebyshev kernels");
  memory_->rounding = kRounding<Real>;
}

ChebyshevSums ChebyshevCuda::Fetch(void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  Answer& found = *memory_->fetched.data();
  CheckCuda(cudaMemcpyAsync(&found, memory_->answer.data(), sizeof found, cudaMemcpyDeviceToHost,
                            cuda_stream),
            "cudaMemcpyAsync of Chebyshev sums");
  CheckCuda(cudaStreamSynchronize(cuda_stream), "Chebyshev kernels");
  digits_.reset();
  if (found.digits >= 0) {
    const double magnitude = std::fmax(std::fabs(found.sums.min), std::fabs(found.sums.max));
    const bool lattice =
        found.digits <= kMaxDigits && LatticeIsFiner(magnitude, found.digits, memory_->rounding);
    digits_ = lattice ? found.digits : kNoLattice;
  }
  return found.sums;
}

ChebyshevSums ChebyshevCuda::Sum(const float* values, std::size_t n, void* stream) {
  if (n == 0) return {};
  Launch(values, n, stream);
  return Fetch(stream);
}
ChebyshevSums ChebyshevCuda::Sum(const double* values, std::size_t n, void* stream) {
  if (n == 0) return {};
  Launch(values, n, stream);
  return Fetch(stream);
}

}  // namespace retable::quantiles

//! @file
//! Moments on a CUDA device by tree reduction (Mitchell et al. 2021, section 7).
//!
//! A thread adds values to a state in registers, a warp joins the states of its threads by
//! shuffles, a block those of its warps through shared memory, and one last block those of all
//! blocks. Raw sums join by addition. Central sums join by eq. 12; tiles of 32 values in registers
//! amortise its 200 operations: first the mean of the tile, then its sums about that mean, then one
//! merge. All arithmetic is double for either input type.
//!
//! Deterministic, on every device: the grid depends on the number of values alone.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/cuda/feed_through_device.hpp"
#include "algorithms/quantiles/cuda/moments.hpp"
#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/sketches/moment_method.hpp"
#include "algorithms/quantiles/sums/state_accumulator.hpp"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
namespace {

constexpr int kWarps = kMomentThreads / 32;

__device__ __forceinline__ double FromLane(double x, int offset) {
  return __shfl_down_sync(0xffffffffu, x, offset);
}

template <class State>
__device__ __forceinline__ State FromLane(State state, int offset) {
  state.Pair(state, [offset](double& to, double from) { to = FromLane(from, offset); });
  return state;
}

//! Joins the states of a block's threads; thread 0 has the result.
template <class State>
__device__ __forceinline__ State JoinBlock(State state) {
#pragma unroll 1
  for (int offset = 16; offset > 0; offset /= 2) {
    const State other = FromLane(state, offset);
    state.Merge(other);
  }
  __shared__ State warps[kWarps];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = state;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int w = 1; w < kWarps; ++w) state.Merge(warps[w]);
  }
  return state;
}

//! Loads a thread's tile of kMomentValues values; neighbouring threads read adjacent addresses.
template <class Real>
__device__ __forceinline__ void LoadTile(const Real* tile, Real* x) {
  constexpr int kWide = kWideValues<Real>;
#pragma unroll
  for (int i = 0; i < kMomentValues; i += kWide) {
    LoadWide(tile + i * kMomentThreads + threadIdx.x * kWide, x + i);
  }
}

template <int L, class Real>
__device__ __forceinline__ void AddTile(const Real* x, PowerSums<double, L>& state) {
#pragma unroll
  for (int i = 0; i < kMomentValues; ++i) state.Add(static_cast<double>(x[i]));
}

//! Merges the central sums of a tile about its own mean. NaN: value by value.
template <int L, class Real>
__device__ __forceinline__ void AddTile(const Real* x, CentralSums<double, L>& state) {
  double total = 0;
  double low = static_cast<double>(x[0]);
  double high = low;
#pragma unroll
  for (int i = 0; i < kMomentValues; ++i) {
    const double v = static_cast<double>(x[i]);
    total += v;
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  if (!(total - total == 0)) {
#pragma unroll 1
    for (int i = 0; i < kMomentValues; ++i) {
      // Select by comparison: a run-time index would move the tile to local memory.
      double v = 0;
#pragma unroll
      for (int j = 0; j < kMomentValues; ++j) v = i == j ? static_cast<double>(x[j]) : v;
      state.Add(v);
    }
    return;
  }
  CentralSums<double, L> tile = CentralSums<double, L>::Empty();
  tile.sum[0] = kMomentValues;
  tile.mean = total * (1.0 / kMomentValues);
  tile.min = low;
  tile.max = high;
#pragma unroll
  for (int i = 0; i < kMomentValues; ++i) {
    const double d = static_cast<double>(x[i]) - tile.mean;
    double power = d;
#pragma unroll
    for (int k = 2; k <= L; ++k) {
      power *= d;
      tile.sum[k] += power;
    }
  }
  double inverse_factorial = 1;
#pragma unroll
  for (int k = 2; k <= L; ++k) {
    inverse_factorial *= 1.0 / k;
    tile.sum[k] *= inverse_factorial;
  }
  state.Merge(tile);
}

template <class State, class Real>
__global__ void __launch_bounds__(kMomentThreads)
    SumKernel(const Real* values, std::size_t n, State* blocks) {
  constexpr std::size_t kBlockTile = std::size_t{kMomentThreads} * kMomentValues;
  State state = State::Empty();
  const std::size_t head = ValuesBeforeAligned(values, n);
  const Real* aligned = values + head;
  const std::size_t tiles = (n - head) / kBlockTile;
#pragma unroll 1
  for (std::size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    Real x[kMomentValues];
    LoadTile(aligned + t * kBlockTile, x);
    AddTile(x, state);
  }
  if (blockIdx.x == gridDim.x - 1) {
#pragma unroll 1
    for (std::size_t i = head + tiles * kBlockTile + threadIdx.x; i < n; i += kMomentThreads) {
      state.Add(static_cast<double>(values[i]));
    }
    if (threadIdx.x < head) state.Add(static_cast<double>(values[threadIdx.x]));
  }
  state = JoinBlock(state);
  if (threadIdx.x == 0) blocks[blockIdx.x] = state;
}

//! One block joins the states of all blocks into blocks[0].
template <class State>
__global__ void __launch_bounds__(kMomentThreads) JoinKernel(State* blocks, int count) {
  State state = State::Empty();
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kMomentThreads)
    state.Merge(blocks[i]);
  state = JoinBlock(state);
  if (threadIdx.x == 0) blocks[0] = state;
}

template <template <class, int> class Sums>
class CudaAccumulator final : public StateAccumulator<CudaAccumulator<Sums>, Sums>,
                              public DeviceUpdate {
 public:
  using Base = StateAccumulator<CudaAccumulator, Sums>;

  explicit CudaAccumulator(int order) : Base(order), partial_(kMomentBlocks) {}

  void update_device(const float* values, std::size_t n, void* stream) override {
    Sum(values, n, static_cast<cudaStream_t>(stream));
  }
  void update_device(const double* values, std::size_t n, void* stream) override {
    Sum(values, n, static_cast<cudaStream_t>(stream));
  }

 private:
  friend Base;

  template <class Real>
  void Feed(std::span<const Real> values) {
    FeedThroughDevice(values, [this](const Real* x, std::size_t n) { Sum(x, n, nullptr); });
  }
  template <class Real>
  void Sum(const Real* values, std::size_t n, cudaStream_t stream) {
    if (n == 0) return;
    constexpr std::size_t kBlockTile = std::size_t{kMomentThreads} * kMomentValues;
    const std::size_t useful = n / kBlockTile + 1;
    const int blocks = static_cast<int>(std::min<std::size_t>(useful, kMomentBlocks));
    DispatchCompiledOrder(this->order_, [&](auto order) {
      using State = Sums<double, decltype(order)::value>;
      auto* partial = reinterpret_cast<State*>(partial_.data());
      SumKernel<State><<<blocks, kMomentThreads, 0, stream>>>(values, n, partial);
      JoinKernel<State><<<1, kMomentThreads, 0, stream>>>(partial, blocks);
      State joined;
      CheckCuda(cudaGetLastError(), "moment kernels");
      CheckCuda(cudaMemcpyAsync(&joined, partial, sizeof joined, cudaMemcpyDeviceToHost, stream),
                "cudaMemcpyAsync of moments");
      CheckCuda(cudaStreamSynchronize(stream), "moment kernels");
      if (joined.sum[0] > 0 && (std::isinf(joined.min) || std::isinf(joined.max))) {
        const std::vector<Real> finite = FiniteOnHost(values, n, stream, this->infinities_);
        DeviceArray<Real> again{std::span<const Real>(finite)};
        return Sum(again.data(), finite.size(), stream);
      }
      this->state_.Merge(Base::State::Of(joined));
    });
  }

  DeviceArray<typename Base::State> partial_;
};

}  // namespace

std::unique_ptr<MomentAccumulator> MakeNaiveAccumulatorCuda(int order) {
  return std::make_unique<CudaAccumulator<PowerSums>>(order);
}
std::unique_ptr<MomentAccumulator> MakeCentralAccumulatorCuda(int order) {
  return std::make_unique<CudaAccumulator<CentralSums>>(order);
}

namespace {

[[maybe_unused]] const bool registered_moments_cuda = RegisterMomentMethods(
    Device::kCuda, {{"ME-central", MomentFit::kMaxEntropy, MakeCentralAccumulatorCuda},
                    {"ME-naive", MomentFit::kMaxEntropy, MakeNaiveAccumulatorCuda},
                    {"Legendre-central", MomentFit::kLegendre, MakeCentralAccumulatorCuda},
                    {"Legendre-naive", MomentFit::kLegendre, MakeNaiveAccumulatorCuda}});

}  // namespace
}  // namespace retable::quantiles

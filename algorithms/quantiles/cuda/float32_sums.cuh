#pragma once
//! @file
//! float32 input: the fast path of a warp's Chebyshev sums.
//!
//! Sums are float32 over kFlushTiles tiles of a lane, then joined over the warp, then added to
//! float64 sums: the error of a moment is a few 1e-9, since the roundings of the terms are random.
//! Values that repeat round alike, and leave up to 5e-7. Heavy tails put most values next to a
//! bound, where y has few bits for them: what their y lost is summed too, and added at the end.

#include <cuda_runtime.h>

#include "algorithms/quantiles/cuda/support.cuh"
#include "algorithms/quantiles/cuda/warp_accumulator.cuh"
#include "algorithms/quantiles/cuda/warp_sums.cuh"
#include "algorithms/quantiles/tuning.hpp"

namespace retable::quantiles {
// Internal linkage: nvcc then allocates registers across the calls that are not inlined.
namespace {

//! The fast path of a warp for float32 input. Registers hold what every tile needs; the
//! WarpAccumulator lies in local memory, behind calls that are not inlined.
template <int L>
class Float32Sums {
 public:
  __device__ __forceinline__ explicit Float32Sums(WarpAccumulator<float, L>* exact)
      : exact_(exact) {
    Clear();
    Reload();
  }

  //! Adds a full tile from shared memory.
  __device__ __forceinline__ void AddTile(const float* tile) {
    // A column with mass near a bound, or missing values, has them in every tile.
    bool done = !near_ && (direct_ ? TryFast<true>(tile) : TryFast<false>(tile));
    if (!done) {
      const Seen seen = Look(tile);
      if (__any_sync(kFull, seen.least < low_ || seen.most > high_)) {
        Flush();
        WidenFor(exact_, tile);
        Reload();
      }
      if (half_ > 0) done = direct_ ? TryNear<true>(tile, seen) : TryNear<false>(tile, seen);
    }
    if (!done) {
      Flush();
      AddExactly(exact_, tile);
      Reload();
    } else if (tiles_ == kFlushTiles<float>) {
      Flush();
    }
  }

  __device__ __forceinline__ void Flush() {
    exact_->sums[0] += tiles_ * kValues;
    exact_->sums[1] += static_cast<double>(SumSlots(sum_));
    Clear();
  }

 private:
  static constexpr int kValues = kLaneValues<float>;

  // The exact path reads values of other lanes.
  static __device__ __noinline__ void WidenFor(WarpAccumulator<float, L>* exact,
                                               const float* tile) {
    __syncwarp();
    exact->WidenFor(tile, 32 * kValues);
    __syncwarp();
  }
  static __device__ __noinline__ void AddExactly(WarpAccumulator<float, L>* exact,
                                                 const float* tile) {
    __syncwarp();
    exact->AddExactly(tile, 32 * kValues);
    __syncwarp();
  }

  //! A lane's values of a tile.
  struct Seen {
    float least;
    float most;
    bool missing;  //!< Some, of the warp's values.
  };
  __device__ __forceinline__ static Seen Look(const float* tile) {
    Seen seen{Infinity<float>(), -Infinity<float>(), false};
    float missing = 0;
#pragma unroll
    for (int i = 0; i < kValues; i += 4) {
      float x[4];
      CopyMine(tile, i, x);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        seen.least = fminf(seen.least, x[j]);
        seen.most = fmaxf(seen.most, x[j]);
        missing = __fmaf_rn(x[j], 0, missing);
      }
    }
    seen.missing = __any_sync(kFull, missing != missing);
    return seen;
  }
  __device__ __forceinline__ static void CopyMine(const float* tile, int i, float* x) {
    CopyWide(tile + i * 32 + static_cast<int>(threadIdx.x) % 32 * 4, x);
  }

  //! y of a value, and `from_centre`, which it is computed from.
  template <bool kDirect>
  __device__ __forceinline__ float Map(float x, float& from_centre) const {
    from_centre = kDirect ? x : x - centre_;
    return __fmaf_rn(from_centre, scale_, offset_);
  }

  template <bool kDirect>
  __device__ __forceinline__ void MapTile(const float* tile, float (&y)[kValues]) const {
#pragma unroll
    for (int i = 0; i < kValues; i += 4) CopyMine(tile, i, y + i);
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      float from_centre;
      y[i] = Map<kDirect>(y[i], from_centre);
    }
  }
  __device__ __forceinline__ void AddMapped(const float (&y)[kValues]) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) AddChebyshevTerms<L, float>(y[i], sum_);
    ++tiles_;
  }

  //! Adds a tile if all values lie well inside the interval.
  template <bool kDirect>
  __device__ __forceinline__ bool TryFast(const float* tile) {
    float y[kValues];
    MapTile<kDirect>(tile, y);
    unsigned any = 0;
#pragma unroll
    for (int i = 0; i < kValues; i += 2) any |= ExponentWord(y[i]) | ExponentWord(y[i + 1]);
    if (__any_sync(kFull, (any & kAtLeastTwo) != 0)) return false;
    AddMapped(y);
    return true;
  }

  //! Adds a tile inside the interval unless nearly all values are missing: sums of a few values
  //! would round as those of the many zeros in place of missing ones do.
  template <bool kDirect>
  __device__ __forceinline__ bool TryNear(const float* tile, const Seen& seen) {
    float y[kValues];
    MapTile<kDirect>(tile, y);
    if (seen.missing) {
      int missing = 0;
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        const bool is_missing = y[i] != y[i];
        missing += is_missing ? 1 : 0;
        y[i] = is_missing ? 0 : y[i];
      }
      if (__all_sync(kFull, missing > kValues - 4)) return false;
      exact_->missing_count += missing;
    }
    float from_centre;
    const bool any_low = __any_sync(kFull, Map<kDirect>(seen.least, from_centre) <= -2);
    const bool any_high = __any_sync(kFull, Map<kDirect>(seen.most, from_centre) >= 2);
    near_ = seen.missing || any_low || any_high;
    AddMapped(y);
    if (any_low) AddEnd<kDirect, 0>(tile);
    if (any_high) AddEnd<kDirect, 1>(tile);
    return true;
  }

  //! Counts a tile's values on a bound, and sums what those near it were rounded by.
  template <bool kDirect, int kEnd>
  __device__ __forceinline__ void AddEnd(const float* tile) {
    const float bound = kEnd == 0 ? low_ : high_;
    int at = 0;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kValues; i += 4) {
      float x[4];
      CopyMine(tile, i, x);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float from_centre;
        const float y = Map<kDirect>(x[j], from_centre);
        const float rounded = __fmaf_rn(from_centre, scale_, offset_ - y);
        at += x[j] == bound ? 1 : 0;
        sum += (kEnd == 0 ? y <= -2 : y >= 2) ? rounded : 0;
      }
    }
    (kEnd == 0 ? exact_->state.at_min : exact_->state.at_max) += at;
    exact_->rounded[kEnd] += sum;
  }

  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (float& sum : sum_) sum = 0;
    tiles_ = 0;
  }
  __device__ __forceinline__ void Reload() {
    direct_ = exact_->direct;
    centre_ = exact_->centre;
    scale_ = exact_->scale;
    offset_ = exact_->offset;
    low_ = exact_->low;
    high_ = exact_->high;
    half_ = static_cast<float>(exact_->state.map.half);
  }

  WarpAccumulator<float, L>* exact_;
  float sum_[16];
  int tiles_;          //!< Tiles since the last flush.
  bool near_ = false;  //!< The last tile had values near a bound, or missing ones.
  bool direct_;
  float centre_;
  float scale_;
  float offset_;
  float low_;
  float high_;
  float half_;
};

template <int L>
__device__ __noinline__ void StartCold(WarpAccumulator<float, L>* exact, const double* samples) {
  exact->StartFrom(samples);
}
template <int L>
__device__ __noinline__ void FinishCold(WarpAccumulator<float, L>* exact) {
  exact->Finish();
}

}  // namespace
}  // namespace retable::quantiles

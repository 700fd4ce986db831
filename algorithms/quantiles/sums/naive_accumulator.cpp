//! @file
//! Raw power sums on the CPU, eight values at a time.

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/quantiles/sums/simd.hpp"
#include "algorithms/quantiles/sums/state_accumulator.hpp"

namespace retable::quantiles {
namespace {

//! Eight lanes of raw sums.
struct Lanes {
  double sum[kMaxOrder + 1][8]{};
  double min[8], max[8];

  Lanes() {
    std::fill_n(min, 8, std::numeric_limits<double>::infinity());
    std::fill_n(max, 8, -std::numeric_limits<double>::infinity());
  }
};

//! Adds 8 m values.
template <int L, int W, class Real>
RETABLE_ALWAYS_INLINE void AddEights(const Real* values, std::size_t eights, Lanes& lanes) {
  using V = Doubles<W>;
  V sum[L + 1];
  V low = V::Load(lanes.min);
  V high = V::Load(lanes.max);
  for (std::size_t i = 0; i < eights; ++i) {
    const V x = V::Load(values + 8 * i);
    // Neither NaN nor infinite.
    const auto valid = x - x == V(0);
    const V v = Select(valid, x, V(0));
    low = Select(x < low, x, low);
    high = Select(x > high, x, high);
    sum[0] += Select(valid, V(1), V(0));
    V power = v;
    sum[1] += power;
    RETABLE_UNROLL_ALL
    for (int k = 2; k <= L; ++k) {
      power *= v;
      sum[k] += power;
    }
  }
  for (int k = 0; k <= L; ++k) sum[k].Store(lanes.sum[k]);
  low.Store(lanes.min);
  high.Store(lanes.max);
}

class NaiveAccumulator final : public StateAccumulator<NaiveAccumulator, PowerSums> {
 public:
  using StateAccumulator::StateAccumulator;

 private:
  friend StateAccumulator;

  template <class Real>
  void Feed(std::span<const Real> values) {
    const std::size_t eights = values.size() / 8;
    if (eights > 0) {
      Lanes lanes;
      DispatchOrder(order_, [&](auto order) {
        ByWidestVectors(
            [&]<int W>() RETABLE_INLINED { AddEights<order(), W>(values.data(), eights, lanes); });
      });
      const State before = state_;
      Fold(lanes);
      if (std::isinf(state_.min) || std::isinf(state_.max)) {
        // The bounds saw infinite values, which the sums left out.
        state_.min = before.min;
        state_.max = before.max;
        for (const Real value : values.first(8 * eights)) {
          const double x = static_cast<double>(value);
          if (std::isnan(x) || infinities_.Take(x)) continue;
          state_.min = std::min(state_.min, x);
          state_.max = std::max(state_.max, x);
        }
      }
    }
    for (const Real x : values.subspan(8 * eights)) {
      if (!infinities_.Take(static_cast<double>(x))) state_.Add(static_cast<double>(x));
    }
  }

  //! The lanes' sums into the state, in lane order.
  void Fold(const Lanes& lanes) {
    for (int lane = 0; lane < 8; ++lane) {
      State s;
      for (int k = 0; k <= kMaxOrder; ++k) s.sum[k] = lanes.sum[k][lane];
      s.min = lanes.min[lane];
      s.max = lanes.max[lane];
      state_.Merge(s);
    }
  }
};

}  // namespace

std::unique_ptr<MomentAccumulator> MakeNaiveAccumulator(int order) {
  return std::make_unique<NaiveAccumulator>(order);
}

}  // namespace retable::quantiles

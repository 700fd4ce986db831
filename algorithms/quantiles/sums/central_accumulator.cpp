//! @file
//! Pebay's central sums on the CPU: eq. 13 for each value, eq. 12 to merge.

#include <stdexcept>

#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/sums/order_dispatch.hpp"

namespace retable::quantiles {
namespace {

using State = CentralSums<double, kMaxOrder>;

//! The sums of order 0..L of the state of full order, and back.
template <int L>
CentralSums<double, L> Take(const State& state) {
  CentralSums<double, L> s;
  for (int k = 0; k <= L; ++k) s.sum[k] = state.sum[k];
  s.mean = state.mean;
  s.min = state.min;
  s.max = state.max;
  return s;
}
template <int L>
void Put(const CentralSums<double, L>& s, State& state) {
  for (int k = 0; k <= L; ++k) state.sum[k] = s.sum[k];
  state.mean = s.mean;
  state.min = s.min;
  state.max = s.max;
}

class CentralAccumulator final : public MomentAccumulator {
 public:
  explicit CentralAccumulator(int order) : order_(CheckOrder(order)) {}

  void update(std::span<const float> values) override { Feed(values); }
  void update(std::span<const double> values) override { Feed(values); }

  void merge(const MomentAccumulator& other) override {
    const auto* same = dynamic_cast<const CentralAccumulator*>(&other);
    if (same == nullptr || same->order_ != order_) {
      throw std::invalid_argument("merge of central sums with another kind or order of sums");
    }
    infinities_.Merge(same->infinities_);
    DispatchOrder(order_, [&](auto order) {
      auto mine = Take<order()>(state_);
      mine.Merge(Take<order()>(same->state_));
      Put(mine, state_);
    });
  }
  std::size_t count() const override { return static_cast<std::size_t>(state_.sum[0]); }
  double min() const override { return state_.min; }
  double max() const override { return state_.max; }
  ScaledMoments scaled() const override {
    return ScaleCentralSums(state_.sum, state_.mean, order_, state_.min, state_.max);
  }
  std::size_t bytes() const override {
    return (static_cast<std::size_t>(order_) + 3) * sizeof(double);
  }
  std::unique_ptr<MomentAccumulator> empty_clone() const override {
    return std::make_unique<CentralAccumulator>(order_);
  }

 private:
  template <class Real>
  void Feed(std::span<const Real> values) {
    DispatchOrder(order_, [&](auto order) {
      auto mine = Take<order()>(state_);
      for (const Real x : values) {
        if (!infinities_.Take(static_cast<double>(x))) mine.Add(static_cast<double>(x));
      }
      Put(mine, state_);
    });
  }

  int order_;
  State state_ = State::Empty();
};

}  // namespace

std::unique_ptr<MomentAccumulator> MakeCentralAccumulator(int order) {
  return std::make_unique<CentralAccumulator>(order);
}

}  // namespace retable::quantiles

#pragma once
//! @file
//! What the accumulators of raw and of central sums share, on the CPU and with CUDA: one state of
//! full order. A kind of sums adds Feed, by which values get in.

#include "algorithms/common/require.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"
#include "algorithms/quantiles/sums/order_dispatch.hpp"

namespace retable::quantiles {

//! @tparam Sums PowerSums or CentralSums
template <class Self, template <class, int> class Sums>
class StateAccumulator : public MomentAccumulator {
 public:
  explicit StateAccumulator(int order) : order_(CheckOrder(order)) {}

  void update(std::span<const float> values) override { self().Feed(values); }
  void update(std::span<const double> values) override { self().Feed(values); }
  void merge(const MomentAccumulator& other) override {
    const auto* same = dynamic_cast<const Self*>(&other);
    Require(same != nullptr && same->order_ == order_,
            "merge of sums with another kind or order of sums");
    infinities_.Merge(same->infinities_);
    // The sums of order 0..l of the states of full order, and back.
    DispatchOrder(order_, [&](auto order) {
      auto mine = Sums<double, order()>::Of(state_);
      mine.Merge(Sums<double, order()>::Of(same->state_));
      state_ = State::Of(mine);
    });
  }
  std::size_t count() const override { return static_cast<std::size_t>(state_.sum[0]); }
  double min() const override { return state_.min; }
  double max() const override { return state_.max; }
  ScaledMoments scaled() const override { return Scale(state_, order_); }
  std::size_t bytes() const override {
    return (static_cast<std::size_t>(order_) + 3) * sizeof(double);
  }
  std::unique_ptr<MomentAccumulator> empty_clone() const override {
    return std::make_unique<Self>(order_);
  }

 protected:
  using State = Sums<double, kMaxOrder>;

  int order_;
  State state_ = State::Empty();

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace retable::quantiles

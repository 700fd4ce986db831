//! @file
//! Pebay's central sums on the CPU: eq. 13 for each value, eq. 12 to merge.

#include "algorithms/quantiles/sums/state_accumulator.hpp"

namespace retable::quantiles {
namespace {

class CentralAccumulator final : public StateAccumulator<CentralAccumulator, CentralSums> {
 public:
  using StateAccumulator::StateAccumulator;

 private:
  friend StateAccumulator;

  template <class Real>
  void Feed(std::span<const Real> values) {
    DispatchOrder(order_, [&](auto order) {
      auto mine = CentralSums<double, order()>::Of(state_);
      for (const Real x : values) {
        if (!infinities_.Take(static_cast<double>(x))) mine.Add(static_cast<double>(x));
      }
      state_ = State::Of(mine);
    });
  }
};

}  // namespace

std::unique_ptr<MomentAccumulator> MakeCentralAccumulator(int order) {
  return std::make_unique<CentralAccumulator>(order);
}

}  // namespace retable::quantiles

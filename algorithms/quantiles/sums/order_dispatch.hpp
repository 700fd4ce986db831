#pragma once
//! @file
//! From an order known at run time to code compiled for that order.

#include <utility>

#include "algorithms/quantiles/sums/power_sums.hpp"

namespace retable::quantiles {

//! Calls function(std::integral_constant<int, order>) for an order that CheckOrder passed.
template <class Function>
void DispatchOrder(int order, const Function& function) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((order == I + 1 ? function(std::integral_constant<int, I + 1>{}) : void()), ...);
  }
  (std::make_integer_sequence<int, kMaxOrder>{});
}

}  // namespace retable::quantiles

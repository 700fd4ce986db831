#pragma once
//! @file
//! From an order known at run time to code compiled for that order.

#include <stdexcept>
#include <string>
#include <utility>

#include "algorithms/quantiles/sums/power_sums.hpp"

namespace retable::quantiles {

//! Calls function(std::integral_constant<int, order>) for order in 1..15.
template <class Function>
void DispatchOrder(int order, const Function& function) {
  const bool found = [&]<int... I>(std::integer_sequence<int, I...>) {
    return ((order == I + 1 ? (function(std::integral_constant<int, I + 1>{}), true) : false) ||
            ...);
  }
  (std::make_integer_sequence<int, kMaxOrder>{});
  if (!found) throw std::invalid_argument("l must be 1 to 15, not " + std::to_string(order));
}

}  // namespace retable::quantiles

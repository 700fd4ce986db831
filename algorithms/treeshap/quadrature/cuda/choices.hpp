#pragma once
//! @file
//! From values to template arguments, for launches of kernels.

#include <stdexcept>
#include <string>

namespace retable::treeshap {

//! Calls function<Q>() for the one of the numbers Q that `points` is. @throws std::logic_error
//! where it is none
template <int... Q, class Function>
void ForPoints(int points, const Function& function) {
  if (!((points == Q && (function.template operator()<Q>(), true)) || ...)) {
    throw std::logic_error("no kernel for passes of " + std::to_string(points) + " points");
  }
}

//! Calls function<true>() or function<false>().
template <class Function>
void ForEither(bool value, const Function& function) {
  value ? function.template operator()<true>() : function.template operator()<false>();
}

}  // namespace retable::treeshap

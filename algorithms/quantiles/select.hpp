#pragma once
//! @file
//! A choice, for templates whose numbers are numbers or vectors of them (sums/simd.hpp).

#include "base/cuda/host_device.hpp"

namespace retable::quantiles {

//! `which ? a : b`. Vectors have a Select of their own, number by number.
template <class T>
RETABLE_HD T Select(bool which, const T& a, const T& b) {
  return which ? a : b;
}

}  // namespace retable::quantiles

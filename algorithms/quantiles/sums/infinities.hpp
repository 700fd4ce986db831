#pragma once
//! @file
//! The infinite values of a stream.

#include <cmath>
#include <cstddef>

namespace retable::quantiles {

//! Infinite values, which a sketch counts apart from the finite ones it summarises.
struct Infinities {
  std::size_t low = 0;   //!< values of minus infinity
  std::size_t high = 0;  //!< values of plus infinity

  std::size_t count() const { return low + high; }
  //! Counts x if it is infinite. @return whether it is
  bool Take(double x) {
    if (!std::isinf(x)) return false;
    ++(x < 0 ? low : high);
    return true;
  }
  void Merge(const Infinities& other) {
    low += other.low;
    high += other.high;
  }
};

}  // namespace retable::quantiles

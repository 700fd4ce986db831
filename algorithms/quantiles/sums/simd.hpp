#pragma once
//! @file
//! Eight doubles at once, in the compilers' vector extension, for code that is compiled for several
//! instruction sets (base/simd_target.hpp). Eight lanes on every target, so that the lanes' sums,
//! and hence the bits of a result, do not depend on the machine.

#include <cstring>

#include "base/simd_target.hpp"

// Vectors never cross a call that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace retable::quantiles {

using Double8 = double __attribute__((vector_size(64)));
using Long8 = long long __attribute__((vector_size(64)));

using Float8 = float __attribute__((vector_size(32)));

//! Eight values from any address, as doubles.
RETABLE_ALWAYS_INLINE Double8 Load8(const double* values) {
  Double8 x;
  std::memcpy(&x, values, sizeof x);
  return x;
}
RETABLE_ALWAYS_INLINE Double8 Load8(const float* values) {
  Float8 x;
  std::memcpy(&x, values, sizeof x);
  return __builtin_convertvector(x, Double8);
}

}  // namespace retable::quantiles

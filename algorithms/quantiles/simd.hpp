#pragma once
//! @file
//! Eight doubles at once, compiled for several instruction sets and chosen at run time.
//!
//! Code is written once with the compilers' vector extension, in always-inlined functions, and
//! instantiated inside of functions that carry a target attribute. Eight lanes on every target, so
//! that the lanes' sums, and hence the bits of a result, do not depend on the machine.

#include <cstring>

#if defined(__x86_64__)
#define RETABLE_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define RETABLE_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#endif
#define RETABLE_ALWAYS_INLINE inline __attribute__((always_inline))

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

//! Instruction sets in ascending order.
enum class Simd { kPlain, kAvx2, kAvx512 };

//! The best one of this machine.
inline Simd DetectSimd() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Simd::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Simd::kAvx2;
#endif
  return Simd::kPlain;
}

}  // namespace retable::quantiles

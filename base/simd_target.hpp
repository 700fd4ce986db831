#pragma once
//! @file
//! Functions compiled for one instruction set, and whether this processor has it.
//!
//! An always-inlined function is called from functions that carry a target; contraction is off
//! (-ffp-contract=off), so each target computes the same bits.

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define RETABLE_X86 1
#define RETABLE_AVX2 __attribute__((target("avx2,fma")))
#define RETABLE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
//! Bits counted in vectors; GCC would otherwise prefer vectors of 256 bits on some processors.
#if defined(__clang__)
#define RETABLE_AVX512_POPCNT \
  __attribute__((target("avx512f,avx512vpopcntdq"), min_vector_width(512)))
#else
#define RETABLE_AVX512_POPCNT \
  __attribute__((target("avx512f,avx512vpopcntdq,prefer-vector-width=512")))
#endif
#endif

//! One function for each instruction set, chosen when the program starts: for loops that the
//! compiler turns into vectors. Sanitizers run before the choice can be made.
#if defined(RETABLE_X86) && !defined(__clang__) && !defined(RETABLE_SANITIZED)
#define RETABLE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RETABLE_CLONES
#endif

#define RETABLE_ALWAYS_INLINE inline __attribute__((always_inline))
//! The same of a lambda.
#define RETABLE_INLINED __attribute__((always_inline))

namespace retable {

//! The widest vectors that may be used, in bits. For tests, which set it before threads start:
//! results never depend on it.
inline int widest_vectors = 512;

#if defined(RETABLE_X86)
//! What RETABLE_AVX2 asks for.
inline bool HasAvx2() {
  return widest_vectors >= 256 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
//! What RETABLE_AVX512 asks for: every server processor from 2017 on that has vectors of 512 bits.
inline bool HasAvx512() {
  return widest_vectors >= 512 && HasAvx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}
//! What RETABLE_AVX512_POPCNT asks for.
inline bool HasAvx512Popcnt() {
  return widest_vectors >= 512 && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512vpopcntdq");
}
#endif

//! Instruction sets in ascending order, for code that is compiled for all of them.
enum class Simd { kPlain, kAvx2, kAvx512 };

//! The best one of this machine.
inline Simd DetectSimd() {
#if defined(RETABLE_X86)
  if (HasAvx512()) return Simd::kAvx512;
  if (HasAvx2()) return Simd::kAvx2;
#endif
  return Simd::kPlain;
}

#if defined(RETABLE_X86)
template <class Function>
RETABLE_AVX512 auto CallWithAvx512(const Function& function) {
  return function.template operator()<8>();
}
template <class Function>
RETABLE_AVX2 auto CallWithAvx2(const Function& function) {
  return function.template operator()<4>();
}
#endif

//! function.operator()<W>() compiled for the best instruction set of this machine, whose vectors
//! hold W doubles. Constraint: the function is always inlined, with all that it calls, as the
//! target is that of its caller:
//!     ByWidestVectors([&]<int W>() RETABLE_INLINED { return Sum<W>(values, n); });
template <class Function>
auto ByWidestVectors(const Function& function) {
#if defined(RETABLE_X86)
  static const Simd simd = DetectSimd();
  if (simd == Simd::kAvx512) return CallWithAvx512(function);
  if (simd == Simd::kAvx2) return CallWithAvx2(function);
#endif
  return function.template operator()<2>();
}

}  // namespace retable

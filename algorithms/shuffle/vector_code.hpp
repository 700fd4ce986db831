#pragma once
//! @file
//! Functions written for one instruction set, and whether this processor has it.

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define RETABLE_X86 1
#define RETABLE_AVX2 __attribute__((target("avx2")))
#define RETABLE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#endif

//! One function per instruction set, chosen at start. Sanitizers run before the choice can be made.
#if defined(RETABLE_X86) && !defined(__clang__) && !defined(RETABLE_SANITIZED)
#define RETABLE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETABLE_CLONES
#endif

namespace retable::shuffle {

//! The widest vectors that may be used, in bits. For tests, which set it before threads start:
//! results never depend on it.
inline int widest_vectors = 512;

#if defined(RETABLE_X86)
inline bool HasAvx2() {
  return widest_vectors >= 256 && __builtin_cpu_supports("avx2");
}
//! What RETABLE_AVX512 asks for: every server processor from 2017 on that has vectors of 512 bits.
inline bool HasAvx512() {
  return widest_vectors >= 512 && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}
#endif

}  // namespace retable::shuffle

#pragma once
//! @file
//! RETABLE_WIDE before a function compiles its loops for AVX-512 and AVX2 too and takes the widest
//! that the machine has. Without fused multiply-adds (-ffp-contract=off) and sums regrouped, the
//! results are the same bits on each.

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(RETABLE_SANITIZED)
#define RETABLE_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RETABLE_WIDE
#endif

#pragma once
//! @file
//! How loops are unrolled, each written before a loop of known length.
//!
//!   RETABLE_UNROLL       in full, on a device only: arrays stay in registers there, and the host's
//!                        compiler makes its own vectors of a loop that it sees whole
//!   RETABLE_UNROLL_ALL   in full, on the host too: running sums stay in registers
//!   RETABLE_ROLLED       not at all on a device: a large body would not stay in its cache

#if defined(__CUDA_ARCH__)
#define RETABLE_UNROLL _Pragma("unroll")
#define RETABLE_UNROLL_ALL _Pragma("unroll")
#define RETABLE_ROLLED _Pragma("unroll 1")
#else
#define RETABLE_UNROLL
#if defined(__clang__)
#define RETABLE_UNROLL_ALL _Pragma("unroll")
#elif defined(__CUDACC__)
#define RETABLE_UNROLL_ALL
#else
#define RETABLE_UNROLL_ALL _Pragma("GCC unroll 32")
#endif
#define RETABLE_ROLLED
#endif

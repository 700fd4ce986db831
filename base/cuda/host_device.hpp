#pragma once
//! @file
//! Marks a function that runs on the host and on a CUDA device, so that the mathematics of a CPU
//! and of a CUDA backend is one piece of code, tested where there is no GPU.

#if defined(__CUDACC__)
#define RETABLE_HD __host__ __device__ __forceinline__
#else
#define RETABLE_HD inline
#endif

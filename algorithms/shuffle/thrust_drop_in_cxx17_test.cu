// The same as C++17 (build.cmake).

#define RETABLE_DROP_IN_HOST ThrustDropInCxx17
#define RETABLE_DROP_IN_CUDA CudaThrustDropInCxx17
#include "algorithms/shuffle/testing/thrust_usage.cuh"

static_assert(__cplusplus < 202002L, "this test is for programs in C++17");

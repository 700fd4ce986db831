#define RETABLE_DROP_IN_HOST ThrustDropIn
#define RETABLE_DROP_IN_CUDA CudaThrustDropIn
#include "algorithms/shuffle/testing/thrust_usage.cuh"

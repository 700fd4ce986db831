#include "base/cuda/devices.hpp"

#if defined(RETABLE_HAS_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace retable {

int CudaDeviceCount() {
#if defined(RETABLE_HAS_CUDA)
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
#endif
  return 0;
}

}  // namespace retable

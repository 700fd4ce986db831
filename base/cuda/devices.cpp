#include "base/cuda/devices.hpp"

#include <cstdlib>
#include <stdexcept>

#if defined(RETABLE_HAS_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace retable {

CudaState AskCuda() {
  CudaState state;
#if defined(RETABLE_HAS_CUDA)
  state.compiled = true;
  state.oldest_code = RETABLE_CUDA_OLDEST;
  state.visible_set = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  if (cudaRuntimeGetVersion(&state.runtime_version) != cudaSuccess) state.runtime_version = 0;
  if (cudaDriverGetVersion(&state.driver_version) != cudaSuccess) state.driver_version = 0;
  const cudaError_t error = cudaGetDeviceCount(&state.devices);
  if (error != cudaSuccess) {
    cudaGetLastError();  // nothing is left behind for the next call
    state.error = static_cast<int>(error);
    state.error_text = cudaGetErrorString(error);
    state.devices = 0;
    return state;
  }
  int major = 0, minor = 0;
  if (state.devices > 0 &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess) {
    state.capability = 10 * major + minor;
  }
#endif
  return state;
}

const NoDevice& WhyNoDevice() {
  static const NoDevice answer = WhyNoDevice(AskCuda());
  return answer;
}

NoDevice WhyNoContext([[maybe_unused]] bool keep) {
  if (WhyNoDevice().any()) return WhyNoDevice();
#if defined(RETABLE_HAS_CUDA)
  const cudaError_t error = cudaFree(nullptr);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return WhyNoContext(static_cast<int>(error), cudaGetErrorString(error));
  }
  if (!keep) cudaDeviceReset();
#endif
  return {};
}

void RequireDevice() {
  const NoDevice none = WhyNoContext(true);
  if (none.any()) throw std::invalid_argument(none.why + "; " + none.remedy);
}

int CudaDeviceCount() {
#if defined(RETABLE_HAS_CUDA)
  int count = 0;
  if (!WhyNoDevice().any() && cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
#endif
  return 0;
}

}  // namespace retable

#include "retable/core.hpp"

#include "base/cuda/devices.hpp"
#include "base/parallel.hpp"

namespace retable {

const char* Version() {
  return RETABLE_VERSION;
}

bool BuiltWithCuda() {
#if defined(RETABLE_HAS_CUDA)
  return true;
#else
  return false;
#endif
}

int CudaDevices() {
  return CudaDeviceCount();
}

int Threads() {
  return AvailableThreads();
}

void Interruptible(const std::function<void()>& check, const std::function<void()>& work) {
  WithChecks(check, work);
}

}  // namespace retable

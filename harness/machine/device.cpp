#include "harness/machine/device.hpp"

#include "base/cuda/cards.hpp"

namespace retable::harness {

#if !defined(RETABLE_HAS_CUDA)
CudaPlatform QueryCuda() {
  CudaPlatform platform;
  platform.why = "this program was built without CUDA (no CUDA compiler was found, or it was off)";
  return platform;
}
#endif

bool CudaDevicePresent(std::string* why) {
  const CudaPlatform platform = QueryCuda();
  if (why != nullptr) *why = platform.why;
  return !platform.devices.empty();
}

std::string DeviceClass(const CudaDevice& device) {
  const CardLimits* emulated = EmulatedCard();
  return device.name + " sm_" + std::to_string(device.capability_major) +
         std::to_string(device.capability_minor) +
         (emulated == nullptr ? "" : " as " + std::string(emulated->name));
}

std::string DeviceClass() {
  const CudaPlatform platform = QueryCuda();
  return platform.devices.empty() ? "no device" : DeviceClass(platform.devices.front());
}

std::string CudaVersionText(int version) {
  if (version <= 0) return "none";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace retable::harness

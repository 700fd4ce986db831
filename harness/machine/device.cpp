#include "harness/machine/device.hpp"

#include "base/cuda/cards.hpp"
#include "base/cuda/devices.hpp"

namespace retable::harness {

#if !defined(RETABLE_HAS_CUDA)
CudaPlatform QueryCuda() {
  CudaPlatform platform;
  platform.why = WhyNoDevice().why;
  platform.remedy = WhyNoDevice().remedy;
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

}  // namespace retable::harness

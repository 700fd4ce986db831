#include <cuda_runtime_api.h>

#include "base/cuda/devices.hpp"
#include "base/sha256.hpp"
#include "harness/machine/device.hpp"

namespace retable::harness {
namespace {

// An attribute that this driver does not know reads as 0.
int Attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess) {
    cudaGetLastError();  // not sticky: clear it
    return 0;
  }
  return value;
}

CudaDevice Describe(int index) {
  CudaDevice device;
  device.index = index;
  device.name = "unnamed device";
  // Memory, too, from the properties, since cudaMemGetInfo would create a context on the card.
  if (cudaDeviceProp p; cudaGetDeviceProperties(&p, index) == cudaSuccess) {
    device.name = p.name;
    // A hash: whoever reads a recording learns which rows are of one card, not its serial number.
    device.card = Sha256({p.uuid.bytes, sizeof p.uuid.bytes}).substr(0, 8);
    device.memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem);
  } else {
    cudaGetLastError();  // not sticky: clear it
  }
  if (char place[32]; cudaDeviceGetPCIBusId(place, sizeof place, index) == cudaSuccess) {
    device.pci = place;
  } else {
    cudaGetLastError();
  }
  device.capability_major = Attribute(cudaDevAttrComputeCapabilityMajor, index);
  device.capability_minor = Attribute(cudaDevAttrComputeCapabilityMinor, index);
  device.multiprocessors = Attribute(cudaDevAttrMultiProcessorCount, index);
  device.l2_bytes = Attribute(cudaDevAttrL2CacheSize, index);
  device.shared_bytes_per_multiprocessor =
      Attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, index);
  device.threads_per_multiprocessor = Attribute(cudaDevAttrMaxThreadsPerMultiProcessor, index);
  device.clock_khz = Attribute(cudaDevAttrClockRate, index);
  device.memory_clock_khz = Attribute(cudaDevAttrMemoryClockRate, index);
  device.memory_bus_bits = Attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  device.ecc = Attribute(cudaDevAttrEccEnabled, index) != 0;
  device.copy_engines = Attribute(cudaDevAttrAsyncEngineCount, index);
  return device;
}

}  // namespace

CudaPlatform QueryCuda() {
  const CudaState state = AskCuda();
  const NoDevice none = WhyNoDevice(state);
  CudaPlatform platform;
  platform.driver_version = state.driver_version;
  platform.runtime_version = state.runtime_version;
  platform.why = none.why;
  platform.remedy = none.remedy;
  if (none.any()) return platform;
  for (int i = 0; i < state.devices; ++i) platform.devices.push_back(Describe(i));
  return platform;
}

}  // namespace retable::harness

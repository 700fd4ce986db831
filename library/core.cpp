#include "retable/core.hpp"

#include <stdexcept>

#include "base/cuda/devices.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/on_device.hpp"
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

std::string WhyNoCudaDevice() {
  return WhyNoCuda();
}

#if defined(RETABLE_HAS_CUDA)

DeviceMemory::DeviceMemory(std::size_t bytes) : size_(bytes) {
  const OnDevice device;
  cudaEvent_t event = nullptr;
  CheckCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  written_ = event;
  try {
    if (bytes > 0) data_ = AllocateOnDevice(bytes);
  } catch (...) {
    cudaEventDestroy(event);
    throw;
  }
}

DeviceMemory::~DeviceMemory() {
  cudaFree(data_);
  cudaEventDestroy(static_cast<cudaEvent_t>(written_));
}

void DeviceMemory::written_on(void* stream) {
  const OnDevice device;
  CheckCuda(cudaEventRecord(static_cast<cudaEvent_t>(written_), static_cast<cudaStream_t>(stream)),
            "cudaEventRecord");
}

void DeviceMemory::wait_on(void* stream) const {
  const OnDevice device;
  CheckCuda(
      cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(written_)),
      "cudaStreamWaitEvent");
}

bool DeviceMemory::written() const {
  const cudaError_t status = cudaEventQuery(static_cast<cudaEvent_t>(written_));
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  CheckCuda(status, "cudaEventQuery");
  return true;
}

void DeviceMemory::synchronize() const {
  CheckCuda(cudaEventSynchronize(static_cast<cudaEvent_t>(written_)), "cudaEventSynchronize");
}

void CopyToHost(const void* from, void* to, std::size_t bytes, void* stream) {
  const OnDevice device;
  const auto on = static_cast<cudaStream_t>(stream);
  if (bytes > 0) {
    CheckCuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, on), "download");
  }
  CheckCuda(cudaStreamSynchronize(on), "download");
}

std::string WhyNotOnDevice(const void* address) {
  const OnDevice device;
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, address) != cudaSuccess) {
    cudaGetLastError();
    return "it is no address that CUDA knows";
  }
  if (found.type == cudaMemoryTypeManaged) return "";
  if (found.type != cudaMemoryTypeDevice) return "it is memory of the host";
  if (found.device == 0) return "";
  return "it is memory of CUDA device " + std::to_string(found.device) +
         ", and this library works on device 0: CUDA_VISIBLE_DEVICES chooses which that is";
}

#else

DeviceMemory::DeviceMemory(std::size_t) {
  throw std::invalid_argument(WhyNoCudaDevice());
}
DeviceMemory::~DeviceMemory() = default;
void DeviceMemory::written_on(void*) {}
void DeviceMemory::wait_on(void*) const {}
bool DeviceMemory::written() const {
  return true;
}
void DeviceMemory::synchronize() const {}
void CopyToHost(const void*, void*, std::size_t, void*) {
  throw std::invalid_argument(WhyNoCudaDevice());
}
std::string WhyNotOnDevice(const void*) {
  return WhyNoCudaDevice();
}

#endif

int Threads() {
  return AvailableThreads();
}

void Interruptible(const std::function<void()>& check, const std::function<void()>& work) {
  WithChecks(check, work);
}

}  // namespace retable

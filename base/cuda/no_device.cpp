#include "base/cuda/no_device.hpp"

namespace retable {
namespace {

std::string CapabilityText(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// Errors of the runtime, by their numbers, which are part of its interface: the header is not there
// where CUDA is not compiled.
enum Error : int {
  kMemoryAllocation = 2,
  kInsufficientDriver = 35,
  kDevicesUnavailable = 46,
  kNoDevice = 100,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
};

constexpr int kOldestSupported = 75;

NoDevice OfError(const CudaState& s) {
  switch (s.error) {
    case kInsufficientDriver:
      return {"the driver knows CUDA " + CudaVersionText(s.driver_version) +
                  ", this program needs " + CudaVersionText(s.runtime_version),
              "update the driver, or build with a toolkit of CUDA " +
                  CudaVersionText(s.driver_version) + ": CUDACXX=<its nvcc> make build"};
    case kNoDevice:
      if (s.visible_set) {
        return {"CUDA_VISIBLE_DEVICES hides every card", "unset CUDA_VISIBLE_DEVICES"};
      }
      return {"the driver sees no card", "`nvidia-smi -L` lists what it sees"};
    case kSystemNotReady:
      return {"the driver waits for the fabric manager",
              "sudo systemctl start nvidia-fabricmanager"};
    case kSystemDriverMismatch:
      return {"the loaded driver and its library are of different versions",
              "restart the machine, so that the installed driver is loaded"};
    default:
      return {s.error_text, "`nvidia-smi` says what the driver sees"};
  }
}

NoDevice Reason(const CudaState& s) {
  if (!s.compiled) {
    return {
        "this program was built without CUDA",
        "install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads; on Ubuntu: "
        "sudo apt-get install nvidia-cuda-toolkit), then build again: make build, or cmake with "
        "-DRETABLE_CUDA=ON"};
  }
  if (s.driver_version == 0) {
    return {"no NVIDIA driver is loaded",
            "on Debian: sudo apt-get install nvidia-driver; in a container: docker run --gpus all"};
  }
  if (s.error != 0) return OfError(s);
  if (s.devices == 0) {
    return {"the driver lists no device", "`nvidia-smi -L` lists what it sees"};
  }
  if (s.capability < kOldestSupported) {
    return {"the card is of compute capability " + CapabilityText(s.capability) +
                ", and CUDA methods need " + CapabilityText(kOldestSupported),
            "use another card, or --device cpu"};
  }
  if (s.capability < s.oldest_code) {
    return {"the card is of compute capability " + CapabilityText(s.capability) +
                ", and this program has code from " + CapabilityText(s.oldest_code) + " on",
            "build on this machine: make clean build"};
  }
  return {};
}

}  // namespace

NoDevice WhyNoDevice(const CudaState& state) {
  NoDevice none = Reason(state);
  none.driver = state.driver_version > 0;
  return none;
}

NoDevice WhyNoContext(int error, const std::string& text) {
  switch (error) {
    case 0:
      return {};
    case kMemoryAllocation:
      return {"the card's memory is full", "`nvidia-smi` names the processes that hold it", true};
    case kDevicesUnavailable:
      return {"another process holds the card, which takes one at a time",
              "wait for it (`nvidia-smi` names it), or: sudo nvidia-smi -c DEFAULT", true};
    default:
      return {text, "`nvidia-smi` says what state the card is in", true};
  }
}

std::string CudaVersionText(int version) {
  if (version <= 0) return "none";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace retable

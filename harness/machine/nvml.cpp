#include "harness/machine/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace retable::harness {
namespace {

// The parts of NVML's interface (stable since its version 2) that are used here.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr unsigned kGpuTemperature = 0;             // nvmlTemperatureSensors_t

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  bool ready = false;
  std::string why;

  // Whether the library has this function, and it succeeds.
  template <typename... Arguments>
  bool Call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle, name));
    return function != nullptr && function(arguments...) == kSuccess;
  }

  // What a function of this name says of a device.
  template <typename Number = unsigned, typename... Kind>
  std::optional<Number> Ask(const char* name, Device device, Kind... kind) const {
    Number value = 0;
    if (!Call(name, device, kind..., &value)) return {};
    return value;
  }

  void Open() {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      why = "libnvidia-ml.so.1 not found (it comes with NVIDIA's driver)";
      return;
    }
    const auto init = reinterpret_cast<int (*)()>(dlsym(handle, "nvmlInit_v2"));
    if (init == nullptr) {
      why = "libnvidia-ml.so.1 has no nvmlInit_v2";
      return;
    }
    if (const int error = init(); error != kSuccess) {
      why = "NVML does not start (error " + std::to_string(error) + "; is the driver loaded?)";
      return;
    }
    ready = true;
  }

  std::optional<Device> Find(const std::string& pci) const {
    Device device = nullptr;
    if (!ready || !Call("nvmlDeviceGetHandleByPciBusId_v2", pci.c_str(), &device)) return {};
    return device;
  }
};

Nvml::Nvml() : library_(std::make_unique<Library>()) {
  library_->Open();
}

Nvml::~Nvml() {
  if (library_->ready) library_->Call("nvmlShutdown");
  if (library_->handle != nullptr) dlclose(library_->handle);
}

bool Nvml::available() const {
  return library_->ready;
}
const std::string& Nvml::why() const {
  return library_->why;
}

std::optional<std::string> Nvml::driver_version() const {
  std::array<char, 96> text{};
  if (!library_->ready || !library_->Call("nvmlSystemGetDriverVersion", text.data(),
                                          static_cast<unsigned>(text.size()))) {
    return {};
  }
  return std::string(text.data());
}

GpuState Nvml::state(const std::string& pci) const {
  GpuState state;
  const auto found = library_->Find(pci);
  if (!found) return state;
  const Library& l = *library_;
  state.sm_mhz = l.Ask("nvmlDeviceGetClockInfo", *found, kSmClock);
  state.memory_mhz = l.Ask("nvmlDeviceGetClockInfo", *found, kMemoryClock);
  state.max_sm_mhz = l.Ask("nvmlDeviceGetMaxClockInfo", *found, kSmClock);
  state.max_memory_mhz = l.Ask("nvmlDeviceGetMaxClockInfo", *found, kMemoryClock);
  state.temperature_celsius = l.Ask("nvmlDeviceGetTemperature", *found, kGpuTemperature);
  const auto used = l.Ask("nvmlDeviceGetPowerUsage", *found);  // milliwatt
  const auto most = l.Ask("nvmlDeviceGetEnforcedPowerLimit", *found);
  if (used) state.power_watt = *used / 1000.0;
  if (most) state.power_limit_watt = *most / 1000.0;
  if (const auto on = l.Ask("nvmlDeviceGetPersistenceMode", *found)) state.persistence = *on != 0;
  state.throttle_mask =
      l.Ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", *found);
  if (!state.throttle_mask) {  // its newer name
    state.throttle_mask =
        l.Ask<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", *found);
  }
  unsigned now = 0, next = 0;
  if (l.Call("nvmlDeviceGetMigMode", *found, &now, &next)) state.mig = now != 0;
  return state;
}

std::vector<std::string> ThrottleReasons(std::uint64_t mask) {
  struct Reason {
    std::uint64_t bit;
    const char* name;
  };
  constexpr Reason kReasons[] = {
      {0x04, "power cap"},          {0x08, "hardware slowdown"},  {0x10, "sync boost"},
      {0x20, "thermal (software)"}, {0x40, "thermal (hardware)"}, {0x80, "power brake"},
  };
  std::vector<std::string> reasons;
  for (const Reason& reason : kReasons) {
    if ((mask & reason.bit) != 0) reasons.emplace_back(reason.name);
  }
  return reasons;
}

}  // namespace retable::harness

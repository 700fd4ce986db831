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

template <typename Function>
Function Symbol(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

}  // namespace

struct Nvml::Library {
  using Plain = int (*)();
  using Text = int (*)(char*, unsigned);
  using Handle = int (*)(unsigned, Device*);
  using DeviceText = int (*)(Device, char*, unsigned);
  using DeviceNumber = int (*)(Device, unsigned*);
  using DeviceLong = int (*)(Device, unsigned long long*);
  using DeviceKind = int (*)(Device, unsigned, unsigned*);
  using DevicePair = int (*)(Device, unsigned*, unsigned*);

  void* handle = nullptr;
  bool ready = false;
  std::string why;
  Plain shutdown = nullptr;
  Text driver = nullptr;
  Handle by_index = nullptr;
  DeviceText name = nullptr;
  DeviceKind clock = nullptr, max_clock = nullptr, temperature = nullptr;
  DeviceNumber power = nullptr, power_limit = nullptr, persistence = nullptr;
  DeviceLong reasons = nullptr;
  DevicePair mig = nullptr;

  void Open() {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      why = "libnvidia-ml.so.1 not found (it comes with NVIDIA's driver)";
      return;
    }
    const auto init = Symbol<Plain>(handle, "nvmlInit_v2");
    if (init == nullptr) {
      why = "libnvidia-ml.so.1 has no nvmlInit_v2";
      return;
    }
    if (const int error = init(); error != kSuccess) {
      why = "NVML does not start (error " + std::to_string(error) + "; is the driver loaded?)";
      return;
    }
    Bind();
    ready = true;
  }

  void Bind() {
    shutdown = Symbol<Plain>(handle, "nvmlShutdown");
    driver = Symbol<Text>(handle, "nvmlSystemGetDriverVersion");
    by_index = Symbol<Handle>(handle, "nvmlDeviceGetHandleByIndex_v2");
    name = Symbol<DeviceText>(handle, "nvmlDeviceGetName");
    clock = Symbol<DeviceKind>(handle, "nvmlDeviceGetClockInfo");
    max_clock = Symbol<DeviceKind>(handle, "nvmlDeviceGetMaxClockInfo");
    temperature = Symbol<DeviceKind>(handle, "nvmlDeviceGetTemperature");
    power = Symbol<DeviceNumber>(handle, "nvmlDeviceGetPowerUsage");
    power_limit = Symbol<DeviceNumber>(handle, "nvmlDeviceGetEnforcedPowerLimit");
    persistence = Symbol<DeviceNumber>(handle, "nvmlDeviceGetPersistenceMode");
    reasons = Symbol<DeviceLong>(handle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (reasons == nullptr) {  // its newer name
      reasons = Symbol<DeviceLong>(handle, "nvmlDeviceGetCurrentClocksEventReasons");
    }
    mig = Symbol<DevicePair>(handle, "nvmlDeviceGetMigMode");
  }

  std::optional<Device> Find(int index) const {
    Device device = nullptr;
    if (!ready || index < 0 || by_index == nullptr) return {};
    if (by_index(static_cast<unsigned>(index), &device) != kSuccess) return {};
    return device;
  }

  static std::optional<int> Kind(DeviceKind function, Device device, unsigned kind) {
    unsigned value = 0;
    if (function == nullptr || function(device, kind, &value) != kSuccess) return {};
    return static_cast<int>(value);
  }

  static std::optional<unsigned> Number(DeviceNumber function, Device device) {
    unsigned value = 0;
    if (function == nullptr || function(device, &value) != kSuccess) return {};
    return value;
  }

  static std::optional<double> Watt(DeviceNumber function, Device device) {
    const auto milliwatt = Number(function, device);
    if (!milliwatt) return {};
    return *milliwatt / 1000.0;
  }
};

Nvml::Nvml() : library_(std::make_unique<Library>()) {
  library_->Open();
}

Nvml::~Nvml() {
  if (library_->ready && library_->shutdown != nullptr) library_->shutdown();
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
  if (!library_->ready || library_->driver == nullptr) return {};
  if (library_->driver(text.data(), static_cast<unsigned>(text.size())) != kSuccess) return {};
  return std::string(text.data());
}

std::optional<std::string> Nvml::name(int device) const {
  const auto found = library_->Find(device);
  std::array<char, 128> text{};
  if (!found || library_->name == nullptr) return {};
  if (library_->name(*found, text.data(), static_cast<unsigned>(text.size())) != kSuccess)
    return {};
  return std::string(text.data());
}

GpuState Nvml::state(int device) const {
  GpuState state;
  const auto found = library_->Find(device);
  if (!found) return state;
  const Library& l = *library_;
  state.sm_mhz = Library::Kind(l.clock, *found, kSmClock);
  state.memory_mhz = Library::Kind(l.clock, *found, kMemoryClock);
  state.max_sm_mhz = Library::Kind(l.max_clock, *found, kSmClock);
  state.max_memory_mhz = Library::Kind(l.max_clock, *found, kMemoryClock);
  state.temperature_celsius = Library::Kind(l.temperature, *found, kGpuTemperature);
  state.power_watt = Library::Watt(l.power, *found);
  state.power_limit_watt = Library::Watt(l.power_limit, *found);
  if (const auto mode = Library::Number(l.persistence, *found)) state.persistence = *mode != 0;
  unsigned long long mask = 0;
  if (l.reasons != nullptr && l.reasons(*found, &mask) == kSuccess) state.throttle_mask = mask;
  unsigned now = 0, next = 0;
  if (l.mig != nullptr && l.mig(*found, &now, &next) == kSuccess) state.mig = now != 0;
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

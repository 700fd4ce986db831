#include "harness/machine/environment.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/cuda/devices.hpp"
#include "base/cuda/no_device.hpp"
#include "harness/machine/build_info.hpp"
#include "harness/machine/device.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/machine/nvml.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace {

using nlohmann::json;

// Only these: other variables may hold what is nobody's business.
constexpr const char* kVariables[] = {"OMP_NUM_THREADS",      "OMP_PROC_BIND",
                                      "OMP_PLACES",           "GOMP_CPU_AFFINITY",
                                      "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                      "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING",
                                      "CUDA_DEVICE_ORDER",    "CUDA_DEVICE_MAX_CONNECTIONS",
                                      "CUDA_MODULE_LOADING",  "GLIBC_TUNABLES",
                                      "MALLOC_ARENA_MAX",     "NVIDIA_TF32_OVERRIDE",
                                      "RETABLE_TRAINING_ROWS"};

// Sets a field only if there is something to say.
template <typename T>
void Put(json& object, const char* name, const T& value) {
  if (value > T{}) object[name] = value;
}
template <typename T>
void Put(json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

json CpuJson(const HostInfo& facts) {
  json cpu;
  Put(cpu, "model", facts.cpu.model);
  Put(cpu, "vendor", facts.cpu.vendor);
  cpu["isa"] = facts.cpu.isa;
  Put(cpu, "sockets", facts.cpu.sockets);
  Put(cpu, "cores", facts.cpu.cores);
  Put(cpu, "threads", facts.cpu.threads);
  Put(cpu, "threads_allowed", facts.allowed);
  Put(cpu, "quota", facts.quota);
  Put(cpu, "governor", facts.governor);
  Put(cpu, "turbo", facts.turbo);
  Put(cpu, "max_mhz", facts.max_mhz);
  for (const CacheFacts& cache : facts.caches) {
    cpu["caches"].push_back({{"level", cache.level},
                             {"type", cache.type},
                             {"bytes", cache.bytes},
                             {"shared_by", cache.shared_by}});
  }
  return cpu;
}

json MemoryJson(const HostInfo& facts) {
  json memory;
  Put(memory, "total_bytes", facts.memory_bytes);
  Put(memory, "available_bytes", facts.available_bytes);
  Put(memory, "limit_bytes", facts.memory_limit_bytes);
  return memory;
}

json OsJson(const HostInfo& facts) {
  json os;
  Put(os, "kernel", facts.kernel);
  Put(os, "distribution", facts.distribution);
  Put(os, "container", facts.container);
  Put(os, "virtualisation", facts.virtualisation);
  Put(os, "huge_pages", facts.huge_pages);
  Put(os, "boot", facts.boot);
  Put(os, "address_randomisation", facts.address_randomisation);
  return os;
}

json CompilerJson(const BuildInfo& build) {
  json compiler{{"name", build.compiler},
                {"version", build.compiler_version},
                {"standard", build.standard},
                {"flags", build.flags},
                {"build_type", build.build_type}};
  if (build.sanitized) compiler["sanitized"] = true;
  return compiler;
}

json SourceJson(const SourceState& state) {
  json source;
  Put(source, "commit", state.commit);
  source["dirty"] = state.dirty;
  return source;
}

// The tree as it is now where it is still there, and as it was when built.
json GitJson() {
  const json built = SourceJson(BuiltSourceState());
  const SourceState now = ReadSourceState();
  const bool here = !now.commit.empty();
  json git = here ? SourceJson(now) : built;
  git["when"] = here ? "run" : "built";
  git["built"] = built;
  return git;
}

json CudaJson(const BuildInfo& build, const CudaPlatform& platform) {
  json cuda{{"compiled", AskCuda().compiled}};
  Put(cuda, "compiler", build.cuda_compiler);
  Put(cuda, "architectures", build.cuda_architectures);
  if (platform.runtime_version > 0) cuda["runtime"] = CudaVersionText(platform.runtime_version);
  if (platform.driver_version > 0) {
    cuda["driver_supports"] = CudaVersionText(platform.driver_version);
  }
  Put(cuda, "why_no_device", platform.why);
  return cuda;
}

json StateJson(const GpuState& state) {
  json now;
  Put(now, "sm_mhz", state.sm_mhz);
  Put(now, "memory_mhz", state.memory_mhz);
  Put(now, "power_watt", state.power_watt);
  Put(now, "temperature_celsius", state.temperature_celsius);
  if (state.throttle_mask) now["throttling"] = ThrottleReasons(*state.throttle_mask);
  return now;
}

json GpuJson(const CudaDevice& device, const Nvml& nvml) {
  json gpu{{"name", device.name},
           {"capability", std::to_string(device.capability_major) + "." +
                              std::to_string(device.capability_minor)},
           {"ecc", device.ecc}};
  Put(gpu, "card", device.card);
  Put(gpu, "multiprocessors", device.multiprocessors);
  Put(gpu, "memory_bytes", device.memory_bytes);
  Put(gpu, "l2_bytes", device.l2_bytes);
  Put(gpu, "shared_bytes_per_multiprocessor", device.shared_bytes_per_multiprocessor);
  Put(gpu, "clock_mhz", device.clock_khz / 1000);
  Put(gpu, "memory_clock_mhz", device.memory_clock_khz / 1000);
  Put(gpu, "memory_bus_bits", device.memory_bus_bits);
  Put(gpu, "copy_engines", device.copy_engines);
  if (!nvml.available()) return gpu;
  const GpuState state = nvml.state(device.pci);
  Put(gpu, "driver", nvml.driver_version());
  Put(gpu, "max_sm_mhz", state.max_sm_mhz);
  Put(gpu, "max_memory_mhz", state.max_memory_mhz);
  Put(gpu, "power_limit_watt", state.power_limit_watt);
  Put(gpu, "persistence", state.persistence);
  Put(gpu, "mig", state.mig);
  gpu["now"] = StateJson(state);
  return gpu;
}

json VariablesJson() {
  json variables = json::object();
  for (const char* name : kVariables) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  return variables;
}

// Flat names of the leaves: "cpu.model", "gpu.0.name".
void Flatten(const json& node, const std::string& path, std::map<std::string, std::string>& flat) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) {
      Flatten(value, path.empty() ? key : path + "." + key, flat);
    }
  } else if (node.is_array() && !node.empty() && node[0].is_object()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      Flatten(node[i], path + "." + std::to_string(i), flat);
    }
  } else {
    flat[path] = node.is_string() ? node.get<std::string>() : node.dump();
  }
}

bool OfTheMoment(const std::string& path) {
  return path == "captured" || path == "profile" || path == "busy" || path == "os.boot" ||
         path.rfind("activity.", 0) == 0 || path == "load" || path == "memory.available_bytes" ||
         path.rfind("git.built", 0) == 0 || path == "git.when" ||
         path.rfind("git.configured", 0) == 0 ||  // of older programs
         path.find(".now.") != std::string::npos;
}

}  // namespace

json CaptureEnvironment() {
  const HostInfo machine = ReadHostInfo();
  const BuildInfo build = GetBuildInfo();
  const CudaPlatform platform = QueryCuda();
  json environment{{"schema", 1},
                   {"captured", UtcNow()},
                   {"cpu", CpuJson(machine)},
                   {"memory", MemoryJson(machine)},
                   {"os", OsJson(machine)},
                   {"load", machine.load},
                   {"compiler", CompilerJson(build)},
                   {"libraries", build.libraries},
                   {"git", GitJson()},
                   {"cuda", CudaJson(build, platform)},
                   {"variables", VariablesJson()},
                   {"gpu", nullptr}};
  if (platform.devices.empty()) return environment;
  const Nvml nvml;
  environment["gpu"] = json::array();
  for (const CudaDevice& device : platform.devices) {
    environment["gpu"].push_back(GpuJson(device, nvml));
  }
  return environment;
}

void AddActivity(json& environment, Activity activity) {
  activity.busiest.clear();
  environment["activity"] = {{"others_processors", activity.others},
                             {"processors", activity.processors},
                             {"throttled", activity.throttled},
                             {"load", environment["load"]}};
  environment["busy"] = json::array();
  if (!activity.Busy()) return;
  environment["busy"].push_back(activity.Text());
  environment["busy"].push_back(
      fmt::format("load {:.1f} over the minute before", environment["load"][0].get<double>()));
}

std::vector<std::string> EnvironmentDifferences(const json& a, const json& b) {
  std::map<std::string, std::string> first, second;
  Flatten(a, "", first);
  Flatten(b, "", second);
  std::set<std::string> paths;
  for (const auto& [path, value] : first) paths.insert(path);
  for (const auto& [path, value] : second) paths.insert(path);
  std::vector<std::string> differences;
  for (const std::string& path : paths) {
    if (OfTheMoment(path)) continue;
    const auto left = first.find(path), right = second.find(path);
    const std::string here = left == first.end() ? "(not told)" : left->second;
    const std::string there = right == second.end() ? "(not told)" : right->second;
    if (here != there) differences.push_back(path + ": " + here + " | " + there);
  }
  return differences;
}

}  // namespace retable::harness

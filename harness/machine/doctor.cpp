#include "harness/machine/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "base/cuda/devices.hpp"
#include "harness/cli/report.hpp"
#include "harness/cli/shell.hpp"
#include "harness/machine/nvml.hpp"
#include "harness/roofline/ceilings.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace {

bool Succeeds(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

std::string Bytes(std::int64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

void Line(std::ostream& out, const std::string& name, const std::string& text) {
  if (!text.empty()) out << fmt::format("  {:<12} {}\n", name, text);
}

std::string CachesText(const HostInfo& machine) {
  std::string text;
  for (const CacheFacts& cache : machine.caches) {
    if (cache.type == "Instruction") continue;
    text += fmt::format("{}L{} {} (processors {})", text.empty() ? "" : ", ", cache.level,
                        Bytes(cache.bytes), cache.shared_by);
  }
  return text;
}

void PrintMachine(std::ostream& out, const HostInfo& machine) {
  out << "Machine\n";
  Line(out, "processor", machine.cpu.model.empty() ? "unknown" : machine.cpu.model);
  std::string cores = fmt::format("{} cores, {} threads, {} allowed to this process",
                                  machine.cpu.cores, machine.cpu.threads, machine.allowed);
  if (machine.quota > 0) cores += fmt::format(", time for {:.3g}", machine.quota);
  Line(out, "cores", cores);
  Line(out, "extensions", fmt::format("{}", fmt::join(machine.cpu.isa, " ")));
  Line(out, "caches", CachesText(machine));
  Line(out, "governor", machine.governor);
  Line(out, "turbo", machine.turbo);
  Line(out, "memory",
       Bytes(machine.memory_bytes) + ", " + Bytes(machine.available_bytes) + " free");
  Line(out, "system", machine.distribution + ", " + machine.kernel);
  Line(out, "container", machine.container);
  Line(out, "runs on", machine.virtualisation);
  Line(out, "load",
       fmt::format("{:.2f} {:.2f} {:.2f} (1, 5, 15 minutes)", machine.load[0], machine.load[1],
                   machine.load[2]));
}

std::string StateText(const GpuState& state) {
  std::string text;
  if (state.sm_mhz) text += fmt::format("{} MHz now", *state.sm_mhz);
  if (state.max_sm_mhz) text += fmt::format(", at most {} MHz", *state.max_sm_mhz);
  if (state.power_watt) text += fmt::format(", {:.0f} W", *state.power_watt);
  if (state.power_limit_watt) text += fmt::format(" of {:.0f} W", *state.power_limit_watt);
  if (state.temperature_celsius) text += fmt::format(", {} degrees", *state.temperature_celsius);
  return text;
}

void PrintGpu(std::ostream& out, const CudaPlatform& cuda) {
  out << "GPU\n";
  if (cuda.devices.empty()) {
    Line(out, "none", cuda.why);
    return;
  }
  const Nvml nvml;
  Line(out, "CUDA",
       "runtime " + CudaVersionText(cuda.runtime_version) + ", driver supports " +
           CudaVersionText(cuda.driver_version));
  Line(out, "driver", nvml.available() ? nvml.driver_version().value_or("") : nvml.why());
  for (const CudaDevice& device : cuda.devices) {
    Line(out, fmt::format("device {}", device.index),
         fmt::format("{}, {} multiprocessors, {}, L2 {}, ECC {}", DeviceClass(device),
                     device.multiprocessors, Bytes(device.memory_bytes), Bytes(device.l2_bytes),
                     device.ecc ? "on" : "off"));
    const GpuState state = nvml.state(device.pci);
    Line(out, "state", StateText(state));
    if (state.throttle_mask) {
      Line(out, "slowed by",
           fmt::format("{}", fmt::join(ThrottleReasons(*state.throttle_mask), ", ")));
    }
  }
}

void PrintBuild(std::ostream& out, const BuildInfo& build) {
  out << "Build\n";
  Line(out, "compiler", build.compiler + " " + build.compiler_version + " " + build.build_type);
  Line(out, "flags", build.flags);
  Line(out, "CUDA",
       build.cuda_compiler.empty() ? "not compiled in"
                                   : build.cuda_compiler + " for sm_" + build.cuda_architectures);
  const SourceState built = BuiltSourceState();
  Line(out, "commit", built.commit + (built.dirty ? " with changes" : ""));
  std::string libraries;
  for (const auto& [name, version] : build.libraries) {
    libraries += (libraries.empty() ? "" : ", ") + name + " " + version;
  }
  Line(out, "libraries", libraries);
}

void PrintFindings(std::ostream& out, const std::vector<Finding>& findings) {
  out << "Findings\n";
  if (findings.empty()) out << "  nothing is missing\n";
  for (const Finding& finding : findings) {
    out << "  * " << finding.what << '\n';
    if (!finding.remedy.empty()) out << "      " << finding.remedy << '\n';
  }
}

std::vector<Ceiling> PrintCeilings(std::ostream& out, const CudaPlatform& cuda) {
  out << "Ceilings (best of several runs)\n";
  out.flush();
  std::vector<Ceiling> ceilings = MeasureCpuCeilings();
  if (!cuda.devices.empty()) {
    const std::vector<Ceiling> gpu = MeasureCudaCeilings();
    ceilings.insert(ceilings.end(), gpu.begin(), gpu.end());
  }
  for (const Ceiling& c : ceilings) {
    out << fmt::format("  {:<16} {:<15} {:>10.4g} {:<8} {}\n", c.device, c.name, c.value, c.unit,
                       c.note);
  }
  return ceilings;
}

void Add(std::vector<Finding>& findings, bool applies, std::string what, std::string remedy) {
  if (applies) findings.push_back({std::move(what), std::move(remedy)});
}

void DiagnoseCuda(const CudaPlatform& cuda, std::vector<Finding>& findings) {
  Add(findings, !cuda.why.empty(), "GPU rows are NOT-RUN: " + cuda.why, cuda.remedy);
  const auto other = std::ranges::find_if(cuda.devices, [&](const CudaDevice& device) {
    return DeviceClass(device) != DeviceClass(cuda.devices.front());
  });
  if (other == cuda.devices.end()) return;
  Add(findings, true,
      "cards of several kinds: methods on one GPU run on device 0, " +
          DeviceClass(cuda.devices.front()) + "; on several GPUs the slowest sets the time",
      "CUDA_VISIBLE_DEVICES chooses: " + std::to_string(other->index) + " for " +
          DeviceClass(*other) + " alone");
}

void DiagnoseMachine(const HostInfo& machine, const Activity& activity,
                     std::vector<Finding>& findings) {
  Add(findings, !machine.governor.empty() && machine.governor != "performance",
      "the frequency governor is \"" + machine.governor + "\": times vary more",
      "sudo cpupower frequency-set -g performance");
  Add(findings, activity.Busy(),
      "the machine is busy: " + activity.Text() + "; times are less sure",
      "wait until it is idle; untimed results (accuracies, counts) are not affected");
  Add(findings, machine.quota > 0 && machine.quota < machine.allowed,
      fmt::format("a control group grants the time of {:.3g} of {} processors: CPU times are cut",
                  machine.quota, machine.allowed),
      "in Docker: --cpus");
  Add(findings, !machine.virtualisation.empty(),
      "this is a " + machine.virtualisation + ": its neighbours can move CPU times", "");
  Add(findings, machine.available_bytes > 0 && machine.available_bytes < (std::int64_t{2} << 30),
      "less than 2 GiB of memory is free: large cells are skipped", "");
}

}  // namespace

std::vector<Program> FindPrograms() {
  const std::string python = PythonProgram();
  const auto has = [&](const std::string& module) {
    return Succeeds(ShellWord(python) + " -c 'import importlib.util as u, sys; " +
                    "sys.exit(u.find_spec(\"" + module + "\") is None)'");
  };
  return {{"git", Succeeds("git --version"), "results do not name their commit",
           "sudo apt-get install git"},
          {"matplotlib of " + python, has("matplotlib"), "no figures are drawn",
           "sudo apt-get install python3-matplotlib"},
          {"jinja2 of " + python, has("jinja2"), "no report.html is written",
           "sudo apt-get install python3-jinja2"}};
}

std::vector<Finding> Diagnose(const HostInfo& machine, const Activity& activity,
                              const BuildInfo& build, const CudaPlatform& cuda,
                              const std::vector<Program>& programs) {
  std::vector<Finding> findings;
  DiagnoseCuda(cuda, findings);
  for (const Program& program : programs) {
    Add(findings, !program.found, program.name + " is missing: " + program.without, program.remedy);
  }
  Add(findings, build.build_type != "Release",
      "this is a " + build.build_type + " build: do not trust its times", "make build");
  Add(findings, build.sanitized, "this build is sanitised: do not trust its times", "make build");
  DiagnoseMachine(machine, activity, findings);
  return findings;
}

int Doctor(std::ostream& out, bool measure, const std::string& ceilings_path) {
  if (!ceilings_path.empty()) CheckWritable(std::filesystem::path(ceilings_path).parent_path());
  const HostInfo machine = ReadHostInfo();
  const BuildInfo build = GetBuildInfo();
  CudaPlatform cuda = QueryCuda();
  if (const NoDevice none = WhyNoContext(false); cuda.why.empty() && none.any()) {
    cuda.why = none.why;
    cuda.remedy = none.remedy;
  }
  PrintMachine(out, machine);
  PrintGpu(out, cuda);
  PrintBuild(out, build);
  PrintFindings(out, Diagnose(machine, WatchActivity(), build, cuda, FindPrograms()));
  if (measure) {
    const std::vector<Ceiling> ceilings = PrintCeilings(out, cuda);
    if (!ceilings_path.empty()) WriteFileAtomically(ceilings_path, CeilingsJson(ceilings) + "\n");
  } else {
    out << "Ceilings\n  not measured; `build/retable doctor --measure` takes a few seconds\n";
  }
  return 0;
}

}  // namespace retable::harness

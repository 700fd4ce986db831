#include "harness/machine/host_info.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "base/text/ascii.hpp"
#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

// Those that change which code a numerical library takes.
constexpr const char* kNotable[] = {
    "sse4_2",     "avx",         "f16c",        "fma",         "avx2",
    "bmi2",       "avx512f",     "avx512dq",    "avx512bw",    "avx512vl",
    "avx512vbmi", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx512_vpopcntdq",
    "amx_tile",   "amx_int8",    "amx_bf16",    "avx_vnni",    "aes",
    "vaes",       "sha_ni",      "rdrand",      "asimd",       "asimddp",
    "sve",        "sve2",        "bf16",        "i8mm"};

std::string_view WithoutBlanks(std::string_view text) {
  return Trimmed(text, " \t\r\n\"'");
}

// Calls each(key, value) for the lines "key<separator>value".
template <typename Each>
void ForEachPair(std::string_view text, char separator, Each each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t at = line.find(separator);
    if (at != line.npos)
      each(WithoutBlanks(line.substr(0, at)), WithoutBlanks(line.substr(at + 1)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string> NotableOf(std::string_view flags) {
  std::istringstream words{std::string(flags)};
  std::set<std::string> all;
  for (std::string word; words >> word;) all.insert(word);
  std::vector<std::string> notable;
  for (const char* name : kNotable) {
    if (all.count(name) > 0) notable.emplace_back(name);
  }
  return notable;
}

std::string Line(const std::string& path) {
  return std::string(WithoutBlanks(ReadOrEmpty(path)));
}

double NumberIn(const std::string& text) {
  return ParseNumber(text).value_or(0);
}

std::vector<CacheFacts> ReadCaches() {
  std::vector<CacheFacts> caches;
  for (int i = 0; i < 8; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    CacheFacts cache;
    cache.level = static_cast<int>(NumberIn(Line(folder + "level")));
    cache.type = Line(folder + "type");
    cache.bytes = ParseSize(Line(folder + "size"));
    cache.shared_by = Line(folder + "shared_cpu_list");
    if (cache.level > 0) caches.push_back(cache);
  }
  return caches;
}

std::string ReadTurbo() {
  const std::string no_turbo = Line("/sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!no_turbo.empty()) return no_turbo == "0" ? "on" : "off";
  const std::string boost = Line("/sys/devices/system/cpu/cpufreq/boost");
  if (!boost.empty()) return boost == "1" ? "on" : "off";
  return "";
}

// The word in brackets of "always [madvise] never".
std::string Chosen(const std::string& text) {
  const std::size_t begin = text.find('['), end = text.find(']');
  if (begin == text.npos || end == text.npos || end < begin) return "";
  return text.substr(begin + 1, end - begin - 1);
}

std::string ReadContainer() {
  std::error_code ignored;
  if (std::filesystem::exists("/run/.containerenv", ignored)) return "podman";
  if (std::filesystem::exists("/.dockerenv", ignored)) return "docker";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  const char* container = std::getenv("container");
  return container == nullptr ? "" : container;
}

std::string ReadVirtualisation() {
  const std::string cpuinfo = ReadOrEmpty("/proc/cpuinfo");
  if (cpuinfo.find(" hypervisor") == std::string::npos) return "";
  const std::string vendor = Line("/sys/class/dmi/id/sys_vendor");
  return vendor.empty() ? "virtual machine" : "virtual machine (" + vendor + ")";
}

// cgroup v2's "max 100000" or "150000 100000", else v1's two files.
double ReadQuota() {
  std::istringstream two(ReadOrEmpty("/sys/fs/cgroup/cpu.max"));
  std::string quota, period;
  if (!(two >> quota >> period)) {
    quota = Line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    period = Line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  }
  const double granted = NumberIn(quota), of = NumberIn(period);
  return granted > 0 && of > 0 ? granted / of : 0;
}

std::int64_t ReadMemoryLimit(std::int64_t memory) {
  std::string limit = Line("/sys/fs/cgroup/memory.max");
  if (limit.empty()) limit = Line("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const double bytes = NumberIn(limit);
  // "max", or v1's nearly 2^63, mean none.
  return bytes > 0 && bytes < static_cast<double>(memory) ? static_cast<std::int64_t>(bytes) : 0;
}

void ReadSystem(HostInfo& facts) {
  utsname names{};
  if (uname(&names) == 0) {
    facts.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  }
  facts.distribution = ParseOsRelease(ReadOrEmpty("/etc/os-release"), "PRETTY_NAME");
  facts.container = ReadContainer();
  facts.virtualisation = ReadVirtualisation();
  facts.huge_pages = Chosen(ReadOrEmpty("/sys/kernel/mm/transparent_hugepage/enabled"));
  facts.address_randomisation = Line("/proc/sys/kernel/randomize_va_space");
  if (const std::string boot = Line("/proc/sys/kernel/random/boot_id"); !boot.empty()) {
    facts.boot = Sha256(boot).substr(0, 12);
  }
  if (getloadavg(facts.load.data(), 3) != 3) facts.load = {};
}

}  // namespace

CpuFacts ParseCpuInfo(std::string_view cpuinfo) {
  CpuFacts facts;
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  std::string socket;
  ForEachPair(cpuinfo, ':', [&](std::string_view key, std::string_view value) {
    if (key == "processor") ++facts.threads;
    if (key == "model name" && facts.model.empty()) facts.model = value;
    if (key == "vendor_id" && facts.vendor.empty()) facts.vendor = value;
    if ((key == "flags" || key == "Features") && facts.isa.empty()) facts.isa = NotableOf(value);
    if (key == "physical id") sockets.insert(socket = value);
    if (key == "core id") cores.insert({socket, std::string(value)});
  });
  facts.sockets = static_cast<int>(sockets.size());
  facts.cores = static_cast<int>(cores.size());
  return facts;
}

std::int64_t ParseMemInfo(std::string_view meminfo, std::string_view name) {
  std::int64_t bytes = 0;
  ForEachPair(meminfo, ':', [&](std::string_view key, std::string_view value) {
    if (key != name) return;
    const auto number = ParseNumber(value.substr(0, value.find(' ')));
    bytes = static_cast<std::int64_t>(number.value_or(0) * 1024);
  });
  return bytes;
}

std::string ParseOsRelease(std::string_view text, std::string_view name) {
  std::string found;
  ForEachPair(text, '=', [&](std::string_view key, std::string_view value) {
    if (key == name) found = value;
  });
  return found;
}

std::int64_t ParseSize(std::string_view text) {
  if (text.empty()) return 0;
  const std::size_t unit = std::string_view("KMG").find(text.back()) + 1;  // 0: none
  if (unit > 0) text.remove_suffix(1);
  return static_cast<std::int64_t>(ParseNumber(text).value_or(0) *
                                   static_cast<double>(std::int64_t{1} << 10 * unit));
}

int AllowedProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    return std::max(1, CPU_COUNT(&allowed));
  }
  // More processors than the set has room for.
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

HostInfo ReadHostInfo() {
  HostInfo facts;
  facts.cpu = ParseCpuInfo(ReadOrEmpty("/proc/cpuinfo"));
  facts.allowed = AllowedProcessors();
  facts.quota = ReadQuota();
  facts.caches = ReadCaches();
  facts.governor = Line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.max_mhz = NumberIn(Line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")) / 1000;
  facts.turbo = ReadTurbo();
  const std::string meminfo = ReadOrEmpty("/proc/meminfo");
  facts.memory_bytes = ParseMemInfo(meminfo, "MemTotal");
  facts.available_bytes = ParseMemInfo(meminfo, "MemAvailable");
  facts.memory_limit_bytes = ReadMemoryLimit(facts.memory_bytes);
  ReadSystem(facts);
  return facts;
}

}  // namespace retable::harness

#pragma once
//! @file
//! The host as Linux describes it in /proc and /sys: processor, caches, memory, system, load.
//!
//! What cannot be read (another system, a container that hides it) stays empty or 0 and is left out
//! of the environment, never guessed. The parsers take text, so that they are tested on any
//! machine.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retable::harness {

struct CpuFacts {
  std::string model, vendor;
  std::vector<std::string> isa;  //!< extensions of note that the processor has ("avx2", "sha_ni")
  int sockets = 0;
  int cores = 0;    //!< physical, of the whole machine
  int threads = 0;  //!< logical
};

//! From the text of /proc/cpuinfo.
CpuFacts ParseCpuInfo(std::string_view cpuinfo);

//! Value of a "Name:   123 kB" line of /proc/meminfo in bytes; 0 when missing.
std::int64_t ParseMemInfo(std::string_view meminfo, std::string_view name);

//! A value of /etc/os-release, without its quotes; empty when missing.
std::string ParseOsRelease(std::string_view text, std::string_view name);

//! Bytes of "32K", "2048K", "260M"; 0 when it is no size.
std::int64_t ParseSize(std::string_view text);

struct CacheFacts {
  int level = 0;
  std::string type;  //!< "Data", "Instruction", "Unified"
  std::int64_t bytes = 0;
  std::string shared_by;  //!< logical processors, "0-3"
};

struct HostInfo {
  CpuFacts cpu;
  int allowed = 0;   //!< logical processors that this process may use (affinity)
  double quota = 0;  //!< processors' worth of time that a control group grants; 0: no limit
  std::vector<CacheFacts> caches;  //!< processor 0's
  std::string governor;            //!< frequency governor of processor 0
  double max_mhz = 0;
  std::string turbo;  //!< "on", "off", or empty
  std::int64_t memory_bytes = 0, available_bytes = 0;
  std::int64_t memory_limit_bytes = 0;  //!< the control group's; 0: no limit
  std::string kernel, distribution, container, virtualisation;
  std::string huge_pages;  //!< transparent huge pages: "always", "madvise", "never"
  std::string address_randomisation;
  std::string boot;              //!< 12 digits of a hash, of this machine since it was started
  std::array<double, 3> load{};  //!< over 1, 5 and 15 minutes
};

HostInfo ReadHostInfo();

//! Logical processors that this process may use; at least 1.
int AllowedProcessors();

}  // namespace retable::harness

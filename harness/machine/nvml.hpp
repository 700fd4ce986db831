#pragma once
//! @file
//! Clocks, power, temperature and throttling of a GPU, from NVIDIA's management library if it is
//! found at run time.
//!
//! libnvidia-ml.so.1 comes with the driver, not with the toolkit, so it is opened with dlopen and
//! its few functions are declared here: the program neither links it nor needs it. What a card or
//! a container does not tell is missing (no value), never a zero.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retable::harness {

//! The state of one card at one moment.
struct GpuState {
  std::optional<int> sm_mhz, memory_mhz;          //!< current clocks
  std::optional<int> max_sm_mhz, max_memory_mhz;  //!< highest clocks the card allows
  std::optional<double> power_watt, power_limit_watt;
  std::optional<int> temperature_celsius;
  std::optional<std::uint64_t> throttle_mask;  //!< NVML's clocks event reasons, as given
  std::optional<bool> persistence;
  std::optional<bool> mig;
};

//! An opened management library; closes it when destroyed.
class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool available() const;
  const std::string& why() const;  //!< why it is not available
  std::optional<std::string> driver_version() const;
  //! Of the card at this place on the PCI bus (CudaDevice::pci): NVML numbers all cards, CUDA those
  //! that CUDA_VISIBLE_DEVICES names.
  GpuState state(const std::string& pci) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

//! The reasons in a mask, in words; only those that slow a card down ("power cap", "thermal", ...).
//! Idle and "set by the application" are no throttling and are left out.
std::vector<std::string> ThrottleReasons(std::uint64_t mask);

}  // namespace retable::harness

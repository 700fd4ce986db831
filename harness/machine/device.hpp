#pragma once
//! @file
//! Which CUDA devices there are, asked without assuming that there is any.
//!
//! The program must run where no CUDA compiler was found (then this is a stub), where there is no
//! driver, and where there is no card: each is a sentence, not an error. Everything is read by
//! device attribute, the one interface that has kept its fields from release to release. Asking
//! initialises the driver in this process; a child must therefore be exec'ed, not only forked.

#include <cstdint>
#include <string>
#include <vector>

namespace retable::harness {

struct CudaDevice {
  int index = 0;
  std::string name;  //!< "NVIDIA H200"
  std::string pci;   //!< its place on the bus, by which NVML knows it too
  std::string card;  //!< 8 digits of a hash of its serial class; empty: not told
  int capability_major = 0, capability_minor = 0;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_bytes_per_multiprocessor = 0;
  int threads_per_multiprocessor = 0;
  int clock_khz = 0;         //!< peak
  int memory_clock_khz = 0;  //!< peak
  int memory_bus_bits = 0;
  bool ecc = false;
  int copy_engines = 0;
};

struct CudaPlatform {
  int driver_version = 0;   //!< highest CUDA the driver knows, 13000 = 13.0; 0 without a driver
  int runtime_version = 0;  //!< linked CUDA runtime
  std::vector<CudaDevice> devices;
  std::string why;     //!< why no device can be used; empty when one can
  std::string remedy;  //!< what to do about it
};

//! Never throws for want of a device.
CudaPlatform QueryCuda();

//! @param why receives the reason when there is none; may be null
bool CudaDevicePresent(std::string* why);

//! Device 0 as cells' keys name it: "NVIDIA H200 sm_90", "NVIDIA H200 sm_90 as t4" where
//! RETABLE_EMULATE_DEVICE says so, or "no device".
std::string DeviceClass();
std::string DeviceClass(const CudaDevice& device);

}  // namespace retable::harness

#pragma once
//! @file
//! Why no CUDA device can be used, in words, with what to do about it. Asks no runtime
//! (base/cuda/devices.hpp does).

#include <string>

namespace retable {

//! What driver and runtime say before a device is used. Versions as CUDA has them: 13000 is 13.0.
struct CudaState {
  bool compiled = false;
  int driver_version = 0;   //!< the highest CUDA that the driver knows; 0 without a driver
  int runtime_version = 0;  //!< the runtime in this program
  int oldest_code = 0;      //!< the oldest compute capability that this program has code for: 75
  int error = 0;            //!< what the question how many devices there are came to
  std::string error_text;   //!< the runtime's words for it
  int devices = 0;
  int capability = 0;        //!< the compute capability of device 0: 90
  bool visible_set = false;  //!< CUDA_VISIBLE_DEVICES is set
};

//! Why no device can be used, and what to do about it; both empty where device 0 can.
struct NoDevice {
  std::string why, remedy;
  bool driver = false;  //!< there is a driver, and so perhaps a card
  bool any() const { return !why.empty(); }
};

NoDevice WhyNoDevice(const CudaState& state);
//! Why a device takes no work, by an error of the runtime.
NoDevice WhyNoContext(int error, const std::string& text);

//! "13.0" from 13000; "none" from 0.
std::string CudaVersionText(int version);

}  // namespace retable

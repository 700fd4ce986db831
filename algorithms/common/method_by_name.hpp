#pragma once
//! @file
//! A device and a registered method that a user names.

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "algorithms/common/registry.hpp"
#include "algorithms/common/require.hpp"
#include "base/cuda/devices.hpp"

namespace retable {

//! @throws std::invalid_argument for a name other than cpu and cuda, or a device that is not here
inline Device DeviceByName(const std::string& name) {
  Require(name == "cpu" || name == "cuda", "device is \"", name, "\"; there are cpu, cuda");
  Require(name == "cpu" || HasCudaDevice(), "no CUDA device answers here: use device \"cpu\"");
  return name == "cuda" ? Device::kCuda : Device::kCpu;
}

//! The method of that name on that device. `others` are methods that such a user cannot take.
//! @throws std::invalid_argument that lists the names there are; `kind` says of what
template <class Interface>
const Method<Interface>& MethodByName(const char* kind, const std::string& name, Device device,
                                      std::initializer_list<std::string_view> others = {}) {
  std::string names;
  for (const auto& method : Registry<Interface>::Instance().Methods()) {
    if (method.device != device || std::ranges::count(others, method.name) > 0) continue;
    if (method.name == name) return method;
    names += (names.empty() ? "" : ", ") + method.name;
  }
  throw std::invalid_argument("no " + std::string(kind) + " \"" + name + "\" on " +
                              DeviceName(device) + "; there are " +
                              (names.empty() ? "none" : names));
}

}  // namespace retable

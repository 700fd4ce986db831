#pragma once
//! @file
//! A registry per interface: a method adds itself under its name in the paper, from its own file.
//!
//!     RETABLE_REGISTER(QuantileSketch, me_central,
//!                      {.name = "ME-central", .device = Device::kCpu, .summary = "...",
//!                       .citation = "Mitchell et al. 2021, section 6",
//!                       .parameters = {{"l", std::int64_t{10}, "number of moments, 1 to 15"}},
//!                       .make = [](const Parameters& p) { return std::make_unique<...>(...); }})
//!
//! The CUDA backend registers the same name with Device::kCuda from its .cu file; the summary and
//! the citation are those of the CPU's. Registration runs before main; the library is linked as
//! objects so that no method is dropped by the linker.

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/common/parameters.hpp"

namespace retable {

enum class Device { kCpu, kCuda };

//! "cpu" or "cuda".
inline const char* DeviceName(Device device) {
  return device == Device::kCpu ? "cpu" : "cuda";
}

//! One parameter a method takes: its name, default (which fixes its type) and one line of help.
struct ParameterInfo {
  std::string name;
  ParameterValue fallback;
  std::string help;
};

//! One registered method behind an interface.
template <class Interface>
struct Method {
  std::string name;  //!< as the paper names it
  Device device = Device::kCpu;
  std::string summary = {};   //!< one line: what it does; empty if another backend says it
  std::string citation = {};  //!< author, year, section or equation
  std::vector<ParameterInfo> parameters = {};
  std::function<std::unique_ptr<Interface>(const Parameters&)> make = {};
  std::string file = {};  //!< filled in by Add()
};

//! All methods behind one interface. Lookups are linear: there are tens of them.
template <class Interface>
class Registry {
 public:
  static Registry& Instance() {
    static Registry registry;
    return registry;
  }

  //! @throws std::logic_error when the name is taken on that device.
  bool Add(Method<Interface> method, const char* file = __builtin_FILE()) {
    if (const auto* other = Find(method.name, method.device)) {
      throw std::logic_error(other->file + " and " + file + " both register a method \"" +
                             method.name + "\" on " + DeviceName(method.device) +
                             ": give one of them another name");
    }
    method.file = file;
    methods_.push_back(std::move(method));
    return true;
  }

  const std::vector<Method<Interface>>& Methods() const { return methods_; }

  //! The method, or nullptr.
  const Method<Interface>* Find(const std::string& name, Device device) const {
    for (const auto& method : methods_) {
      if (method.name == name && method.device == device) return &method;
    }
    return nullptr;
  }

  //! A new instance. @throws std::out_of_range for an unknown name, std::invalid_argument for a
  //! parameter the method does not take, with those it takes; std::logic_error for a method that
  //! makes nothing.
  std::unique_ptr<Interface> Make(const std::string& name, Device device,
                                  const Parameters& parameters) const {
    const Method<Interface>* method = Find(name, device);
    if (method == nullptr) {
      throw std::out_of_range("no method \"" + name + "\" on " + DeviceName(device));
    }
    for (const auto& [key, value] : parameters) {
      bool known = false;
      std::string names;
      for (const auto& info : method->parameters) {
        known = known || info.name == key;
        names += (names.empty() ? "" : ", ") + info.name;
      }
      if (known) continue;
      throw std::invalid_argument(name + " has no parameter \"" + key + "\"; there are " +
                                  (names.empty() ? "none" : names));
    }
    auto made = method->make ? method->make(parameters) : nullptr;
    if (made == nullptr) {
      throw std::logic_error("the method \"" + name + "\" of " + method->file +
                             " makes nothing: its .make is missing or returned null");
    }
    return made;
  }

 private:
  std::vector<Method<Interface>> methods_;
};

}  // namespace retable

//! Registers one method; `identifier` only has to be unique in its file.
#define RETABLE_REGISTER(Interface, identifier, ...)                   \
  [[maybe_unused]] static const bool retable_registered_##identifier = \
      ::retable::Registry<Interface>::Instance().Add(::retable::Method<Interface> __VA_ARGS__)

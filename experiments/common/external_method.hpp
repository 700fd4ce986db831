#pragma once
//! @file
//! How a family registers programs in other languages as a method of its interface.

#include <functional>
#include <memory>
#include <string>

#include "algorithms/common/registry.hpp"

namespace retable::experiments {

//! The method "External" on the processor. @param make from its parameter "command", which starts
//! the program, and all parameters
template <class Interface>
Method<Interface> ExternalMethod(
    std::function<std::unique_ptr<Interface>(const std::string&, const Parameters&)> make) {
  return {.name = "External",
          .device = Device::kCpu,
          .summary = "a program in another language (docs/other-languages.md)",
          .citation = "",
          .parameters = {{"command", std::string(), "starts it, from the repository's root"}},
          .make = [make = std::move(make)](const Parameters& p) {
            return make(TextParameter(p, "command", ""), p);
          }};
}

}  // namespace retable::experiments

#pragma once
//! @file
//! What a user is told of an exception. Most say it themselves; the library's own are bare.

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <typeinfo>

namespace retable::harness {

//! What went wrong, and what can be done about it where the exception does not say.
inline std::string ReasonOf(const std::exception& problem) {
  // One derived of it says what is missing (OutOfDeviceMemory).
  if (typeid(problem) == typeid(std::bad_alloc) ||
      typeid(problem) == typeid(std::bad_array_new_length) ||
      typeid(problem) == typeid(std::length_error)) {
    return "out of memory: an allocation was refused; ask for less, or raise the limit (ulimit -v)";
  }
  const auto* system = dynamic_cast<const std::system_error*>(&problem);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return "no further thread can be started; use fewer, or raise the limits (ulimit -u, -v)";
  }
  return problem.what();
}

}  // namespace retable::harness

#pragma once
//! @file
//! The error of a device that has too little memory. It is a std::bad_alloc, so that who can do
//! with less at a time, and the harness, need not tell a device's memory from the host's.

#include <new>
#include <stdexcept>
#include <string>

namespace retable {

class OutOfDeviceMemory : public std::bad_alloc {
 public:
  explicit OutOfDeviceMemory(const std::string& message) : message_(message) {}
  const char* what() const noexcept override { return message_.what(); }

 private:
  std::runtime_error message_;  // a string that is copied without throwing
};

}  // namespace retable

#pragma once
//! @file
//! Seeds for tests that draw fresh input in every run.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace retable {

//! RETABLE_TEST_SEED where it is set, else a random one. Printed, so that a failure can be
//! repeated.
inline std::uint64_t FreshSeed() {
  const char* given = std::getenv("RETABLE_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::cout << "RETABLE_TEST_SEED=" << seed << std::endl;
  return seed;
}

}  // namespace retable

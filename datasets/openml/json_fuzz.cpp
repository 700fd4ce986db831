#include "datasets/fuzz_bodies.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retable::datasets::FuzzJson(data, size);
  return 0;
}

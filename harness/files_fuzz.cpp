#include "harness/fuzz_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retable::harness::FuzzFile(data, size);
  return 0;
}

#include "algorithms/treeshap/testing/model_fuzz_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retable::treeshap::FuzzModel(data, size);
  return 0;
}

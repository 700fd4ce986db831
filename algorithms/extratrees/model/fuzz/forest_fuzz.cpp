#include "algorithms/extratrees/model/fuzz/forest_fuzz_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retable::extratrees::FuzzForest({reinterpret_cast<const char*>(data), size});
  return 0;
}

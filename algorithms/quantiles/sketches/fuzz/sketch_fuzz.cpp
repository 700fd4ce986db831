#include "algorithms/quantiles/sketches/fuzz/fuzz_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retable::quantiles::FuzzSketch(data, size);
  return 0;
}

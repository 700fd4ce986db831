#include "harness/timing/cuda_timing.hpp"

#include <stdexcept>

#include "harness/config/suggest.hpp"

namespace retable::harness {
namespace {

const std::vector<std::string> kModes = {"cold", "warm", "batch", "graph"};

}  // namespace

std::string_view Name(CudaMode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}

CudaMode ParseCudaMode(std::string_view name) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    if (name == kModes[i]) return static_cast<CudaMode>(i);
  }
  throw std::invalid_argument("unknown timing mode \"" + std::string(name) + "\"" +
                              DidYouMean(name, kModes));
}

#if !defined(RETABLE_HAS_CUDA)
CudaTimingResult TimeOnGpu(const std::function<void(CUstream_st*)>&, const CudaTimingOptions&) {
  throw std::runtime_error("this program was built without CUDA: nothing can be timed on a GPU");
}
#endif

}  // namespace retable::harness

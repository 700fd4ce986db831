#include "harness/timing/cuda_timing.hpp"

#include <stdexcept>

#if !defined(RETABLE_HAS_CUDA)
namespace retable::harness {

TimingResult TimeOnGpu(const std::function<void(CUstream_st*)>&, const CudaTimingOptions&) {
  throw std::runtime_error("this program was built without CUDA: nothing can be timed on a GPU");
}

}  // namespace retable::harness
#endif

#include "harness/timing/gpu_clock.hpp"

#include <stdexcept>

#if !defined(RETABLE_HAS_CUDA)
namespace retable::harness {

struct GpuClock::Device {};
GpuClock::GpuClock() {
  throw std::runtime_error("this program was built without CUDA: there is no GPU clock to read");
}
GpuClock::~GpuClock() = default;
void GpuClock::Begin(CUstream_st*) {}
void GpuClock::Wait(CUstream_st*) {}
void GpuClock::End(CUstream_st*) {}
double GpuClock::Mhz(CUstream_st*) {
  return 0;
}
double GpuClock::peak_mhz() const {
  return 0;
}

}  // namespace retable::harness
#endif

// Every CUDA shuffler on a device whose calls fail, one after the other.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/shuffle/testing/cuda_methods.hpp"
#include "base/cuda/faults_testing.hpp"

namespace retable::shuffle {
namespace {

TEST(CudaFaults, OfShufflersAreReported) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  const std::vector<std::uint64_t> in = TestItems<std::uint64_t>(70001, 1);
  for (const CudaMethod& method : CudaMethods()) {
    const auto* found = Registry<Shuffler>::Instance().Find(method.name, Device::kCuda);
    const bool repeats = found->make(method.parameters)->deterministic();
    cuda_faults::ExpectEveryFaultIsReported(method.label(), [&] {
      std::vector<std::uint64_t> out(in.size());
      found->make(method.parameters)->shuffle(in.data(), out.data(), in.size(), 8, 3);
      // Where items of equal key race, the set of items is the answer.
      if (!repeats) std::sort(out.begin(), out.end());
      return out;
    });
  }
}

}  // namespace
}  // namespace retable::shuffle

#endif

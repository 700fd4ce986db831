// Every CUDA sampler, and the discrepancy, on a device whose calls fail, one after the other.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/faults_testing.hpp"

namespace retable::shapley {
namespace {

TEST(CudaFaults, OfSamplersAreReported) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  for (const auto& method : Registry<PermutationSampler>::Instance().Methods()) {
    if (method.device != Device::kCuda) continue;
    cuda_faults::ExpectEveryFaultIsReported(
        method.name, [&] { return method.make({})->sample(40, 12, 3).orders; });
  }
}

}  // namespace
}  // namespace retable::shapley

#endif

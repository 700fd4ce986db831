// Every CUDA sampler, and the games, on a device whose calls fail, one after the other.

#if defined(RETABLE_HAS_CUDA)

#include "algorithms/shapley/games/game_testing.hpp"
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

TEST(CudaFaults, OfGamesAreReported) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  const auto host = RandomTermGame(9, 4, 50, 1);
  const std::vector<std::int32_t> order = {4, 2, 0, 8, 6, 1, 3, 5, 7};
  cuda_faults::ExpectEveryFaultIsReported("walk", [&] {
    std::vector<double> values(10);
    MakeDeviceTermGame(*host)->walk(order, values);
    return values;
  });
}

}  // namespace
}  // namespace retable::shapley

#endif

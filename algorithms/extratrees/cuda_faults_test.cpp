// Every CUDA trainer on a device whose calls fail, one after the other.

#if defined(RETABLE_HAS_CUDA)

#include <random>

#include "algorithms/extratrees/forest_trainer.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/faults_testing.hpp"

namespace retable::extratrees {
namespace {

TEST(CudaFaults, OfTrainersAreReported) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  std::mt19937_64 engine(1);
  std::vector<float> values(60 * 7);
  for (float& x : values) x = static_cast<float>(engine() % 40) / 8;
  std::vector<std::uint32_t> labels(60);
  for (std::uint32_t& label : labels) label = static_cast<std::uint32_t>(engine() % 3);
  const FeatureMatrix data{values.data(), 60, 7};
  const ForestOptions options{.n_trees = 2, .seed = 5};
  for (const auto& method : Registry<ForestTrainer>::Instance().Methods()) {
    if (method.device != Device::kCuda) continue;
    cuda_faults::ExpectEveryFaultIsReported(method.name, [&] {
      const auto fitted = method.make({})->fit(data, labels, options);
      std::vector<double> proba(60 * 3);
      fitted->predict_proba(values.data(), 60, proba.data());
      return std::pair(proba, fitted->host().trees);
    });
  }
}

}  // namespace
}  // namespace retable::extratrees

#endif

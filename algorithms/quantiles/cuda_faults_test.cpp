// Every CUDA sketch on a device whose calls fail, one after the other.

#if defined(RETABLE_HAS_CUDA)

#include <random>

#include "algorithms/quantiles/quantile_sketch.hpp"
#include "base/cuda/devices.hpp"
#include "base/cuda/faults_testing.hpp"

namespace retable::quantiles {
namespace {

TEST(CudaFaults, OfSketchesAreReported) {
  if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  std::mt19937_64 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(100003);
  for (float& x : values) x = normal(engine);
  for (const auto& method : Registry<QuantileSketch>::Instance().Methods()) {
    if (method.device != Device::kCuda) continue;
    cuda_faults::ExpectEveryFaultIsReported(method.name, [&] {
      const auto sketch = method.make({});
      for (int pass = 0; pass < sketch->passes(); ++pass) {
        sketch->begin_pass(pass);
        sketch->update(values);
      }
      return sketch->quantiles(std::vector<double>{0.01, 0.5, 0.9});
    });
  }
}

}  // namespace
}  // namespace retable::quantiles

#endif

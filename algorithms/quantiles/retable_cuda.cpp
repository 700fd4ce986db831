//! @file
//! The CUDA twin of "Retable": sums on the device, the answer on the host. The device does not look
//! for a lattice, so columns of more than 9 distinct values are answered by a density.

#if defined(RETABLE_HAS_CUDA)

#include <algorithm>

#include "algorithms/quantiles/chebyshev_cuda.hpp"
#include "algorithms/quantiles/device_update.hpp"
#include "algorithms/quantiles/moment_accumulator.hpp"
#include "algorithms/quantiles/retable_sketch.hpp"

namespace retable::quantiles {
namespace {

constexpr double kFloatNoise = 1e-8;  // of float32 tiles

class RetableCudaSketch final : public RetableSketch, public DeviceUpdate {
 public:
  explicit RetableCudaSketch(int order) : RetableSketch(order), device_(order) {}

  void update(std::span<const float> values) override { Add(device_.SumHost(values), kFloatNoise); }
  void update(std::span<const double> values) override { Add(device_.SumHost(values), 0); }
  void update_device(const float* values, std::size_t n, void* stream) override {
    Add(device_.Sum(values, n, stream), kFloatNoise);
  }
  void update_device(const double* values, std::size_t n, void* stream) override {
    Add(device_.Sum(values, n, stream), 0);
  }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<RetableCudaSketch>(sums_.order());
  }

 private:
  void Add(const ChebyshevSums& sums, double noise) {
    sums_.Merge(sums, kNoLattice);
    noise_ = std::max(noise_, noise);
  }

  ChebyshevCuda device_;
};

RETABLE_REGISTER(QuantileSketch, retable,
                 {.name = "Retable",
                  .device = Device::kCuda,
                  .summary = "Chebyshev sums in one pass at memory speed, solved on the host",
                  .citation = "this project",
                  .parameters = {{"l", std::int64_t{15}, "highest order of the moments, 1 to 15"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<RetableCudaSketch>(
                        CheckOrder(IntegerParameter(p, "l", 15)));
                  }});

}  // namespace
}  // namespace retable::quantiles

#endif

//! @file
//! The sketches of the CUDA backend on streams that are hard to summarise, from device memory,
//! whole and merged: the same demands as on the CPU.

#if defined(RETABLE_HAS_CUDA)

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <span>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/quantiles/cuda/device_testing.hpp"
#include "algorithms/quantiles/cuda/device_update.hpp"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/nasty_streams_testing.hpp"
#include "algorithms/quantiles/tuning.hpp"
#include "base/cuda/memory.hpp"
#include "base/oracle_testing.hpp"

namespace retable::quantiles {
namespace {

template <class Real>
class CudaOracle : public CudaTest<Real> {};
TYPED_TEST_SUITE(CudaOracle, Reals, RealName);

TYPED_TEST(CudaOracle, SketchesKeepTheirBoundOnNastyStreams) {
  using Real = TypeParam;
  std::mt19937_64 engine(TestSeed());
  const std::vector<NastyStream> streams = NastyStreams();
  const std::vector<Method<QuantileSketch>>& methods =
      Registry<QuantileSketch>::Instance().Methods();
  std::size_t answers = 0;
  std::size_t round = 0;
  for (OracleClock clock(5); round < streams.size() || clock.more(); ++round) {
    const NastyStream& stream = streams[round % streams.size()];
    // Some reach the kernel of long streams.
    const std::size_t n = round % 8 == 7 ? kLongStream + 1 + engine() % 100000
                                         : 1 + engine() % (1 + engine() % 70000);
    const std::vector<Real> host = As<Real>(stream.draw(n, engine));
    const std::vector<double> sorted = SortedValues(host);
    DeviceArray<Real> device{std::span<const Real>(host)};
    for (const auto& method : methods) {
      if (method.device != Device::kCuda) continue;
      Parameters parameters{{"l", std::int64_t{15}}};
      if (method.name == "Retable") parameters["log"] = engine() % 2 == 0;
      const auto sketch = method.make(parameters);
      const auto other = sketch->empty_clone();
      const std::size_t cut = engine() % 2 == 0 ? n : engine() % n;
      sketch->device_update()->update_device(device.data(), cut, nullptr);
      other->device_update()->update_device(device.data() + cut, n - cut, nullptr);
      sketch->merge(*other);
      const std::string complaint =
          Complaint(*sketch, sorted, kRounding<Real>, [&](double, double) { ++answers; });
      EXPECT_EQ(complaint, "") << method.name << ", " << stream.name << ", " << n << " values, cut "
                               << cut;
    }
    if (this->HasFailure()) return;
  }
  std::cout << round << " streams, " << answers << " answers with bounds" << std::endl;
}

}  // namespace
}  // namespace retable::quantiles

#endif

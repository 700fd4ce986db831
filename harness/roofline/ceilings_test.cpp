#include "harness/roofline/ceilings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/machine/device.hpp"
#include "harness/machine/host_info.hpp"
#include "harness/roofline/fma_kernels.hpp"

namespace retable::harness {
namespace {

TEST(Ceilings, CpuFiguresAreFiniteAndNamed) {
  CeilingOptions options;
  options.seconds = 0.001;
  options.array_bytes = 1 << 20;
  const auto ceilings = MeasureCpuCeilings(options);
  ASSERT_EQ(ceilings.size(), AllowedProcessors() > 1 ? 12u : 6u);
  EXPECT_EQ(ceilings[0].device, "cpu, 1 thread");
  for (const Ceiling& c : ceilings) {
    EXPECT_GT(c.value, 0) << c.name;
    EXPECT_LT(c.value, 1e9) << c.name;  // a body optimised away would be faster than this
    EXPECT_FALSE(c.unit.empty());
  }
  const auto json = nlohmann::json::parse(CeilingsJson(ceilings));
  EXPECT_EQ(json.size(), ceilings.size());
  EXPECT_EQ(json[0]["name"], "copy");
}

TEST(Ceilings, FmaKernelsCountTheirOperations) {
  const FmaKernels& kernels = BestFmaKernels();
  EXPECT_GT(kernels.fp64(10), 0);
  EXPECT_EQ(kernels.fp64(20), 2 * kernels.fp64(10));
  EXPECT_EQ(kernels.fp32(20), 2 * kernels.fp32(10));
  EXPECT_EQ(kernels.fp64(0), 0);
}

TEST(Ceilings, CudaFiguresWhereThereIsACard) {
  std::string why;
  if (!CudaDevicePresent(&why)) {
    EXPECT_TRUE(MeasureCudaCeilings().empty());
    GTEST_SKIP() << why;
  }
  CeilingOptions options;
  options.seconds = 0.02;
  const auto ceilings = MeasureCudaCeilings(options);
  ASSERT_FALSE(ceilings.empty());
  for (const Ceiling& c : ceilings) {
    EXPECT_EQ(c.device, "cuda");
    EXPECT_TRUE(std::isfinite(c.value)) << c.name;
    EXPECT_GT(c.value, 0) << c.name;
  }
}

}  // namespace
}  // namespace retable::harness

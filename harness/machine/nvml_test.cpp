#include "harness/machine/nvml.hpp"

#include <gtest/gtest.h>

#include "harness/machine/device.hpp"

namespace retable::harness {
namespace {

TEST(Nvml, EitherAvailableOrAReason) {
  const Nvml nvml;
  EXPECT_NE(nvml.available(), !nvml.why().empty()) << nvml.why();
  if (nvml.available()) return;
  EXPECT_FALSE(nvml.driver_version());
  EXPECT_FALSE(nvml.state("0000:00:00.0").sm_mhz);
}

TEST(Nvml, APresentCardTellsItsState) {
  const Nvml nvml;
  const CudaPlatform cuda = QueryCuda();
  if (!nvml.available() || cuda.devices.empty()) GTEST_SKIP() << nvml.why() << cuda.why;
  EXPECT_TRUE(nvml.driver_version());
  const GpuState state = nvml.state(cuda.devices[0].pci);
  ASSERT_TRUE(state.sm_mhz);
  EXPECT_GT(*state.sm_mhz, 0);
  ASSERT_TRUE(state.max_sm_mhz);
  EXPECT_GE(*state.max_sm_mhz, *state.sm_mhz);
  if (state.temperature_celsius) {
    EXPECT_LT(*state.temperature_celsius, 120);
  }
  EXPECT_FALSE(nvml.state("no such place").sm_mhz);
}

TEST(Nvml, OnlyWhatSlowsDownIsThrottling) {
  EXPECT_TRUE(ThrottleReasons(0).empty());
  EXPECT_TRUE(ThrottleReasons(0x1 | 0x2 | 0x100).empty());  // idle, application's, display's clocks
  EXPECT_EQ(ThrottleReasons(0x4), std::vector<std::string>{"power cap"});
  EXPECT_EQ(ThrottleReasons(0xFC).size(), 6u);
}

}  // namespace
}  // namespace retable::harness

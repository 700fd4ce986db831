#include "harness/machine/nvml.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

TEST(Nvml, EitherAvailableOrAReason) {
  const Nvml nvml;
  EXPECT_NE(nvml.available(), !nvml.why().empty()) << nvml.why();
  if (nvml.available()) return;
  EXPECT_FALSE(nvml.driver_version());
  EXPECT_FALSE(nvml.name(0));
  EXPECT_FALSE(nvml.state(0).sm_mhz);
}

TEST(Nvml, APresentCardTellsItsState) {
  const Nvml nvml;
  if (!nvml.name(0)) GTEST_SKIP() << "no card: " << nvml.why();
  EXPECT_TRUE(nvml.driver_version());
  const GpuState state = nvml.state(0);
  ASSERT_TRUE(state.sm_mhz);
  EXPECT_GT(*state.sm_mhz, 0);
  ASSERT_TRUE(state.max_sm_mhz);
  EXPECT_GE(*state.max_sm_mhz, *state.sm_mhz);
  if (state.temperature_celsius) {
    EXPECT_LT(*state.temperature_celsius, 120);
  }
  EXPECT_FALSE(nvml.name(1 << 20));
  EXPECT_FALSE(nvml.state(-1).sm_mhz);
}

TEST(Nvml, OnlyWhatSlowsDownIsThrottling) {
  EXPECT_TRUE(ThrottleReasons(0).empty());
  EXPECT_TRUE(ThrottleReasons(0x1 | 0x2 | 0x100).empty());  // idle, application's, display's clocks
  EXPECT_EQ(ThrottleReasons(0x4), std::vector<std::string>{"power cap"});
  EXPECT_EQ(ThrottleReasons(0xFC).size(), 6u);
}

}  // namespace
}  // namespace retable::harness

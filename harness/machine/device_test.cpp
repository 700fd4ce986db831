#include "harness/machine/device.hpp"

#include <gtest/gtest.h>

#include "base/cuda/devices.hpp"

namespace retable::harness {
namespace {

TEST(Device, EitherThereIsOneOrAReason) {
  const CudaPlatform platform = QueryCuda();
  EXPECT_NE(platform.devices.empty(), platform.why.empty()) << platform.why;
  std::string why;
  EXPECT_EQ(CudaDevicePresent(&why), !platform.devices.empty());
  EXPECT_EQ(why, platform.why);
  EXPECT_EQ(CudaDevicePresent(nullptr), !platform.devices.empty());
  if (platform.devices.empty()) {
    EXPECT_EQ(DeviceClass(), "no device");
  }
}

TEST(Device, TheReasonAgreesWithTheCount) {
  EXPECT_EQ(WhyNoDevice().any(), CudaDeviceCount() == 0);
}

TEST(Device, ClassNamesCardAndCapability) {
  CudaDevice device;
  device.name = "NVIDIA H200";
  device.capability_major = 9;
  EXPECT_EQ(DeviceClass(device), "NVIDIA H200 sm_90");
}

TEST(Device, APresentDeviceIsDescribedInFull) {
  const CudaPlatform platform = QueryCuda();
  if (platform.devices.empty()) GTEST_SKIP() << platform.why;
  EXPECT_GT(platform.driver_version, 0);
  EXPECT_GT(platform.runtime_version, 0);
  for (const CudaDevice& device : platform.devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GE(device.capability_major, 3);
    EXPECT_GT(device.multiprocessors, 0);
    EXPECT_GT(device.memory_bytes, 1 << 20);
    EXPECT_GT(device.l2_bytes, 0);
    EXPECT_GT(device.clock_khz, 0);
  }
}

}  // namespace
}  // namespace retable::harness

#include "base/cuda/no_device.hpp"

#include <gtest/gtest.h>

namespace retable {
namespace {

CudaState Healthy() {
  return {.compiled = true,
          .driver_version = 13000,
          .runtime_version = 13000,
          .oldest_code = 75,
          .devices = 1,
          .capability = 89};
}

TEST(WhyNoDevice, NothingWhereDeviceZeroCanBeUsed) {
  EXPECT_FALSE(WhyNoDevice(Healthy()).any());
}

TEST(WhyNoDevice, EachCauseHasItsRemedy) {
  struct Case {
    CudaState state;
    const char *why, *remedy;
  };
  CudaState uncompiled;
  CudaState no_driver = Healthy();
  no_driver.driver_version = 0;
  no_driver.error = 35;
  CudaState old_driver = Healthy();
  old_driver.driver_version = 12040;
  old_driver.error = 35;
  CudaState hidden = Healthy();
  hidden.error = 100;
  hidden.visible_set = true;
  CudaState unseen = hidden;
  unseen.visible_set = false;
  CudaState fabric = Healthy();
  fabric.error = 802;
  CudaState mismatch = Healthy();
  mismatch.error = 803;
  CudaState none = Healthy();
  none.devices = 0;
  CudaState pascal = Healthy();
  pascal.capability = 61;
  CudaState not_compiled_for = Healthy();
  not_compiled_for.oldest_code = 90;
  CudaState unknown = Healthy();
  unknown.error = 999;
  unknown.error_text = "unknown error";
  const Case cases[] = {
      {uncompiled, "built without CUDA", "make build"},
      {no_driver, "no NVIDIA driver", "nvidia-driver"},
      {old_driver, "the driver knows CUDA 12.4, this program needs 13.0", "update the driver"},
      {hidden, "CUDA_VISIBLE_DEVICES hides", "unset CUDA_VISIBLE_DEVICES"},
      {unseen, "sees no card", "nvidia-smi -L"},
      {fabric, "fabric manager", "systemctl start"},
      {mismatch, "different versions", "restart"},
      {none, "lists no device", "nvidia-smi"},
      {pascal, "capability 6.1, and CUDA methods need 7.5", "--device cpu"},
      {not_compiled_for, "capability 8.9, and this program has code from 9.0", "make clean build"},
      {unknown, "unknown error", "nvidia-smi"},
  };
  for (const Case& c : cases) {
    const NoDevice got = WhyNoDevice(c.state);
    EXPECT_NE(got.why.find(c.why), std::string::npos) << got.why;
    EXPECT_NE(got.remedy.find(c.remedy), std::string::npos) << got.remedy;
    EXPECT_EQ(got.driver, c.state.driver_version > 0);
  }
}

TEST(WhyNoContext, FullAndHeldCardsAreNamed) {
  EXPECT_FALSE(WhyNoContext(0, "").any());
  EXPECT_NE(WhyNoContext(2, "out of memory").why.find("memory is full"), std::string::npos);
  EXPECT_NE(WhyNoContext(46, "busy").why.find("takes one at a time"), std::string::npos);
  EXPECT_EQ(WhyNoContext(999, "unknown error").why, "unknown error");
}

TEST(CudaVersionText, HasMajorAndMinor) {
  EXPECT_EQ(CudaVersionText(13000), "13.0");
  EXPECT_EQ(CudaVersionText(12080), "12.8");
  EXPECT_EQ(CudaVersionText(0), "none");
}

}  // namespace
}  // namespace retable

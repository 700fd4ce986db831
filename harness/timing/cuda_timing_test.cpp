#include "harness/timing/cuda_timing.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/machine/device.hpp"

namespace retable::harness {
namespace {

TEST(CudaTiming, ModesHaveNames) {
  for (const CudaMode mode :
       {CudaMode::kCold, CudaMode::kWarm, CudaMode::kBatch, CudaMode::kGraph}) {
    EXPECT_EQ(ParseCudaMode(Name(mode)), mode);
  }
  try {
    ParseCudaMode("clod");
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"cold\"?"), std::string::npos);
  }
}

TEST(CudaTiming, WithoutADeviceItSaysSo) {
  std::string why;
  if (CudaDevicePresent(&why)) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(TimeOnGpu([](CUstream_st*) {}), std::runtime_error);
}

}  // namespace
}  // namespace retable::harness

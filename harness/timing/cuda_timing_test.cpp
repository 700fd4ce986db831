#include "harness/timing/cuda_timing.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/machine/device.hpp"

namespace retable::harness {
namespace {

TEST(CudaTiming, WithoutADeviceItSaysSo) {
  std::string why;
  if (CudaDevicePresent(&why)) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(TimeOnGpu([](CUstream_st*) {}), std::runtime_error);
}

}  // namespace
}  // namespace retable::harness

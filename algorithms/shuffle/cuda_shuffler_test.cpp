// Every CUDA method against its CPU twin, where there is a device.

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/shuffle/shuffler.hpp"

#ifdef RETABLE_HAS_CUDA
#include <cuda_runtime_api.h>

namespace retable::shuffle {
namespace {

bool HasDevice() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

TEST(CudaShuffler, EveryMethodIsRegistered) {
  for (const char* name :
       {"Gather", "LCG", "VarPhilox", "VarPhilox-mended", "Partition", "Shuffle"}) {
    EXPECT_NE(Registry<Shuffler>::Instance().Find(name, Device::kCuda), nullptr) << name;
  }
}

TEST(CudaShuffler, EqualsTheCpuTwin) {
  if (!HasDevice()) GTEST_SKIP() << "no CUDA device";
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    const auto* twin = Registry<Shuffler>::Instance().Find(method.name, Device::kCpu);
    if (method.device != Device::kCuda || twin == nullptr) continue;
    const auto cuda = method.make({});
    if (!cuda->deterministic()) continue;
    for (const std::uint64_t n : {1, 2, 3, 5, 16, 17, 256, 257, 8200, 8201, 70001, 1048577}) {
      EXPECT_EQ(cuda->permutation(n, n + 1), twin->make({})->permutation(n, n + 1))
          << method.name << " " << n;
    }
  }
}

TEST(CudaShuffler, OverlapIsAnError) {
  if (!HasDevice()) GTEST_SKIP() << "no CUDA device";
  std::vector<std::uint64_t> buffer(16);
  const auto cuda = Registry<Shuffler>::Instance().Make("Partition", Device::kCuda, {});
  EXPECT_THROW(cuda->shuffle(buffer.data(), buffer.data() + 4, 8, 8, 1), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle
#endif

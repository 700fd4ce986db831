// Every CUDA method against its CPU backend, where there is a device.

#include <gtest/gtest.h>

#include "algorithms/shuffle/shuffler.hpp"

#ifdef RETABLE_HAS_CUDA
#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaShufflers : public CudaTest {};

TEST(CudaRegistry, HasEveryMethod) {
  for (const char* name :
       {"Gather", "LCG", "VarPhilox", "VarPhilox-mended", "Partition", "Shuffle"}) {
    EXPECT_NE(Registry<Shuffler>::Instance().Find(name, Device::kCuda), nullptr) << name;
  }
}

TEST_F(CudaShufflers, EqualTheCpuBackend) {
  for (const CudaMethod& method : CudaMethods()) CheckCudaMethod(method, seed);
}

TEST_F(CudaShufflers, OverlapIsAnError) {
  std::vector<std::uint64_t> buffer(16);
  const auto cuda = Registry<Shuffler>::Instance().Make("Partition", Device::kCuda, {});
  EXPECT_THROW(cuda->shuffle(buffer.data(), buffer.data() + 4, 8, 8, 1), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle
#endif

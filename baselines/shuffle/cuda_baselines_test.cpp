// Every CUDA baseline against its CPU backend, where there is a device.

#ifdef RETABLE_HAS_CUDA

#include <gtest/gtest.h>

#include <set>

#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaBaselines : public CudaTest {};

TEST_F(CudaBaselines, EqualTheCpuBackend) {
  const std::set<std::string> baselines = {"DartThrowing", "SortShuffle", "SortIslands", "thrust"};
  std::set<std::string> checked;
  for (const CudaMethod& method : CudaMethods()) {
    if (!baselines.contains(method.name)) continue;
    CheckCudaMethod(method, seed);
    checked.insert(method.name);
  }
  EXPECT_EQ(checked, baselines);
}

}  // namespace
}  // namespace retable::shuffle

#endif

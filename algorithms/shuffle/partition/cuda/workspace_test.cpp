#ifdef RETABLE_HAS_CUDA

#include "algorithms/shuffle/partition/cuda/workspace.hpp"

#include <gtest/gtest.h>

#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaPartition : public CudaTest {};

TEST_F(CudaPartition, OrdersLeavesOverCapacityInGlobalMemory) {
  const auto partition = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (const std::uint64_t n : {3000, 40000}) {
    PartitionWorkspace workspace;
    workspace.Prepare(n, 8);
    workspace.LimitInMemory(1000);
    const DeviceArray<std::uint64_t> out(n);
    workspace.Enqueue(static_cast<const std::uint64_t*>(nullptr), out.data(), n, seed, nullptr);
    std::vector<std::uint64_t> order(n);
    out.Download(order);
    EXPECT_EQ(order, partition->permutation(n, seed)) << n;
  }
}

}  // namespace
}  // namespace retable::shuffle

#endif

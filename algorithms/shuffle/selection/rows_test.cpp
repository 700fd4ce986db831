#ifdef RETABLE_HAS_CUDA

#include "algorithms/shuffle/selection/rows.hpp"

#include <gtest/gtest.h>

#include <random>

#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaRows : public CudaTest {};

TEST_F(CudaRows, EqualTheCpu) {
  const auto partition = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (const std::size_t row_bytes : {1, 3, 4, 12, 16, 40, 128, 400, 1001, 4096}) {
    const std::uint64_t n = 3000000 / row_bytes + 5;
    std::vector<std::byte> in(n * row_bytes), expected(in.size()), got(in.size());
    std::mt19937_64 generator(seed + row_bytes);
    for (std::byte& byte : in) byte = static_cast<std::byte>(generator());
    const DeviceArray<std::byte> from{std::span<const std::byte>(in)}, to(in.size());
    const auto order = partition->permutation(n, seed);
    const DeviceArray<std::uint64_t> index{std::span<const std::uint64_t>(order)};
    EnqueueRowGather(index.data(), from.data(), to.data(), n, row_bytes, nullptr);
    to.Download(std::span(got));
    partition->shuffle(in.data(), expected.data(), n, row_bytes, seed);
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0) << row_bytes << " bytes";
  }
}

}  // namespace
}  // namespace retable::shuffle

#endif

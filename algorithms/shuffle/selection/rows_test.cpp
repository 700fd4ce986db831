#ifdef RETABLE_HAS_CUDA

#include "algorithms/shuffle/selection/rows.hpp"

#include <gtest/gtest.h>

#include <random>

#include "algorithms/shuffle/selection/sample.hpp"
#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaRows : public CudaTest {};

TEST_F(CudaRows, EqualTheCpuAllAndSome) {
  const auto partition = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  for (const std::size_t row_bytes : {1, 3, 4, 12, 16, 40, 128, 400, 1001, 4096}) {
    const std::uint64_t n = 3000000 / row_bytes + 5, k = n / 3;
    std::vector<std::byte> in(n * row_bytes), expected(in.size()), got(in.size());
    std::mt19937_64 generator(seed + row_bytes);
    for (std::byte& byte : in) byte = static_cast<std::byte>(generator());
    const DeviceArray<std::byte> from{std::span<const std::byte>(in)}, to(in.size());
    DeviceRows rows;
    const auto check = [&](std::uint64_t count) {
      to.Download(std::span(got).first(count * row_bytes));
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), count * row_bytes), 0)
          << count << " rows of " << row_bytes << " bytes";
    };
    rows.PrepareShuffle(n);
    rows.EnqueueShuffle(from.data(), to.data(), n, row_bytes, seed, nullptr);
    partition->shuffle(in.data(), expected.data(), n, row_bytes, seed);
    check(n);
    rows.PrepareSample(n, k);
    rows.EnqueueSample(from.data(), to.data(), n, k, row_bytes, seed, nullptr);
    SampleRows(in.data(), expected.data(), n, k, row_bytes, seed);
    check(k);
  }
}

}  // namespace
}  // namespace retable::shuffle

#endif

#ifdef RETABLE_HAS_CUDA

#include "algorithms/shuffle/in_place/workspace.hpp"

#include <gtest/gtest.h>

#include "algorithms/shuffle/testing/cuda_methods.hpp"

namespace retable::shuffle {
namespace {

class CudaInPlace : public CudaTest {};

TEST_F(CudaInPlace, EqualsTheCpuWithManyChunks) {
  for (const std::uint64_t n : {1000003, 5000000}) {
    for (const std::uint64_t chunk : {1u << 14, 1u << 18}) {
      std::vector<std::uint64_t> expected = TestItems<std::uint64_t>(n, seed), got(n);
      const DeviceArray<std::uint64_t> items{std::span<const std::uint64_t>(expected)};
      InPlaceWorkspace workspace;
      workspace.Prepare(n, 8, chunk);
      workspace.Shuffle(items.data(), n, seed, nullptr);
      items.Download(got);
      const std::vector<std::uint64_t> in = expected;
      ShuffleInPlace(expected.data(), n, 8, seed, chunk);
      EXPECT_EQ(got, expected) << n << " items in chunks of " << chunk;
      const DeviceArray<std::uint64_t> from{std::span<const std::uint64_t>(in)};
      workspace.Shuffle(from.data(), items.data(), n, seed, nullptr);
      items.Download(got);
      EXPECT_EQ(got, expected) << n << " items in chunks of " << chunk << ", to another array";
    }
  }
}

TEST_F(CudaInPlace, OneWorkspaceTakesFewerItemsThanPreparedAndNoMore) {
  constexpr std::uint64_t kPrepared = 1000003, kChunk = 1 << 14;
  InPlaceWorkspace workspace;
  workspace.Prepare(kPrepared, 8, kChunk);
  // One chunk, chunks larger than those prepared, and nearly as many items.
  for (const std::uint64_t n : {std::uint64_t{1}, kChunk, kChunk + 1, kPrepared - 1}) {
    std::vector<std::uint64_t> expected = TestItems<std::uint64_t>(n, seed), got(n);
    const DeviceArray<std::uint64_t> items{std::span<const std::uint64_t>(expected)};
    workspace.Shuffle(items.data(), n, seed, nullptr);
    items.Download(got);
    ShuffleInPlace(expected.data(), n, 8, seed, kChunk);
    EXPECT_EQ(got, expected) << n;
  }
  EXPECT_THROW(workspace.Shuffle<std::uint64_t>(nullptr, kPrepared + 1, seed, nullptr),
               std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle

#endif

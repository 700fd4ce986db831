#include "algorithms/shuffle/shuffler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/partition.hpp"
#include "algorithms/shuffle/reference/gather_index.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

std::unique_ptr<Shuffler> Make(const std::string& name, Device device = Device::kCpu) {
  return Registry<Shuffler>::Instance().Make(name, device, {});
}

bool IsPermutation(std::vector<std::uint64_t> order) {
  std::sort(order.begin(), order.end());
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

TEST(Shuffler, EveryCpuMethodPermutesEverySize) {
  const std::uint64_t sizes[] = {0,   1,   2,   3,    5,    8,    16,    17,
                                 255, 256, 257, 1000, 4096, 4097, 16401, 70001};
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != Device::kCpu || method.name == "Gather") continue;
    const auto shuffler = method.make({});
    for (const std::uint64_t n : sizes) {
      EXPECT_TRUE(IsPermutation(shuffler->permutation(n, 42 + n))) << method.name << " n=" << n;
    }
  }
}

TEST(Shuffler, EveryItemSizeFollowsOnePermutation) {
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    const auto shuffler = method.make({});
    if (method.device != Device::kCpu || !shuffler->deterministic()) continue;
    if (method.name == "Gather") continue;
    const std::uint64_t n = 20011;
    const auto order = shuffler->permutation(n, 7);
    EXPECT_EQ(order, shuffler->permutation(n, 7)) << method.name;
    EXPECT_NE(order, shuffler->permutation(n, 8)) << method.name;
    for (const std::size_t bytes : {1, 3, 4, 8, 12, 16, 20}) {
      std::vector<std::uint64_t> in_words((n * bytes + 15) / 8 + 1), out_words(in_words.size());
      auto* in = reinterpret_cast<std::uint8_t*>(in_words.data());
      auto* out = reinterpret_cast<std::uint8_t*>(out_words.data());
      for (std::uint64_t b = 0; b < n * bytes; ++b)
        in[b] = static_cast<std::uint8_t>(b * 2654435761u >> 7);
      shuffler->shuffle(in, out, n, bytes, 7);
      for (std::uint64_t j = 0; j < n; ++j) {
        ASSERT_TRUE(std::equal(out + j * bytes, out + (j + 1) * bytes, in + order[j] * bytes))
            << method.name << " " << bytes << " bytes, place " << j;
      }
    }
  }
}

// Buffers at any address give the order of aligned ones; nothing beside them is touched.
TEST(Shuffler, AnyAddressWillDo) {
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    const auto shuffler = method.make({});
    if (method.device != Device::kCpu || !shuffler->deterministic()) continue;
    for (const std::size_t bytes : {4, 8, 12, 16}) {
      for (const std::size_t n : {1, 5, 8000, 20011}) {
        std::vector<Item16> memory[3];
        for (auto& items : memory) items.resize(n * bytes / 16 + 4);
        auto* in = reinterpret_cast<std::uint8_t*>(memory[0].data());
        auto* out = reinterpret_cast<std::uint8_t*>(memory[1].data());
        auto* expected = reinterpret_cast<std::uint8_t*>(memory[2].data());
        for (std::size_t b = 0; b < n * bytes; ++b) {
          in[b] = static_cast<std::uint8_t>(b * 2654435761u >> 7);
        }
        shuffler->shuffle(in, expected, n, bytes, 7);
        for (const std::size_t offset : {1, 4, 8}) {
          std::memmove(in + offset, in, n * bytes);
          std::memset(out, 0xEE, n * bytes + 2 * offset);
          shuffler->shuffle(in + offset, out + offset, n, bytes, 7);
          EXPECT_EQ(std::memcmp(out + offset, expected, n * bytes), 0)
              << method.name << " " << bytes << " bytes at " << offset << ", n=" << n;
          EXPECT_EQ(out[offset - 1], 0xEE);
          EXPECT_EQ(out[offset + n * bytes], 0xEE);
          std::memmove(in, in + offset, n * bytes);
        }
      }
    }
  }
}

TEST(Shuffler, BadInputIsNamed) {
  const auto shuffler = Make("VarPhilox");
  std::vector<std::byte> buffer(64), other(64);
  const std::span<std::byte> all(buffer);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), buffer.data() + 8, 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), buffer.data(), 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(nullptr, other.data(), 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), other.data(), 4, 0, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(all, other, 12, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), other.data(), 1u << 20, std::size_t{1} << 44, 1),
               std::invalid_argument);
  for (const auto& method : Registry<Shuffler>::Instance().Methods()) {
    if (method.device != Device::kCpu) continue;
    for (const std::uint64_t n : {kMaxItems + 1, kMaxBijection - 1, ~std::uint64_t{0}}) {
      EXPECT_THROW(method.make({})->permutation(n, 1), std::invalid_argument) << method.name;
      EXPECT_THROW(method.make({})->shuffle(buffer.data(), other.data(), n, 8, 1),
                   std::invalid_argument)
          << method.name;
    }
  }
  EXPECT_THROW(MakeGatherIndex((std::uint64_t{1} << 32) + 1, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(all, std::span<std::byte>(other).first(32), 8, 1),
               std::invalid_argument);
  EXPECT_THROW(shuffler->permutation(kMaxItems, 1), std::invalid_argument);
  EXPECT_NO_THROW(shuffler->shuffle(nullptr, nullptr, 0, 8, 1));
  EXPECT_THROW(MakeVariablePhilox(100, 1, 0), std::invalid_argument);
  EXPECT_THROW(MakePartitionPlan(kMaxPartition + 1), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle

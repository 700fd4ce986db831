#include "algorithms/shuffle/shuffler.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/partition/partition.hpp"
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

TEST(Shuffler, BadInputIsNamed) {
  const auto shuffler = Make("VarPhilox");
  std::vector<std::byte> buffer(64), other(64);
  const std::span<std::byte> all(buffer);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), buffer.data() + 8, 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), buffer.data(), 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(nullptr, other.data(), 4, 8, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(buffer.data(), other.data(), 4, 0, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(all, other, 12, 1), std::invalid_argument);
  EXPECT_THROW(shuffler->shuffle(all, std::span<std::byte>(other).first(32), 8, 1),
               std::invalid_argument);
  EXPECT_THROW(shuffler->permutation(kMaxItems, 1), std::invalid_argument);
  EXPECT_NO_THROW(shuffler->shuffle(nullptr, nullptr, 0, 8, 1));
  EXPECT_THROW(MakeVariablePhilox(100, 1, 0), std::invalid_argument);
  EXPECT_THROW(MakePartitionPlan(kMaxPartition + 1), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shuffle

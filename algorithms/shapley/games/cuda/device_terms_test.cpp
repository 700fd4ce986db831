// Games of conjunctions on a GPU against the CPU, bit for bit, on fresh random games.

#include <gtest/gtest.h>

#if defined(RETABLE_HAS_CUDA)

#include <random>

#include "algorithms/shapley/games/game_testing.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/cuda/devices.hpp"
#include "base/seed_testing.hpp"

namespace retable::shapley {
namespace {

class CudaTerms : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    random_.seed(FreshSeed());
  }

  void ExpectSameWalks(const Game& host, const Game& device, std::size_t count) {
    const auto d = static_cast<std::size_t>(host.dimension());
    std::vector<std::int32_t> orders(count * d);
    for (std::size_t i = 0; i < count; ++i) {
      UniformOrder(random_(), 0, i, std::span(orders).subspan(i * d, d));
    }
    std::vector<double> want(count * (d + 1)), got(want.size());
    host.walks(orders, want);
    device.walks(orders, got);
    EXPECT_TRUE(got == want);
  }

  void ExpectSameValues(const Game& host, const Game& device, std::size_t count) {
    const std::size_t words = CoalitionWords(host.dimension());
    std::vector<std::uint64_t> coalitions(count * words);
    for (auto& word : coalitions) word = random_() | (random_() % 3 == 0 ? random_() : 0);
    const int over = host.dimension() % 64;
    for (std::size_t w = words - 1; over != 0 && w < coalitions.size(); w += words) {
      coalitions[w] &= (std::uint64_t{1} << over) - 1;
    }
    std::vector<double> want(count), got(count);
    host.evaluate(coalitions, want);
    device.evaluate(coalitions, got);
    EXPECT_TRUE(got == want);
  }

  std::mt19937_64 random_;
};

TEST_F(CudaTerms, HaveTheCpusValues) {
  for (const int d : {1, 2, 3, 10, 31, 64, 65, 107, 300, 4096}) {
    for (const int terms : {0, 1, 255, 3000, 40000}) {
      SCOPED_TRACE(testing::Message() << d << " players, " << terms << " terms");
      const auto host = RandomTermGame(d, 7, terms, random_());
      const auto device = MakeDeviceTermGame(*host);
      const std::size_t most = d > 1000 ? 9 : 200;
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, most}) {
        ExpectSameWalks(*host, *device, count);
        ExpectSameValues(*host, *device, count);
      }
    }
  }
  EXPECT_THROW(MakeDeviceTermGame(TermGame(4097, {})), std::invalid_argument);
}

}  // namespace
}  // namespace retable::shapley

#endif

#include "algorithms/shapley/permutation_sampler.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/common/philox.hpp"
#include "algorithms/common/require.hpp"

namespace retable::shapley {

void CheckSample(std::size_t n, int d) {
  Require(d >= 1 && d <= 65535, "a permutation of ", d,
          " players: between 1 and 65535 are possible");
  Require(n <= (std::size_t{1} << 40) / static_cast<std::size_t>(d), n, " permutations of ", d,
          " players: together at most 2^40 numbers are possible");
}

PermutationSample EmptySample(std::size_t n, int d) {
  CheckSample(n, d);
  return {d, std::vector<std::int32_t>(n * static_cast<std::size_t>(d)), {}};
}

void UniformOrder(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                  std::span<std::int32_t> order) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::iota(order.begin(), order.end(), 0);
  // A block has two draws; an order of at most 65535 players starts every 2^15 blocks.
  PhiloxBlock block{};
  for (std::size_t k = order.size(), draw = 0; k > 1; --k, ++draw) {
    if (draw % 2 == 0) block = random.Block((index << 15) + draw / 2, stream);
    const auto j =
        static_cast<std::size_t>(UniformBelow(block.half(static_cast<int>(draw % 2)), k));
    std::swap(order[k - 1], order[j]);
  }
}

void Relabel(PermutationSample& sample, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::int32_t> label(static_cast<std::size_t>(sample.dimension));
  UniformOrder(seed, stream, 0, label);
  for (auto& player : sample.orders) player = label[static_cast<std::size_t>(player)];
}

void OrderOfScores(std::span<const double> scores, std::span<std::int32_t> order) {
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return scores[static_cast<std::size_t>(a)] < scores[static_cast<std::size_t>(b)];
  });
}

}  // namespace retable::shapley

#include "algorithms/shapley/games/game.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "algorithms/common/require.hpp"

namespace retable::shapley {
namespace {

// Throws unless every value can be averaged.
void CheckFinite(std::span<const double> values) {
  for (const double v : values) {
    Require(std::isfinite(v),
            "the game has a value that is not finite: check the model and its input for NaN and "
            "infinities");
  }
}

class Table final : public Game {
 public:
  Table(int d, std::vector<double> values) : d_(d), table_(std::move(values)) {}
  int dimension() const override { return d_; }
  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    std::transform(coalitions.begin(), coalitions.end(), values.begin(),
                   [&](std::uint64_t mask) { return table_[mask]; });
  }
  void walk(std::span<const std::int32_t> order, std::span<double> values) const override {
    std::uint64_t mask = 0;
    values[0] = table_[0];
    for (std::size_t k = 0; k < order.size(); ++k) {
      mask |= std::uint64_t{1} << order[k];
      values[k + 1] = table_[mask];
    }
  }

 private:
  int d_;
  std::vector<double> table_;
};

// The values of all 2^d coalitions, by their masks.
std::vector<double> AllValues(const Game& game) {
  const int d = game.dimension();
  Require(d <= 20, "a table of all coalitions of ", d, " players: 20 is the limit");
  std::vector<std::uint64_t> masks(std::size_t{1} << d);
  std::iota(masks.begin(), masks.end(), std::uint64_t{0});
  std::vector<double> values(masks.size());
  EvaluateChecked(game, masks, values);
  return values;
}

}  // namespace

int SizeOf(std::span<const std::uint64_t> mask) {
  int ones = 0;
  for (const std::uint64_t word : mask) ones += std::popcount(word);
  return ones;
}

void Complement(int d, std::span<std::uint64_t> mask) {
  for (auto& word : mask) word = ~word;
  if (d % 64 != 0) mask.back() &= (std::uint64_t{1} << (d % 64)) - 1;
}

std::vector<std::uint64_t> Prefixes(std::span<const std::int32_t> order) {
  const std::size_t words = CoalitionWords(static_cast<int>(order.size()));
  std::vector<std::uint64_t> coalitions((order.size() + 1) * words, 0);
  std::uint64_t* at = coalitions.data();
  for (const std::int32_t player : order) {
    std::copy(at, at + words, at + words);
    at += words;
    LetIn({at, words}, static_cast<std::size_t>(player));
  }
  return coalitions;
}

std::vector<std::uint64_t> Prefixes(std::span<const std::int32_t> orders, int d) {
  const auto step = static_cast<std::size_t>(d);
  std::vector<std::uint64_t> coalitions;
  for (std::size_t at = 0; at < orders.size(); at += step) {
    const auto prefixes = Prefixes(orders.subspan(at, step));
    coalitions.insert(coalitions.end(), prefixes.begin(), prefixes.end());
  }
  return coalitions;
}

void Game::walk(std::span<const std::int32_t> order, std::span<double> values) const {
  evaluate(Prefixes(order), values);
}

void Game::walks(std::span<const std::int32_t> orders, std::span<double> values) const {
  const auto d = static_cast<std::size_t>(dimension());
  for (std::size_t i = 0; i < orders.size() / d; ++i) {
    walk(orders.subspan(i * d, d), values.subspan(i * (d + 1), d + 1));
  }
}

void EvaluateChecked(const Game& game, std::span<const std::uint64_t> coalitions,
                     std::span<double> values) {
  game.evaluate(coalitions, values);
  CheckFinite(values);
}

void WalksChecked(const Game& game, std::span<const std::int32_t> orders,
                  std::span<double> values) {
  game.walks(orders, values);
  CheckFinite(values);
}

Ends EndValues(const Game& game) {
  const std::size_t words = CoalitionWords(game.dimension());
  std::vector<std::uint64_t> both(2 * words, 0);
  Complement(game.dimension(), std::span(both).last(words));
  double v[2];
  EvaluateChecked(game, both, v);
  return {v[0], v[1]};
}

std::unique_ptr<Game> TabulatedGame(const Game& game) {
  return std::make_unique<Table>(game.dimension(), AllValues(game));
}

void CountingGame::evaluate(std::span<const std::uint64_t> coalitions,
                            std::span<double> values) const {
  Count(coalitions);
  game_.evaluate(coalitions, values);
}

void CountingGame::walks(std::span<const std::int32_t> orders, std::span<double> values) const {
  Count(Prefixes(orders, dimension()));
  game_.walks(orders, values);
}

void CountingGame::Count(std::span<const std::uint64_t> coalitions) const {
  const std::lock_guard lock(mutex_);
  asked_.insert(asked_.end(), coalitions.begin(), coalitions.end());
}

std::int64_t CountingGame::evaluations() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(asked_.size() / CoalitionWords(dimension()));
}

std::int64_t CountingGame::unique() const {
  const std::lock_guard lock(mutex_);
  const std::size_t words = CoalitionWords(dimension());
  std::vector<const std::uint64_t*> order(asked_.size() / words);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = asked_.data() + i * words;
  std::sort(order.begin(), order.end(), [words](const auto* a, const auto* b) {
    return std::lexicographical_compare(a, a + words, b, b + words);
  });
  return std::unique(
             order.begin(), order.end(),
             [words](const auto* a, const auto* b) { return std::equal(a, a + words, b); }) -
         order.begin();
}

double FactorialRatio(int a, int b) {
  double ratio = 1.0 / (a + 1);
  for (int k = 1; k <= b; ++k) ratio *= static_cast<double>(k) / (a + k + 1);
  return ratio;
}

std::vector<double> ExactShapleyValues(const Game& game) {
  const int d = game.dimension();
  const std::vector<double> v = AllValues(game);
  std::vector<double> weight(static_cast<std::size_t>(d));
  for (int s = 0; s < d; ++s) weight[static_cast<std::size_t>(s)] = FactorialRatio(s, d - 1 - s);
  std::vector<double> phi(static_cast<std::size_t>(d), 0.0);
  for (std::uint64_t mask = 0; mask < v.size(); ++mask) {
    for (std::size_t i = 0; i < phi.size(); ++i) {
      const std::uint64_t player = std::uint64_t{1} << i;
      if ((mask & player) != 0) continue;
      phi[i] +=
          weight[static_cast<std::size_t>(std::popcount(mask))] * (v[mask | player] - v[mask]);
    }
  }
  return phi;
}

}  // namespace retable::shapley

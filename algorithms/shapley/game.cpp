#include "algorithms/shapley/game.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "algorithms/common/philox.hpp"

namespace retable::shapley {
namespace {

class OneByOne final : public Game {
 public:
  OneByOne(int d, std::function<double(std::uint64_t)> value) : d_(d), value_(std::move(value)) {
    if (d < 1 || d > 64) throw std::invalid_argument("a game by masks has 1 to 64 players");
  }
  int dimension() const override { return d_; }
  void evaluate(std::span<const std::uint64_t> coalitions,
                std::span<double> values) const override {
    std::transform(coalitions.begin(), coalitions.end(), values.begin(), value_);
  }

 private:
  int d_;
  std::function<double(std::uint64_t)> value_;
};

// a! b! / (a + b + 1)!
double FactorialRatio(int a, int b) {
  double ratio = 1.0 / (a + 1);
  for (int k = 1; k <= b; ++k) ratio *= static_cast<double>(k) / (a + k + 1);
  return ratio;
}

}  // namespace

void EvaluateChecked(const Game& game, std::span<const std::uint64_t> coalitions,
                     std::span<double> values) {
  game.evaluate(coalitions, values);
  for (const double v : values) {
    if (!std::isfinite(v)) {
      throw std::invalid_argument(
          "the game has a value that is not finite: check the model and its input for NaN and "
          "infinities");
    }
  }
}

std::unique_ptr<Game> FunctionGame(int d, std::function<double(std::uint64_t)> value) {
  return std::make_unique<OneByOne>(d, std::move(value));
}

std::unique_ptr<Game> TabulatedGame(const Game& game) {
  const int d = game.dimension();
  if (d > 20) {
    throw std::invalid_argument("a table of all coalitions of " + std::to_string(d) +
                                " players: 20 is the limit");
  }
  std::vector<std::uint64_t> masks(std::size_t{1} << d);
  std::iota(masks.begin(), masks.end(), std::uint64_t{0});
  std::vector<double> table(masks.size());
  EvaluateChecked(game, masks, table);
  return FunctionGame(d, [table = std::move(table)](std::uint64_t mask) { return table[mask]; });
}

TermGame::TermGame(int d, std::vector<Term> terms) : d_(d) {
  if (d < 1 || d > 64) throw std::invalid_argument("a game of conjunctions has 1 to 64 players");
  const std::uint64_t all = d == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << d) - 1;
  const auto key = [](const Term& t) { return std::pair(t.with, t.without); };
  std::sort(terms.begin(), terms.end(),
            [&](const Term& a, const Term& b) { return key(a) < key(b); });
  for (const Term& term : terms) {
    if (((term.with | term.without) & ~all) != 0 || (term.with & term.without) != 0) {
      throw std::invalid_argument(
          "a conjunction over players that do not exist, or over x and not x");
    }
    if (!with_.empty() && with_.back() == term.with && without_.back() == term.without) {
      coefficient_.back() += term.coefficient;
      continue;
    }
    with_.push_back(term.with);
    without_.push_back(term.without);
    coefficient_.push_back(term.coefficient);
  }
}

void TermGame::evaluate(std::span<const std::uint64_t> coalitions, std::span<double> values) const {
  const std::size_t terms = coefficient_.size();
  for (std::size_t k = 0; k < coalitions.size(); ++k) {
    const std::uint64_t in = coalitions[k];
    double sum = 0;
    for (std::size_t t = 0; t < terms; ++t) {
      const bool holds = ((with_[t] & ~in) | (without_[t] & in)) == 0;
      sum += holds ? coefficient_[t] : 0.0;
    }
    values[k] = sum;
  }
}

std::vector<double> TermGame::ShapleyValues() const {
  std::vector<double> phi(static_cast<std::size_t>(d_), 0.0);
  for (std::size_t t = 0; t < coefficient_.size(); ++t) {
    const int in = std::popcount(with_[t]), out = std::popcount(without_[t]);
    const double gain = in > 0 ? coefficient_[t] * FactorialRatio(in - 1, out) : 0;
    const double loss = out > 0 ? coefficient_[t] * FactorialRatio(in, out - 1) : 0;
    for (std::size_t i = 0; i < phi.size(); ++i) {
      if ((with_[t] >> i) & 1) phi[i] += gain;
      if ((without_[t] >> i) & 1) phi[i] -= loss;
    }
  }
  return phi;
}

std::unique_ptr<TermGame> RandomTermGame(int d, int order, int count, std::uint64_t seed) {
  if (order < 1) throw std::invalid_argument("conjunctions of at least one player are needed");
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::uint64_t next = 0;
  const auto draw = [&] { return random.Block(next++).half(0); };
  std::vector<Term> terms(static_cast<std::size_t>(count));
  for (Term& term : terms) {
    const auto size = UniformBelow(draw(), static_cast<std::uint64_t>(order)) + 1;
    for (std::uint64_t k = 0; k < size; ++k) {
      const std::uint64_t player = std::uint64_t{1}
                                   << UniformBelow(draw(), static_cast<std::uint64_t>(d));
      if (((term.with | term.without) & player) != 0) continue;
      (draw() % 2 == 0 ? term.with : term.without) |= player;
    }
    const double radius = std::sqrt(-2 * std::log(UniformDoubleOpenBelow(draw())));
    term.coefficient = radius * std::cos(6.283185307179586 * UniformDouble(draw()));
  }
  return std::make_unique<TermGame>(d, std::move(terms));
}

std::vector<double> ExactShapleyValues(const Game& game) {
  const auto table = TabulatedGame(game);
  const int d = game.dimension();
  std::vector<std::uint64_t> masks(std::size_t{1} << d);
  std::iota(masks.begin(), masks.end(), std::uint64_t{0});
  std::vector<double> v(masks.size()), weight(static_cast<std::size_t>(d));
  table->evaluate(masks, v);
  for (int s = 0; s < d; ++s) weight[static_cast<std::size_t>(s)] = FactorialRatio(s, d - 1 - s);
  std::vector<double> phi(static_cast<std::size_t>(d), 0.0);
  for (const std::uint64_t mask : masks) {
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

#include "algorithms/shapley/games/term_game.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "algorithms/common/require.hpp"

namespace retable::shapley {
namespace {

constexpr char16_t kSides = std::numeric_limits<char16_t>::max();  // parts the sides of a key

// The players of one side, ascending, once each.
std::u16string PlayersOf(const std::vector<std::int32_t>& side, int d) {
  std::u16string players;
  for (const std::int32_t player : side) {
    Require(player >= 0 && player < d, "a conjunction over player ", player, " of ", d);
    players.push_back(static_cast<char16_t>(player));
  }
  std::ranges::sort(players);
  players.erase(std::unique(players.begin(), players.end()), players.end());
  return players;
}

std::u16string KeyOf(const Term& term, int d) {
  const std::u16string with = PlayersOf(term.with, d), without = PlayersOf(term.without, d);
  for (const char16_t player : with) {
    Require(!std::ranges::binary_search(without, player), "a conjunction over player ", player,
            " in and out");
  }
  return with + kSides + without;
}

}  // namespace

TermGame::TermGame(int d, std::span<const Term> terms) : d_(d) {
  Require(d >= 1 && d <= 65535, "a game of conjunctions has 1 to 65535 players");
  std::unordered_map<std::u16string, double> joined;
  for (const Term& term : terms) joined[KeyOf(term, d)] += term.coefficient;
  std::vector<std::pair<std::u16string, double>> sorted(joined.begin(), joined.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t words = CoalitionWords(d);
  with_.assign(words * sorted.size(), 0);
  without_.assign(words * sorted.size(), 0);
  for (std::size_t t = 0; t < sorted.size(); ++t) {
    begin_.push_back(static_cast<std::uint32_t>(players_.size()));
    auto* masks = &with_;
    for (const char16_t player : sorted[t].first) {
      if (player == kSides) {
        middle_.push_back(static_cast<std::uint32_t>(players_.size()));
        masks = &without_;
        continue;
      }
      players_.push_back(static_cast<std::uint16_t>(player));
      (*masks)[player / 64 * sorted.size() + t] |= std::uint64_t{1} << (player % 64);
    }
    coefficient_.push_back(sorted[t].second);
  }
  begin_.push_back(static_cast<std::uint32_t>(players_.size()));
  double size = 0;
  for (const double c : coefficient_) size += std::abs(c);
  Require(std::isfinite(size), "the coefficients of a game of conjunctions have no finite sum");
  // Sums stay below 2^62; a unit below 2^-1000 would make no normal number.
  const int exponent = size > 0 ? std::min(61 - std::ilogb(size), 1000) : 0;
  unit_ = std::ldexp(1.0, -exponent);
  for (const double c : coefficient_) fixed_.push_back(std::llrint(std::ldexp(c, exponent)));
}

std::span<const std::uint16_t> TermGame::With(std::size_t t) const {
  return std::span(players_).subspan(begin_[t], middle_[t] - begin_[t]);
}

std::span<const std::uint16_t> TermGame::Without(std::size_t t) const {
  return std::span(players_).subspan(middle_[t], begin_[t + 1] - middle_[t]);
}

void TermGame::evaluate(std::span<const std::uint64_t> coalitions, std::span<double> values) const {
  constexpr std::size_t kBlock = 256;
  const std::size_t words = CoalitionWords(d_), terms = coefficient_.size();
  std::array<std::uint64_t, kBlock> broken;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::uint64_t* in = coalitions.data() + k * words;
    std::int64_t sum = 0;
    for (std::size_t from = 0; from < terms; from += kBlock) {
      const std::size_t count = std::min(kBlock, terms - from);
      broken.fill(0);
      for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t* with = with_.data() + w * terms + from;
        const std::uint64_t* without = without_.data() + w * terms + from;
        for (std::size_t t = 0; t < count; ++t) {
          broken[t] |= (with[t] & ~in[w]) | (without[t] & in[w]);
        }
      }
      for (std::size_t t = 0; t < count; ++t) sum += broken[t] == 0 ? fixed_[from + t] : 0;
    }
    values[k] = static_cast<double>(sum) * unit_;
  }
}

void TermGame::walk(std::span<const std::int32_t> order, std::span<double> values) const {
  std::vector<std::uint32_t> place(static_cast<std::size_t>(d_));
  for (std::size_t k = 0; k < order.size(); ++k) {
    place[static_cast<std::size_t>(order[k])] = static_cast<std::uint32_t>(k);
  }
  // One entry more than values: the end of terms that hold to the last.
  std::vector<std::int64_t> change(order.size() + 2, 0);
  for (std::size_t t = 0; t < coefficient_.size(); ++t) {
    std::uint32_t from = 0, to = static_cast<std::uint32_t>(order.size()) + 1;
    for (const std::uint16_t player : With(t)) from = std::max(from, place[player] + 1);
    for (const std::uint16_t player : Without(t)) to = std::min(to, place[player] + 1);
    if (from >= to) continue;
    change[from] += fixed_[t];
    change[to] -= fixed_[t];
  }
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    sum += change[k];
    values[k] = static_cast<double>(sum) * unit_;
  }
}

std::vector<double> TermGame::ShapleyValues() const {
  std::vector<double> phi(static_cast<std::size_t>(d_), 0.0);
  for (std::size_t t = 0; t < coefficient_.size(); ++t) {
    const auto in = static_cast<int>(With(t).size()), out = static_cast<int>(Without(t).size());
    for (const std::uint16_t i : With(t)) phi[i] += coefficient_[t] * FactorialRatio(in - 1, out);
    for (const std::uint16_t i : Without(t))
      phi[i] -= coefficient_[t] * FactorialRatio(in, out - 1);
  }
  return phi;
}

#if !defined(RETABLE_HAS_CUDA)
std::unique_ptr<Game> MakeDeviceTermGame(const TermGame&) {
  throw std::invalid_argument("this build has no CUDA");
}
#endif

}  // namespace retable::shapley

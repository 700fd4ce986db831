#pragma once
//! @file
//! Tiles and the sums of a row, which both tapes of interaction values
//! (interactions/ancestor/tape.hpp, interactions/derivative/tape.hpp) number in the same way.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/treeshap/quadrature/tape/compiler.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! Index of the unordered pair (a, b) in a triangle; (a, a) is a's value.
RETABLE_HD std::uint32_t TriangleIndex(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t high = a > b ? a : b;
  const std::uint32_t low = a > b ? b : a;
  return high * (high + 1) / 2 + low;
}

//! A sum of a row: an output, and two features that meet on one of its paths. Only features of one
//! path interact.
struct InteractionSum {
  std::uint32_t group, high, low;  //!< high = low: the feature's value
};

//! A tile of either tape as the device sees it; its number is its index in the list.
struct TapeTile {
  std::uint32_t group = 0;
  std::uint32_t first_word = 0;
  std::uint32_t words = 0;
  std::uint32_t interactions = 0;
  std::uint32_t factors = 0;
  std::uint32_t below = 0;        //!< number of tiles whose results it takes
  std::uint32_t above = kNoTile;  //!< the tile that takes its results

  static constexpr std::uint32_t kNoTile = ~0u;
};

//! Numbers the interactions of all tiles, output by output, and overwrites each list with the
//! numbers. `list` gives the list of a tile in a tape, as words. O(n + m log m), n entries of all
//! lists, m distinct ones
template <class Tape, class List>
std::vector<InteractionSum> NumberSums(std::vector<Tape>& tapes, List list) {
  std::map<std::uint32_t, std::vector<std::span<float>>> lists;  // of each output
  for (Tape& tape : tapes) {
    for (const auto& tile : tape.tiles) lists[tile.group].push_back(list(tape, tile));
  }
  constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> number_of;  // by pair, of the output at hand
  std::vector<InteractionSum> sums;
  for (auto& [group, words] : lists) {
    std::vector<std::uint32_t> pairs;
    for (const float word : std::views::join(words)) {
      const auto pair = std::bit_cast<std::uint32_t>(word);
      if (pair >= number_of.size()) number_of.resize(std::size_t{pair} + 1, kNone);
      if (std::exchange(number_of[pair], 0) == kNone) pairs.push_back(pair);
    }
    std::ranges::sort(pairs);
    std::uint32_t high = 0;
    for (const std::uint32_t pair : pairs) {
      while (TriangleIndex(high + 1, 0) <= pair) ++high;
      number_of[pair] = static_cast<std::uint32_t>(sums.size());
      sums.push_back({group, high, pair - TriangleIndex(high, 0)});
    }
    for (float& word : std::views::join(words)) {
      word = std::bit_cast<float>(number_of[std::bit_cast<std::uint32_t>(word)]);
    }
    for (const std::uint32_t pair : pairs) number_of[pair] = kNone;
  }
  return sums;
}

//! The words of a tape from the group of four words `first` on.
inline std::span<float> WordsFrom(std::vector<Float4>& words, std::size_t first,
                                  std::size_t count) {
  return {reinterpret_cast<float*>(words.data() + first), count};
}

}  // namespace retable::treeshap

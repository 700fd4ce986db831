#pragma once
//! @file
//! Common to the compilers of both tapes of interaction values (interactions/ancestor/tape.cpp,
//! interactions/derivative/tape.cpp): numbers and arrays in groups of four words, and the order of
//! tiles.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"
#include "algorithms/treeshap/quadrature/tape/compiler.hpp"

namespace retable::treeshap {

inline float Word(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

inline std::uint32_t Count(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

//! A list of numbers, the last group filled up with zeros.
inline void Words(std::vector<std::uint32_t> list, std::vector<Float4>& words) {
  list.resize((list.size() + 3) / 4 * 4, 0);
  for (std::size_t i = 0; i < list.size(); i += 4) {
    words.push_back({Word(list[i]), Word(list[i + 1]), Word(list[i + 2]), Word(list[i + 3])});
  }
}

//! An array over a pass's points, from `begin` on in the rule; value(t, weight), 0 past its end.
template <class Value>
void PointWords(const QuadratureRule& rule, std::size_t begin, int points, Value value,
                std::vector<Float4>& words) {
  float array[8] = {};
  for (int i = 0; i < points; ++i) {
    const std::size_t q = begin + static_cast<std::size_t>(i);
    if (q >= rule.size()) break;
    array[i] = static_cast<float>(value(rule.node[q], rule.weight[q]));
  }
  for (int i = 0; i < points; i += 4) {
    words.push_back({array[i], array[i + 1], array[i + 2], array[i + 3]});
  }
}

//! A split as interpreters read it: (lower, upper, threshold, feature | flags), or offsets of sets
//! in place of the bounds.
inline Float4 SplitWords(const AnnotatedNode& at, const std::vector<std::uint32_t>& sets,
                         std::uint32_t feature) {
  const std::uint32_t flags = (at.missing_inside ? tape::kMissingInside : 0u) |
                              (at.missing_left ? 0u : tape::kMissingAbove);
  if (at.left_set < 0) return {at.lower, at.upper, at.threshold, Word(feature | flags)};
  const auto offset = [&](std::int32_t set) {
    return Word(set < 0 ? ~0u : sets[static_cast<std::size_t>(set)]);
  };
  return {offset(at.inside_set), offset(at.left_set), at.threshold,
          Word(feature | flags | tape::kCategorical)};
}

//! Largest magnitude of a tree's leaves, which bounds its sums.
inline double LargestLeaf(const AnnotatedTree& tree) {
  double most = 0;
  for (const AnnotatedNode& node : tree.nodes) most = std::max(most, std::abs(node.value));
  return most;
}

//! Sorts tiles by the words on their path to the root, the longest first, so that a tile comes
//! before the tile above it. @return the new number of each tile
template <class Tile>
std::vector<std::uint32_t> OrderTiles(std::vector<Tile>& tiles) {
  std::vector<std::size_t> length(tiles.size());
  std::vector<std::uint32_t> order(tiles.size());
  for (std::size_t i = tiles.size(); i-- > 0;) {
    const std::uint32_t above = tiles[i].above;
    length[i] = tiles[i].words + (above == Tile::kNoTile ? 0 : length[above]);
    order[i] = Count(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return length[a] > length[b]; });
  std::vector<std::uint32_t> number(tiles.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = Count(i);
  std::vector<Tile> ordered;
  for (const std::uint32_t old : order) {
    ordered.push_back(tiles[old]);
    if (tiles[old].above != Tile::kNoTile) ordered.back().above = number[tiles[old].above];
  }
  tiles = std::move(ordered);
  return number;
}

}  // namespace retable::treeshap

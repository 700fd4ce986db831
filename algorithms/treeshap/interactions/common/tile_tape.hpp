#pragma once
//! @file
//! How both tapes of interaction values (interactions/ancestor/tape.cpp,
//! interactions/derivative/tape.cpp) put numbers and arrays into groups of four words.

#include <bit>
#include <cstdint>
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

}  // namespace retable::treeshap

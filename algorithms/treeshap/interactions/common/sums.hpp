#pragma once
//! @file
//! What the two tapes of interaction values (interactions/ancestor/tape.hpp,
//! interactions/derivative/tape.hpp) number alike: the sums of a row.

#include <bit>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"

namespace retable::treeshap {

//! Numbers the pairs of all parts' lists, output by output, and writes the numbers in their place.
//! `list` gives a part's pairs in a tape, as words. O(pairs of all parts, log of those that meet)
template <class Tape, class List>
std::vector<PairSum> NumberSums(std::vector<Tape>& tapes, List list) {
  const auto visit = [&](auto&& function) {
    for (Tape& tape : tapes) {
      for (const auto& part : tape.parts) {
        for (float& word : list(tape, part)) {
          function(std::pair(part.group, std::bit_cast<std::uint32_t>(word)), word);
        }
      }
    }
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  visit([&](auto pair, float&) { numbers.try_emplace(pair, 0); });
  std::vector<PairSum> sums;
  std::uint32_t high = 0;
  for (auto& [pair, number] : numbers) {
    number = static_cast<std::uint32_t>(sums.size());
    if (pair.second < PairIndex(high, 0)) high = 0;  // the next output's first
    while (PairIndex(high + 1, 0) <= pair.second) ++high;
    sums.push_back({pair.first, high, pair.second - PairIndex(high, 0)});
  }
  visit([&](auto pair, float& word) { word = std::bit_cast<float>(numbers.at(pair)); });
  return sums;
}

//! The words of a tape from the group of four words `first` on.
inline std::span<float> WordsFrom(std::vector<Float4>& words, std::size_t first,
                                  std::size_t count) {
  return {reinterpret_cast<float*>(words.data() + first), count};
}

}  // namespace retable::treeshap

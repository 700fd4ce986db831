#pragma once
//! @file
//! Sets of categories as kernels read them: words in one array.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! Appends a head (the number of words; the top bit: all categories beyond them are in the set) and
//! the set's words. @return the index of the head
inline std::uint32_t AppendSet(const CategorySet& set, std::vector<std::uint32_t>& words) {
  const auto offset = static_cast<std::uint32_t>(words.size());
  words.push_back(static_cast<std::uint32_t>(set.left.size()) | (set.others_left ? 1u << 31 : 0u));
  words.insert(words.end(), set.left.begin(), set.left.end());
  return offset;
}

//! Appends all of them. @return the indices of their heads
inline std::vector<std::uint32_t> AppendSets(const std::vector<CategorySet>& sets,
                                             std::vector<std::uint32_t>& words) {
  std::vector<std::uint32_t> heads;
  for (const CategorySet& set : sets) heads.push_back(AppendSet(set, words));
  return heads;
}

//! Whether x is in the set whose head is at the offset; read(i) gives the word at an offset.
template <class Read>
RETABLE_HD bool InSet(const Read& read, std::uint32_t offset, float x) {
  const std::uint32_t head = read(offset);
  if (!(x >= 0) || x >= static_cast<float>((head & 0x7fffffffu) * 32)) return (head >> 31) != 0;
  const auto category = static_cast<std::uint32_t>(x);
  return ((read(offset + 1 + category / 32) >> (category % 32)) & 1u) != 0;
}

}  // namespace retable::treeshap

#pragma once
//! @file
//! What the fuzz target does with bytes that claim to be a forest in the compact form; a test does
//! the same with mutations of real ones. A wrong checksum is put right first: it would stop every
//! mutation. The bytes are refused with std::invalid_argument, or they are a forest that answers
//! and is written and read as the same again.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "algorithms/extratrees/model/binary.hpp"

namespace retable::extratrees {

//! @return whether the bytes were a forest
inline bool FuzzForestBytes(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  if (size >= 16) {
    const std::uint32_t sum = ForestChecksum(bytes);
    std::memcpy(bytes.data() + 12, &sum, sizeof(sum));
  }
  Forest forest;
  ForestNames names, again_names;
  try {
    forest = ReadForestBytes(bytes, &names);
  } catch (const std::invalid_argument&) {
    return false;
  }
  const Forest again = ReadForestBytes(WriteForestBytes(forest, names), &again_names);
  if (again_names != names || WriteForestBytes(again, names) != WriteForestBytes(forest, names)) {
    std::abort();
  }
  if (forest.columns > 4096) return true;  // a row of them would tell nothing more
  for (const float x : {0.0f, -1e30f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<float> row(forest.columns + 1, x);
    std::vector<double> answer(forest.classes);
    forest.PredictProba(row.data(), 1, answer.data());
    for (const double p : answer) {
      if (std::isnan(p)) std::abort();
    }
  }
  return true;
}

}  // namespace retable::extratrees

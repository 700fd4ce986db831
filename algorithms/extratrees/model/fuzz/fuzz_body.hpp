#pragma once
//! @file
//! What the fuzz targets do with bytes that claim to be a forest, as JSON or in the compact form;
//! tests do the same with mutations of real ones. They are refused with std::invalid_argument, or
//! they are a forest that answers and is written and read as the same again.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "algorithms/extratrees/model/binary.hpp"
#include "algorithms/extratrees/model/json.hpp"

namespace retable::extratrees {

inline void ExpectAnswers(const Forest& forest) {
  if (forest.columns > 4096) return;  // a row of them would tell nothing more
  for (const float x : {0.0f, -1e30f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<float> row(forest.columns + 1, x);
    std::vector<double> answer(forest.classes);
    forest.PredictProba(row.data(), 1, answer.data());
    for (const double p : answer) {
      if (std::isnan(p)) std::abort();
    }
  }
}

//! @return whether the bytes were a forest
inline bool FuzzForest(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ForestNames names;
  std::ostringstream once, twice;
  try {
    const Forest forest = ReadForestJson(text, &names);
    WriteForestJson(forest, once, names);
    ExpectAnswers(forest);
  } catch (const std::invalid_argument&) {
    return false;
  }
  WriteForestJson(ReadForestJson(once.str(), &names), twice, names);
  if (once.str() != twice.str()) std::abort();
  return true;
}

//! The same in the compact form. A wrong checksum is put right first: it would stop every mutation.
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
  ExpectAnswers(forest);
  return true;
}

}  // namespace retable::extratrees

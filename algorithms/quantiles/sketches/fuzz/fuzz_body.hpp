#pragma once
//! @file
//! What the fuzz target does with bytes that claim to be a serialised sketch; the unit tests do the
//! same with mutations of real ones. It may throw nothing: bytes are refused with
//! std::invalid_argument, or they are a sketch that answers, merges and comes back byte for byte.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"

namespace retable::quantiles {

//! Writes the checksum that the bytes before the last two should have.
inline void Seal(std::vector<std::byte>& bytes) {
  const unsigned crc = SketchChecksum(std::span(bytes).first(bytes.size() - 2));
  bytes[bytes.size() - 2] = static_cast<std::byte>(crc & 0xff);
  bytes[bytes.size() - 1] = static_cast<std::byte>(crc >> 8 & 0xff);
}

inline void FuzzSketch(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::transform(data, data + size, bytes.begin(), [](std::uint8_t b) { return std::byte{b}; });
  // A checksum is seldom guessed: inputs of a right length get a right one, to come past it.
  for (const std::size_t length : {84u, 98u, 133u, 147u}) {
    if (size == length) Seal(bytes);
  }
  std::unique_ptr<ChebyshevSketch> sketch;
  try {
    sketch = ChebyshevSketch::Deserialize(bytes);
  } catch (const std::invalid_argument&) {
    return;
  }
  const std::vector<std::byte> again = sketch->Serialize();
  if (ChebyshevSketch::Deserialize(again)->Serialize() != again) std::abort();
  if (sketch->count() == sketch->infinities().count()) return;
  try {
    const double phis[] = {0.0, 0.1, 0.5, 0.9, 1.0};
    const SketchAnswer answer = sketch->Ask(phis);
    double before = answer.values.front();
    for (const double x : answer.values) {
      if (!(x >= before)) std::abort();
      before = x;
    }
    const auto twice = sketch->empty_clone();
    twice->merge(*sketch);
    twice->merge(*sketch);
    if (twice->count() != 2 * sketch->count()) std::abort();
  } catch (const SketchFailure&) {
  }
}

}  // namespace retable::quantiles

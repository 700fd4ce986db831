#pragma once
//! @file
//! The test rows of the embedded digits, on which both ways to run their network are scored.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datasets/registry/embedded.hpp"
#include "experiments/shapley/games/problem.hpp"

namespace retable::experiments {

struct DigitsExamples {
  std::vector<float> images;  //!< 64 a digit, 0 to 1
  std::vector<int> labels;

  //! Digits whose largest of ten logits is their own, of `logits` (ten a digit).
  int right(const std::vector<float>& logits) const {
    int count = 0;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const auto own = logits.begin() + static_cast<std::ptrdiff_t>(10 * k);
      count += std::max_element(own, own + 10) - own == labels[k] ? 1 : 0;
    }
    return count;
  }
};

inline DigitsExamples TestDigits() {
  const auto frame = datasets::LoadEmbedded("digits");
  DigitsExamples examples;
  for (std::size_t row = 0; row < static_cast<std::size_t>(frame.rows); ++row) {
    if (!IsTestRow("digits", static_cast<std::int64_t>(row))) continue;
    for (const auto& column : frame.columns) examples.images.push_back(column.values[row] / 16);
    examples.labels.push_back(static_cast<int>(frame.target->values[row]));
  }
  return examples;
}

}  // namespace retable::experiments

#include "experiments/quantiles/data/column_class.hpp"

#include <algorithm>

namespace retable::experiments {

ColumnShape ShapeOf(std::span<const double> ascending) {
  ColumnShape shape;
  std::size_t longest = 0, begin = 0;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    if (i > 0 && ascending[i] == ascending[i - 1]) continue;
    longest = std::max(longest, i - begin);
    begin = i;
    ++shape.distinct;
  }
  longest = std::max(longest, ascending.size() - begin);
  if (!ascending.empty()) {
    shape.largest_fraction = static_cast<double>(longest) / static_cast<double>(ascending.size());
  }
  return shape;
}

std::string ColumnClass(const ColumnShape& shape) {
  constexpr std::size_t kFewValues = 8;  // 15 moments determine these exactly
  constexpr double kPointMass = 0.2;     // no density approximates such a step
  if (shape.distinct <= 1) return "constant";
  if (shape.distinct <= kFewValues) return "few values";
  return shape.largest_fraction >= kPointMass ? "point mass" : "continuous";
}

}  // namespace retable::experiments

#pragma once
//! @file
//! Classes of columns, since one mean over all hides where a sketch fails: most of CC18's columns
//! are pixels and one-hot codes, not samples of a density.

#include <cstddef>
#include <span>
#include <string>

namespace retable::experiments {

//! Statistics of a column's distinct values.
struct ColumnShape {
  std::size_t distinct = 0;
  double largest_fraction = 0;  //!< fraction of values equal to the most frequent one
};

//! One pass over ascending values. O(n).
ColumnShape ShapeOf(std::span<const double> ascending);

//! "constant", "few values" (at most 8), "point mass" (one value holds at least a fifth), or
//! "continuous".
std::string ColumnClass(const ColumnShape& shape);

}  // namespace retable::experiments

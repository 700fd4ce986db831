#pragma once
//! @file
//! Lossless codes: every float32 feature as a small integer that keeps its order.
//!
//! Problem: growing trees is bound by reading single features of scattered samples. Approach: a
//! column of whole numbers 0 .. 255 is its own code; any other column is coded by rank among its
//! distinct values, in one byte up to 256 of them, two up to 65,536, else four. Codes keep the
//! order, so minima, maxima and comparisons are those of the values, and a cut drawn in real values
//! becomes the code of the largest value below it. Nothing is binned: the trees are exactly those
//! of the float32 data. Samples are renumbered so that classes are contiguous: a node's ascending
//! sample list is then sorted by class, and stays so under stable partitions.
//! Cost: one pass over the data for pixels, O(N log N) for each other column, spread over threads;
//! 1, 2 or 4 bytes a value.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/extratrees/forest.hpp"

namespace retable::extratrees {

//! Memory for codes; a GPU trainer gives pinned memory.
using CodeAllocator = std::function<std::shared_ptr<std::uint8_t>(std::size_t)>;
std::shared_ptr<std::uint8_t> AllocateCodes(std::size_t bytes);

struct EncodedMatrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t classes = 0;
  int code_bytes = 1;                        //!< 1, 2 or 4
  std::shared_ptr<std::uint8_t> line_codes;  //!< [rows][columns], class-sorted
  std::vector<std::uint32_t> table_start;    //!< per column: offset of code 0 in `values`
  std::vector<float> values;                 //!< code -> value tables
  std::vector<std::uint32_t> class_start;    //!< classes + 1 offsets: class c is [c], [c + 1]

  template <class Code>
  const Code* Lines() const {
    return reinterpret_cast<const Code*>(line_codes.get());
  }
  std::size_t CodeBytes() const {
    return std::size_t{rows} * columns * static_cast<std::size_t>(code_bytes);
  }
  std::uint64_t Bytes() const {
    return CodeBytes() + 4 * (table_start.size() + values.size() + class_start.size());
  }
};

//! @throws std::invalid_argument for a NaN or infinite value, naming its row and column.
EncodedMatrix Encode(const FeatureMatrix& data, std::span<const std::uint32_t> labels,
                     std::uint32_t classes, const CodeAllocator& allocate = AllocateCodes);

//! The codes as [columns][rows].
std::shared_ptr<std::uint8_t> ColumnCodes(const EncodedMatrix& matrix);

}  // namespace retable::extratrees

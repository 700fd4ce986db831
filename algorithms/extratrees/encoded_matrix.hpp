#pragma once
//! @file
//! Lossless codes: every float32 feature as its rank among the feature's own distinct values.
//!
//! Problem: growing trees is bound by reading single features of scattered samples. Approach: a
//! feature with at most 256 distinct values needs one byte a sample, at most 65,536 two; ranks keep
//! the order, so minima, maxima and comparisons are those of the values, and a cut drawn in real
//! values becomes the code of the largest value below it. Nothing is binned: the trees are exactly
//! those of the float32 data. Samples are renumbered so that classes are contiguous: a node's
//! ascending sample list is then sorted by class, and stays so under stable partitions.
//! Cost: O(N F) for pixels, O(N F log N) otherwise, spread over threads; 1, 2 or 4 bytes a value.

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/extratrees/forest.hpp"

namespace retable::extratrees {

struct EncodedMatrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t classes = 0;
  int code_bytes = 1;                      //!< 1, 2 or 4
  std::vector<std::uint8_t> codes;         //!< column-major, class-sorted, code_bytes each
  std::vector<std::uint32_t> table_start;  //!< columns + 1 offsets into `values`
  std::vector<float> values;               //!< the distinct values of each column, ascending
  std::vector<std::uint32_t> class_start;  //!< classes + 1 offsets: class c is [c], [c + 1]
  std::vector<std::uint32_t> order;        //!< encoded row -> row of the input

  template <class Code>
  const Code* Column(std::uint32_t f) const {
    return reinterpret_cast<const Code*>(codes.data()) + std::size_t{f} * rows;
  }
  std::uint64_t Bytes() const;
};

//! @throws std::invalid_argument for a NaN or infinite value, naming its row and column.
EncodedMatrix Encode(const FeatureMatrix& data, std::span<const std::uint32_t> labels,
                     std::uint32_t classes);

}  // namespace retable::extratrees

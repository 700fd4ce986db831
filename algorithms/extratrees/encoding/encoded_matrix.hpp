#pragma once
//! @file
//! Lossless codes: every float32 feature as a small integer that keeps its order.
//!
//! Problem: growing trees is bound by reading single features of scattered samples. Approach: a
//! column of whole numbers 0 .. 255 is its own code, any other column of up to 256 distinct values
//! is coded by rank among them, both in a byte. Codes keep the order, so minima, maxima and
//! comparisons are those of the values, and a cut drawn in real values becomes the code of the
//! largest value below it. Nothing is binned: the trees are exactly those of the float32 data. A
//! missing value (NaN) is the largest code, which is then kept free; all columns are coded by rank
//! where any value is missing. Where a column has more values, codes are the values themselves:
//! ranks of two bytes would cost a sort of each column and a look-up of each cut. Samples are
//! renumbered by class, or by target for regression: a node's ascending sample list is then sorted
//! by target, and stays so under stable partitions. Rows of weight 0 are left out. Cost: two passes
//! over the data, O(N log N) for each column of ranks, spread over threads; 1 or 4 bytes a value.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "algorithms/extratrees/encoding/target_sums.hpp"
#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! Memory for codes; a GPU trainer gives pinned memory.
using CodeAllocator = std::function<std::shared_ptr<std::uint8_t>(std::size_t)>;
std::shared_ptr<std::uint8_t> AllocateCodes(std::size_t bytes);

struct EncodedMatrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t classes = 0;
  bool are_values = false;   //!< codes are floats, the values: NaN where missing; no tables
  bool has_missing = false;  //!< the largest byte stands for NaN
  bool plain = true;         //!< classes of equal weight, nothing missing
  bool regression = false;
  std::shared_ptr<std::uint8_t> line_codes;  //!< [rows][columns], class-sorted
  std::vector<std::uint32_t> table_start;    //!< per column: offset of code 0 in `values`
  std::vector<float> values;                 //!< code -> value tables
  std::vector<std::uint32_t> class_start;    //!< classes + 1 offsets: class c is [c], [c + 1]
  EncodedTargets targets;                    //!< empty where plain
  std::vector<std::int64_t> draw_up_to;      //!< weighted bootstrap: sums of weights, row by row

  template <class Code>
  const Code* Lines() const {
    return reinterpret_cast<const Code*>(line_codes.get());
  }
  std::size_t BytesOfCode() const { return are_values ? sizeof(float) : 1; }
  std::size_t CodeBytes() const { return std::size_t{rows} * columns * BytesOfCode(); }
  std::uint64_t Bytes() const {
    return CodeBytes() + 4 * (table_start.size() + values.size() + class_start.size());
  }
};

//! @param bootstrap rows will be drawn by weight and then weigh 1 each.
//! @throws std::invalid_argument for an infinite value, naming its row and column.
EncodedMatrix Encode(const FeatureMatrix& data, const Targets& targets, std::uint32_t classes,
                     bool bootstrap = false, const CodeAllocator& allocate = AllocateCodes);

//! Row i of a bootstrap sample: uniform, or by weight. `up_to` has `rows` entries, or is null.
RETABLE_HD std::uint32_t DrawRow(std::uint64_t seed, std::uint32_t tree, std::uint32_t i,
                                 std::uint32_t rows, const std::int64_t* up_to) {
  if (up_to == nullptr) return BootstrapRow(seed, tree, i, rows);
  const std::uint64_t bits = NodeBits(seed, tree, 0, i).half(0);
  const auto at =
      static_cast<std::int64_t>(UniformBelow(bits, static_cast<std::uint64_t>(up_to[rows - 1])));
  std::uint32_t low = 0;
  std::uint32_t high = rows - 1;
  while (low < high) {  // the first row whose sum is above `at`
    const std::uint32_t middle = low + (high - low) / 2;
    if (up_to[middle] > at) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

//! The codes as [columns][rows].
std::shared_ptr<std::uint8_t> ColumnCodes(const EncodedMatrix& matrix);

}  // namespace retable::extratrees

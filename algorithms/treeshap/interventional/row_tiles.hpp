#pragma once
//! @file
//! Tiles of rows on the CPU: features as columns, patterns of a treelet, counts and sums of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/treeshap/interventional/pattern_model.hpp"

namespace retable::treeshap {

//! Rows, column by column, of the features that treelets read; infinities clamped.
struct RowTile {
  std::vector<float> x;  //!< columns x stride
  std::size_t rows = 0;
  std::size_t stride = 0;
};

//! A model's treelets, for tiles. The model must outlive it.
class TileReader {
 public:
  explicit TileReader(const PatternModel& model);

  //! Features that treelets read, ascending, and of each of the model's features its place among
  //! them, -1 for others.
  std::span<const std::int32_t> features() const { return features_; }
  std::int32_t place(std::size_t feature) const { return places_[feature]; }

  //! Rows of a tile, at most, so that it and its sums stay in a second-level cache.
  std::size_t MostRows() const;
  //! Rows [first, first + count) into the tile.
  void Read(const RowBlock& rows, std::size_t first, std::size_t count, RowTile& tile) const;
  //! pattern[row] of the treelet, for all rows of the tile.
  void FindPatterns(const Treelet& treelet, const RowTile& tile, std::uint32_t* pattern) const;

 private:
  const PatternModel& model_;
  std::vector<std::int32_t> features_, places_;
};

//! MakeTable on this thread.
void MakeTreeletTable(const Treelet& treelet, const TreeletArrays& from, double* table,
                      std::uint32_t* reached);

//! sum[row] += column[pattern[row]].
void AddColumn(const double* column, const std::uint32_t* pattern, std::size_t rows, double* sum);

}  // namespace retable::treeshap

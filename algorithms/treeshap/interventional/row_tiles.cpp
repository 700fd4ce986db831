#include "algorithms/treeshap/interventional/row_tiles.hpp"

#include <algorithm>

#include "base/simd_target.hpp"

namespace retable::treeshap {

namespace {

constexpr std::size_t kLine = 16;  // floats of a cache line

// Bits of a split by number: without branches, so that rows are lanes.
RETABLE_CLONES void AddBits(const float* __restrict x, const PatternBit& bit, std::uint32_t value,
                            std::size_t rows, std::uint32_t* __restrict pattern) {
  const float lower = bit.lower, upper = bit.upper;
  const std::uint32_t missing = (bit.feature & PatternBit::kMissingFollows) != 0 ? value : 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint32_t above = x[r] >= lower ? value : 0;
    const std::uint32_t below = x[r] < upper ? value : 0;
    const std::uint32_t unknown = x[r] == x[r] ? 0 : missing;
    pattern[r] |= (above & below) | unknown;
  }
}

// Whole, so that each instruction set has its own.
RETABLE_CLONES __attribute__((flatten)) void FillTable(const Treelet& treelet,
                                                       const TreeletArrays& from,
                                                       const TableScratch& scratch, double* table,
                                                       std::uint32_t* reached) {
  static constexpr ShapleyWeights kWeights;
  MakeTable(OneThread{}, treelet, from, kWeights, scratch, table, reached);
}

}  // namespace

void MakeTreeletTable(const Treelet& treelet, const TreeletArrays& from, double* table,
                      std::uint32_t* reached) {
  const std::size_t patterns = std::size_t{1} << treelet.bits;
  std::vector<std::uint32_t> counts(2 * patterns);
  std::vector<std::uint16_t> followed(patterns);
  std::vector<double> sums(2 * patterns);
  FillTable(treelet, from,
            {counts.data(), counts.data() + patterns, followed.data(), sums.data(),
             sums.data() + patterns},
            table, reached);
}

RETABLE_CLONES void AddColumn(const double* __restrict column,
                              const std::uint32_t* __restrict pattern, std::size_t rows,
                              double* __restrict sum) {
  for (std::size_t r = 0; r < rows; ++r) sum[r] += column[pattern[r]];
}

TileReader::TileReader(const PatternModel& model) : model_(model) {
  places_.assign(static_cast<std::size_t>(model.deep.features), -1);
  for (const std::int32_t feature : model.columns) places_[static_cast<std::size_t>(feature)] = 0;
  for (std::size_t f = 0; f < places_.size(); ++f) {
    if (places_[f] < 0) continue;
    places_[f] = static_cast<std::int32_t>(features_.size());
    features_.push_back(static_cast<std::int32_t>(f));
  }
}

std::size_t TileReader::MostRows() const {
  const std::size_t bytes = features_.size() * (sizeof(float) + sizeof(double));
  const std::size_t rows = kTileBytes / std::max<std::size_t>(1, bytes) / kLine * kLine;
  return std::clamp<std::size_t>(rows, 2 * kLine, kTileRows);
}

void TileReader::Read(const RowBlock& rows, std::size_t first, std::size_t count,
                      RowTile& tile) const {
  tile.rows = count;
  // An odd number of lines: columns do not meet in few sets of a cache.
  tile.stride = ((count + kLine - 1) / kLine | 1) * kLine;
  tile.x.resize(features_.size() * tile.stride);
  for (std::size_t begin = 0; begin < count; begin += kLine) {
    const std::size_t end = std::min(count, begin + kLine);
    for (std::size_t c = 0; c < features_.size(); ++c) {
      const float* from = rows.values.data() + first * rows.columns + features_[c];
      float* to = tile.x.data() + c * tile.stride;
      for (std::size_t r = begin; r < end; ++r) to[r] = ClampInfinity(from[r * rows.columns]);
    }
  }
}

void TileReader::FindPatterns(const Treelet& treelet, const RowTile& tile,
                              std::uint32_t* pattern) const {
  std::fill_n(pattern, tile.rows, 0u);
  for (std::uint32_t i = 0; i < treelet.bits; ++i) {
    const PatternBit& bit = model_.bits[treelet.first_bit + i];
    const float* x =
        tile.x.data() +
        static_cast<std::size_t>(place(bit.feature & PatternBit::kFeature)) * tile.stride;
    if (bit.set == PatternBit::kNoSet) {
      AddBits(x, bit, 1u << i, tile.rows, pattern);
      continue;
    }
    for (std::size_t r = 0; r < tile.rows; ++r) {
      pattern[r] |= static_cast<std::uint32_t>(HasBit(bit, model_.sets.data(), x[r])) << i;
    }
  }
}

}  // namespace retable::treeshap

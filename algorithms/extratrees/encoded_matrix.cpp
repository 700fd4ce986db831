#include "algorithms/extratrees/encoded_matrix.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace retable::extratrees {
namespace {

constexpr std::size_t kTile = 16;  // columns a task reads at once: one cache line of floats

void SortByClass(std::span<const std::uint32_t> labels, std::uint32_t classes, EncodedMatrix& out) {
  out.class_start.assign(classes + 1, 0);
  for (const std::uint32_t label : labels) ++out.class_start[label + 1];
  for (std::uint32_t c = 0; c < classes; ++c) out.class_start[c + 1] += out.class_start[c];
  std::vector<std::uint32_t> next(out.class_start.begin(), out.class_start.end() - 1);
  out.order.resize(labels.size());
  for (std::uint32_t i = 0; i < labels.size(); ++i) out.order[next[labels[i]]++] = i;
}

// What a tile of columns has learnt: which small integers occur, or that others do.
struct Seen {
  std::array<std::array<std::uint8_t, 256>, kTile> small{};
  std::array<bool, kTile> other{};
};

void Look(const FeatureMatrix& data, std::size_t first, std::size_t width, Seen& seen) {
  for (std::size_t i = 0; i < data.rows; ++i) {
    const float* row = data.values + i * data.columns + first;
    for (std::size_t j = 0; j < width; ++j) {
      const float x = row[j];
      const bool in_range = x >= 0.0f && x < 256.0f;
      const auto k = in_range ? static_cast<std::uint32_t>(x) : 0u;
      const bool small = in_range && static_cast<float>(k) == x;
      seen.small[j][k] |= small ? 1 : 0;
      if (!small) seen.other[j] = true;
    }
  }
}

std::vector<float> DistinctValues(const FeatureMatrix& data, std::size_t column) {
  std::vector<float> values(data.rows);
  for (std::size_t i = 0; i < data.rows; ++i) {
    const float x = data.values[i * data.columns + column];
    if (!std::isfinite(x)) {
      throw std::invalid_argument("value at row " + std::to_string(i) + ", column " +
                                  std::to_string(column) +
                                  " is missing or infinite: impute it before training");
    }
    values[i] = x == 0.0f ? 0.0f : x;  // -0 and 0 are one value
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::vector<float>> Dictionaries(const FeatureMatrix& data) {
  std::vector<std::vector<float>> tables(data.columns);
  const std::size_t tiles = (data.columns + kTile - 1) / kTile;
  tbb::parallel_for(std::size_t{0}, tiles, [&](std::size_t tile) {
    const std::size_t first = tile * kTile;
    const std::size_t width = std::min(kTile, data.columns - first);
    Seen seen;
    Look(data, first, width, seen);
    for (std::size_t j = 0; j < width; ++j) {
      if (seen.other[j]) {
        tables[first + j] = DistinctValues(data, first + j);
        continue;
      }
      for (std::size_t k = 0; k < 256; ++k) {
        if (seen.small[j][k] != 0) tables[first + j].push_back(static_cast<float>(k));
      }
    }
  });
  return tables;
}

// Value -> code: a table for small integers, bisection for the rest.
class Coder {
 public:
  explicit Coder(const std::vector<float>& table) : table_(&table) {
    direct_ = table.size() <= 256 && table.front() >= 0 && table.back() < 256;
    for (std::size_t k = 0; direct_ && k < table.size(); ++k) {
      const auto at = static_cast<std::uint32_t>(table[k]);
      direct_ = static_cast<float>(at) == table[k];
      code_[at] = static_cast<std::uint8_t>(k);
    }
  }
  std::uint32_t operator()(float x) const {
    if (direct_) return code_[static_cast<std::uint32_t>(x)];
    return static_cast<std::uint32_t>(std::lower_bound(table_->begin(), table_->end(), x) -
                                      table_->begin());
  }

 private:
  const std::vector<float>* table_;
  bool direct_;
  std::array<std::uint8_t, 256> code_{};
};

template <class Code>
void WriteCodes(const FeatureMatrix& data, const std::vector<std::vector<float>>& tables,
                EncodedMatrix& out) {
  Code* codes = reinterpret_cast<Code*>(out.codes.data());
  const std::size_t tiles = (data.columns + kTile - 1) / kTile;
  tbb::parallel_for(std::size_t{0}, tiles, [&](std::size_t tile) {
    const std::size_t first = tile * kTile;
    const std::size_t width = std::min(kTile, data.columns - first);
    std::vector<Coder> coders;
    for (std::size_t j = 0; j < width; ++j) coders.emplace_back(tables[first + j]);
    for (std::size_t i = 0; i < data.rows; ++i) {
      const float* row = data.values + std::size_t{out.order[i]} * data.columns + first;
      for (std::size_t j = 0; j < width; ++j) {
        codes[(first + j) * data.rows + i] = static_cast<Code>(coders[j](row[j]));
      }
    }
  });
}

}  // namespace

std::uint64_t EncodedMatrix::Bytes() const {
  return codes.size() + 4 * (table_start.size() + values.size() + class_start.size());
}

EncodedMatrix Encode(const FeatureMatrix& data, std::span<const std::uint32_t> labels,
                     std::uint32_t classes) {
  EncodedMatrix out;
  out.rows = static_cast<std::uint32_t>(data.rows);
  out.columns = static_cast<std::uint32_t>(data.columns);
  out.classes = classes;
  SortByClass(labels, classes, out);
  const std::vector<std::vector<float>> tables = Dictionaries(data);
  std::size_t widest = 0;
  out.table_start.push_back(0);
  for (const auto& table : tables) {
    widest = std::max(widest, table.size());
    out.values.insert(out.values.end(), table.begin(), table.end());
    out.table_start.push_back(static_cast<std::uint32_t>(out.values.size()));
  }
  out.code_bytes = widest <= 256 ? 1 : widest <= 65536 ? 2 : 4;
  out.codes.resize(data.rows * data.columns * static_cast<std::size_t>(out.code_bytes));
  if (out.code_bytes == 1) WriteCodes<std::uint8_t>(data, tables, out);
  if (out.code_bytes == 2) WriteCodes<std::uint16_t>(data, tables, out);
  if (out.code_bytes == 4) WriteCodes<std::uint32_t>(data, tables, out);
  return out;
}

}  // namespace retable::extratrees

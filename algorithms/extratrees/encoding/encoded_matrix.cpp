#include "algorithms/extratrees/encoding/encoded_matrix.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>

namespace retable::extratrees {
namespace {

constexpr std::size_t kRowBlock = 128;
constexpr std::size_t kByteCodes = 256;

constexpr std::uint32_t kLeftOut = 0xFFFFFFFFu;

bool Counts(const Targets& targets, std::size_t row) {
  return targets.weights.empty() || targets.weights[row] > 0;
}

//! The rows that weigh something, sorted by class.
std::vector<std::uint32_t> OrderByClass(const Targets& targets,
                                        std::vector<std::uint32_t>& class_start,
                                        std::uint32_t classes) {
  class_start.assign(classes + 1, 0);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (Counts(targets, i)) ++class_start[targets.labels[i] + 1];
  }
  for (std::uint32_t c = 0; c < classes; ++c) class_start[c + 1] += class_start[c];
  std::vector<std::uint32_t> next(class_start.begin(), class_start.end() - 1);
  std::vector<std::uint32_t> order(class_start.back());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (Counts(targets, i)) order[next[targets.labels[i]]++] = static_cast<std::uint32_t>(i);
  }
  return order;
}

//! The same by real target; equal ones in the order of their rows.
std::vector<std::uint32_t> OrderByValue(const Targets& targets) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (Counts(targets, i)) order.push_back(static_cast<std::uint32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return targets.values[a] < targets.values[b];
  });
  return order;
}

//! Where each of so many rows stands in the order; kLeftOut where it does not.
std::vector<std::uint32_t> RankOf(const std::vector<std::uint32_t>& order, std::size_t rows) {
  std::vector<std::uint32_t> rank(rows, kLeftOut);
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<std::uint32_t>(i);
  return rank;
}

//! Writes a row as bytes; odd[f] is set where the value is no whole number in 0 .. 255.
void ByteRow(const float* __restrict row, std::size_t columns, std::uint8_t* __restrict codes,
             std::uint8_t* __restrict odd) {
  for (std::size_t f = 0; f < columns; ++f) {
    // Out of range values are caught by the comparison; the clamp keeps the conversion defined.
    const float x = row[f];
    const float held = x > 0.0f ? (x < 255.0f ? x : 255.0f) : 0.0f;
    const auto k = static_cast<std::int32_t>(held);
    codes[f] = static_cast<std::uint8_t>(k);
    odd[f] = static_cast<std::uint8_t>(odd[f] | (static_cast<float>(k) != x ? 1 : 0));
  }
}

[[noreturn]] void ThrowInfinite(std::size_t row, std::size_t column) {
  throw std::invalid_argument("value at row " + std::to_string(row) + ", column " +
                              std::to_string(column) +
                              " is infinite: clip it, or make it NaN (missing)");
}

//! Sorted; NaN is left out and noted. A column of too many values for a byte is left at once, with
//! some of them, too many too.
std::vector<float> DistinctValues(const FeatureMatrix& data, std::size_t column, bool& missing) {
  std::vector<float> values;
  constexpr std::size_t room = kByteCodes + 1024;
  values.reserve(std::min(room, data.rows));
  const auto sort = [&values] {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  for (std::size_t i = 0; i < data.rows; ++i) {
    const float x = data.values[i * data.columns + column];
    if (std::isinf(x)) ThrowInfinite(i, column);
    if (std::isnan(x)) {
      missing = true;
      continue;
    }
    values.push_back(x == 0.0f ? 0.0f : x);  // -0 and 0 are one value
    if (values.size() < room) continue;
    sort();
    if (values.size() > kByteCodes) return values;
  }
  sort();
  return values;
}

//! Values as codes; returns whether any is missing. What weighs nothing counts in `odd` columns, as
//! it does in DistinctValues.
bool WriteValues(const FeatureMatrix& data, const std::vector<std::uint8_t>& odd,
                 const std::vector<std::uint32_t>& rank, float* lines) {
  std::atomic<bool> missing = false;
  ParallelBlocks(data.rows, kRowBlock, [&](std::size_t first, std::size_t last) {
    bool any = false;
    for (std::size_t i = first; i < last; ++i) {
      const float* row = data.values + i * data.columns;
      for (std::size_t f = 0; f < data.columns; ++f) {
        if (std::isfinite(row[f]) || odd[f] == 0) continue;
        if (std::isinf(row[f])) ThrowInfinite(i, f);
        any = true;
      }
      if (rank[i] == kLeftOut) continue;
      float* line = lines + std::size_t{rank[i]} * data.columns;
      for (std::size_t f = 0; f < data.columns; ++f) line[f] = row[f] + 0.0f;  // -0 becomes 0
    }
    if (any) missing = true;
  });
  return missing;
}

//! Codes columns by rank; those of bytes are their own codes.
void WriteRanks(const FeatureMatrix& data, const std::vector<std::vector<float>>& tables,
                const std::vector<std::uint8_t>& ranked, const std::vector<std::uint32_t>& rank,
                std::uint8_t* codes) {
  ParallelBlocks(data.rows, kRowBlock, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (rank[i] == kLeftOut) continue;
      const float* row = data.values + i * data.columns;
      std::uint8_t* line = codes + std::size_t{rank[i]} * data.columns;
      for (std::size_t f = 0; f < data.columns; ++f) {
        const std::vector<float>& table = tables[f];
        if (ranked[f] == 0) {
          line[f] = static_cast<std::uint8_t>(row[f]);
          continue;
        }
        if (std::isnan(row[f])) {
          line[f] = 0xFF;
          continue;
        }
        const auto at = std::lower_bound(table.begin(), table.end(), row[f]);
        line[f] = static_cast<std::uint8_t>(at - table.begin());
      }
    }
  });
}

//! First try: all columns are bytes. Returns the columns that are not.
std::vector<std::uint8_t> WriteBytes(const FeatureMatrix& data,
                                     const std::vector<std::uint32_t>& rank, std::uint8_t* codes) {
  const std::size_t blocks = (data.rows + kRowBlock - 1) / kRowBlock;
  std::vector<std::vector<std::uint8_t>> odd(blocks);
  ParallelBlocks(data.rows, kRowBlock, [&](std::size_t first, std::size_t last) {
    std::vector<std::uint8_t> mine(data.columns, 0);
    for (std::size_t i = first; i < last; ++i) {
      if (rank[i] == kLeftOut) continue;
      ByteRow(data.values + i * data.columns, data.columns,
              codes + std::size_t{rank[i]} * data.columns, mine.data());
    }
    odd[first / kRowBlock] = std::move(mine);
  });
  std::vector<std::uint8_t> any(data.columns, 0);
  for (const auto& mine : odd) {
    for (std::size_t f = 0; f < data.columns; ++f) any[f] |= mine[f];
  }
  return any;
}

template <class Code>
void TransposeCodes(const Code* lines, std::size_t rows, std::size_t columns, Code* out) {
  const std::size_t tiles = (columns + 63) / 64;
  ParallelFor(tiles, [&](std::size_t tile) {
    const std::size_t last = std::min(columns, (tile + 1) * 64);
    for (std::size_t i0 = 0; i0 < rows; i0 += 64) {
      const std::size_t end = std::min(rows, i0 + 64);
      for (std::size_t f = tile * 64; f < last; ++f) {
        for (std::size_t i = i0; i < end; ++i) out[f * rows + i] = lines[i * columns + f];
      }
    }
  });
}

//! What is known of the targets once their rows have an order.
void AddTargets(const Targets& targets, const std::vector<std::uint32_t>& order, bool bootstrap,
                EncodedMatrix& out) {
  if (bootstrap && !targets.weights.empty()) {
    std::int64_t sum = 0;
    for (const std::int64_t weight : EncodeTargets(targets, order).weight) {
      out.draw_up_to.push_back(sum += weight);
    }
  }
  Targets counted = targets;
  if (bootstrap) counted.weights = {};
  out.plain = !targets.regression() && counted.weights.empty() && !out.has_missing;
  if (!out.plain) out.targets = EncodeTargets(counted, order, bootstrap);
}

//! One table after the other; that of all byte columns first.
void AddTables(const std::vector<std::vector<float>>& tables, const std::vector<std::uint8_t>& odd,
               EncodedMatrix& out) {
  for (std::size_t k = 0; k < kByteCodes; ++k) out.values.push_back(static_cast<float>(k));
  out.table_start.assign(tables.size(), 0);
  for (std::size_t f = 0; f < tables.size(); ++f) {
    if (odd[f] == 0) continue;
    out.table_start[f] = static_cast<std::uint32_t>(out.values.size());
    out.values.insert(out.values.end(), tables[f].begin(), tables[f].end());
  }
}

//! Tables of the columns that are not bytes; of all where a value is missing. Marks them in `odd`.
//! One of too many values for a byte is enough: then some tables are empty.
std::vector<std::vector<float>> RankTables(const FeatureMatrix& data,
                                           std::vector<std::uint8_t>& odd, bool& has_missing) {
  std::vector<std::vector<float>> tables(data.columns);
  std::vector<std::uint8_t> missing(data.columns, 0);
  std::atomic<bool> too_many = false;
  const auto fill = [&](std::size_t f) {
    if (too_many) return;
    bool any = false;
    tables[f] = DistinctValues(data, f, any);
    missing[f] = any ? 1 : 0;
    if (tables[f].size() > kByteCodes) too_many = true;
  };
  ParallelFor(data.columns, [&](std::size_t f) {
    if (odd[f] != 0) fill(f);
  });
  has_missing = std::find(missing.begin(), missing.end(), 1) != missing.end();
  if (!has_missing || too_many) return tables;
  ParallelFor(data.columns, [&](std::size_t f) {
    if (odd[f] == 0) fill(f);
    odd[f] = 1;
  });
  return tables;
}

}  // namespace

std::shared_ptr<std::uint8_t> AllocateCodes(std::size_t bytes) {
  // Left unwritten: the threads that fill it touch its pages first.
  return {new std::uint8_t[bytes], std::default_delete<std::uint8_t[]>()};
}

EncodedMatrix Encode(const FeatureMatrix& data, const Targets& targets, std::uint32_t classes,
                     bool bootstrap, const CodeAllocator& allocate) {
  EncodedMatrix out;
  out.columns = static_cast<std::uint32_t>(data.columns);
  out.classes = classes;
  out.regression = targets.regression();
  const std::vector<std::uint32_t> order =
      out.regression ? OrderByValue(targets) : OrderByClass(targets, out.class_start, classes);
  const std::vector<std::uint32_t> rank = RankOf(order, data.rows);
  out.rows = static_cast<std::uint32_t>(order.size());
  out.line_codes = allocate(std::size_t{out.rows} * data.columns);
  std::vector<std::uint8_t> odd = WriteBytes(data, rank, out.line_codes.get());
  const std::vector<std::vector<float>> tables = RankTables(data, odd, out.has_missing);
  std::size_t widest = 0;
  for (std::size_t f = 0; f < data.columns; ++f) {
    if (odd[f] != 0) widest = std::max(widest, tables[f].size() + (out.has_missing ? 1 : 0));
  }
  out.are_values = widest > kByteCodes;
  if (out.are_values) {
    out.line_codes = allocate(out.CodeBytes());
    auto* lines = reinterpret_cast<float*>(out.line_codes.get());
    out.has_missing = WriteValues(data, odd, rank, lines);
  } else {
    AddTables(tables, odd, out);
    if (widest > 0) WriteRanks(data, tables, odd, rank, out.line_codes.get());
  }
  AddTargets(targets, order, bootstrap, out);
  return out;
}

std::shared_ptr<std::uint8_t> ColumnCodes(const EncodedMatrix& m) {
  std::shared_ptr<std::uint8_t> out = AllocateCodes(m.CodeBytes());
  if (m.are_values) {
    TransposeCodes(m.Lines<float>(), m.rows, m.columns, reinterpret_cast<float*>(out.get()));
  } else {
    TransposeCodes(m.Lines<std::uint8_t>(), m.rows, m.columns, out.get());
  }
  return out;
}

}  // namespace retable::extratrees

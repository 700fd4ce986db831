#pragma once
//! @file
//! What the fuzz target does with bytes that claim to be CSV; a test does the same with the corpus.
//! The first byte chooses the dialect ('d': the usual one). The text is refused with CsvError, or
//! read the same in blocks and one by one; what is written of it reads back the same.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv/number.hpp"
#include "base/csv/reader.hpp"
#include "base/csv/writer.hpp"

namespace retable {

using CsvFuzzTable = std::vector<std::vector<std::string>>;

//! The header and the rows. @throws CsvError
inline CsvFuzzTable CsvFuzzRead(std::string_view text, CsvDialect dialect) {
  CsvRecords records({text, "fuzz.csv"}, dialect);
  const CsvHeader header(records);
  CsvFuzzTable table = {header.names};
  CsvRecord record;
  CsvFields fields;
  std::int64_t line = header.line;
  while (records.Next(record)) {
    if (record.line <= line) std::abort();
    line = record.line;
    header.Split(record, fields);
    if (fields.size() != header.names.size()) std::abort();
    table.emplace_back(fields.begin(), fields.end());
  }
  return table;
}

inline void CsvFuzzNumber(std::string_view text) {
  const NumberText number = ReadNumber(text);
  if (number.kind == NumberText::Kind::kMissing && !IsMissingWord(text)) std::abort();
  if (number.kind != NumberText::Kind::kNumber) return;
  if (std::isnan(number.value)) std::abort();
  if (ParseNumber(FormatNumber(number.value)) != number.value) std::abort();
}

inline bool FuzzCsv(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return false;
  const unsigned choice = data[0] ^ static_cast<unsigned>('d');
  const CsvDialect dialect{(choice & 1) != 0, (choice & 2) == 0, (choice & 4) != 0,
                           (choice & 8) == 0};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Records alone, in blocks and one by one: where one way is an error the other is.
  const auto count = [&](std::size_t block_size) -> std::int64_t {
    std::int64_t records = 0;
    try {
      CsvRecords reader({text, "fuzz.csv"}, dialect);
      CsvRecord record;
      CsvBlock block;
      if (block_size == 0) {
        while (reader.Next(record)) ++records;
      } else {
        while (reader.Next(block, block_size)) {
          for (const CsvRecord& each : block.records) {
            if (each.text.size() > size) std::abort();
            ++records;
          }
        }
      }
    } catch (const CsvError&) {
      return -1;
    }
    return records;
  };
  if (count(0) != count(3)) std::abort();
  try {
    const CsvFuzzTable table = CsvFuzzRead(text, dialect);
    for (const auto& row : table) {
      for (const std::string& field : row) CsvFuzzNumber(field);
    }
    if (choice != 0) return true;
    std::ostringstream out;
    CsvWriter writer(out);
    for (const auto& row : table) writer.Row(row);
    if (CsvFuzzRead(out.str(), {}) != table) std::abort();
    return true;
  } catch (const CsvError&) {
    return false;
  }
}

}  // namespace retable

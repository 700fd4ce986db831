#pragma once
//! @file
//! What the fuzz targets do with a file that the harness reads; a test does the same with the
//! corpora, so that every build covers it. Whatever the bytes, there is a result, or the kind of
//! error that the reader promises. Each body says whether the file was good.

#include <zstd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"
#include "harness/config/experiment.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/record/archive.hpp"
#include "harness/report/claim.hpp"
#include "harness/report/csv.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {

inline std::string_view Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

//! An experiment's TOML.
inline bool FuzzToml(const std::uint8_t* data, std::size_t size) {
  try {
    const Experiment experiment = ParseExperiment(std::string(Text(data, size)), "fuzz.toml");
    if (experiment.family + "/" + experiment.artifact != experiment.id) std::abort();
    return true;
  } catch (const ConfigError& error) {
    if (error.lines().empty()) std::abort();
    return false;
  }
}

//! A table: written and read again it is the same. Published cells are such a table.
inline bool FuzzTable(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = Text(data, size);
  try {
    const CsvTable table = ParseCsv(text, "fuzz.csv");
    std::ostringstream written;
    CsvWriter csv(written);
    csv.Row(table.header);
    for (const CsvRow& row : table.rows) csv.Row(row.fields);
    const CsvTable again = ParseCsv(written.str(), "again.csv");
    if (again.header != table.header || again.rows.size() != table.rows.size()) std::abort();
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      if (again.rows[r].fields != table.rows[r].fields) std::abort();
    }
  } catch (const CsvError&) {
    return false;
  }
  try {
    for (const PublishedCell& cell : ParsePaperCells(text, "fuzz.csv")) {
      if (cell.row.empty() || cell.column.empty() || !(cell.tolerance >= 0)) std::abort();
    }
  } catch (const CsvError&) {
  }
  return true;
}

//! A cell's file: what is read is written the same again. The checksum, which is seldom guessed, is
//! made for the content.
inline bool FuzzCell(const std::uint8_t* data, std::size_t size) {
  const std::string text(Text(data, size));
  const std::string content = text.substr(text.starts_with('{') ? 1 : 0);
  bool good = false;
  for (const std::string& file :
       {text, "{\n \"sha256\": \"" + Sha256(content) + "\",\n" + content}) {
    try {
      const std::string written = CellText(CellFromText(file));
      if (CellText(CellFromText(written)) != written) std::abort();
      good = true;
    } catch (const std::runtime_error&) {
    } catch (const nlohmann::json::exception&) {
    }
  }
  return good;
}

//! An archive of cells. What is no archive is taken for the tar file in one, since zstd's checksum
//! is seldom guessed; what is read is packed the same again.
inline bool FuzzArchive(const std::uint8_t* data, std::size_t size) {
  bool good = false;
  std::string packed(ZSTD_compressBound(size), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), data, size, 1));
  for (const std::string& archive : {std::string(Text(data, size)), packed}) {
    Files files;
    try {
      ReadArchive(archive, [&](const std::string& path, std::string content) {
        files[path] = std::move(content);
      });
    } catch (const ArchiveError&) {
      continue;
    }
    good = true;
    Files again;
    ReadArchive(PackArchive(files), [&](const std::string& path, std::string content) {
      again[path] = std::move(content);
    });
    if (again != files) std::abort();
  }
  return good;
}

struct SmallTable final : TableView {
  std::vector<std::string> rows() const override { return {"a", "b"}; }
  std::vector<std::string> columns() const override { return {"x", "y"}; }
  std::optional<double> figure(std::string_view source, const std::string& row,
                               const std::string& column) const override {
    if (source == "paper") return 2;
    if (row == "b" && column == "y") return {};
    return row == "a" ? 1.5 : std::nan("");
  }
};

//! The check of a claim.
inline bool FuzzClaim(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = Text(data, size);
  try {
    ParseCheck(text);
    int loops = 0;  // a loop in a loop takes time, as is its author's right
    for (auto at = text.find("in"); at != text.npos; at = text.find("in", at + 1)) ++loops;
    if (loops <= 6) Evaluate(text, SmallTable());
    return true;
  } catch (const ExpressionError& error) {
    if (error.position > text.size() + 1) std::abort();
    return false;
  }
}

}  // namespace retable::harness

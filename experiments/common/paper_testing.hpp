#pragma once
//! @file
//! For the families' tests of their published cells and claims: a second transcription beside the
//! published cells, and the claims evaluated on the work's own numbers. Needs RETABLE_SOURCE_DIR,
//! which test programs have.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/plan_testing.hpp"
#include "harness/report/claim.hpp"
#include "harness/report/paper_cells.hpp"

namespace retable::experiments {

//! (row, column) -> value.
using PrintedCells = std::map<std::pair<std::string, std::string>, double>;

inline std::string PublishedCellsFile(const std::string& family, const std::string& artifact) {
  return std::string(RETABLE_SOURCE_DIR) + "/experiments/" + family + "/published/" + artifact +
         ".paper.csv";
}

//! The lines of a table as they are printed: the words of a row's name, then a number a column
//! ("-": nothing is printed).
inline PrintedCells ParsePrinted(const std::string& lines, std::size_t name_words,
                                 const std::vector<std::string>& columns) {
  PrintedCells cells;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string row, word;
    for (std::size_t i = 0; i < name_words && words >> word; ++i) row += (i > 0 ? " " : "") + word;
    for (const std::string& column : columns) {
      if (!(words >> word)) break;
      std::erase(word, ',');
      if (word != "-") cells[{row, column}] = std::strtod(word.c_str(), nullptr);
    }
  }
  return cells;
}

//! Expects the published cells of an artifact to be those of a second transcription, made
//! independently of the first, no more and no fewer; cells whose note says that they are quotients
//! are to be so: those of "a / b" of two columns, else by `quotient_of` (row, column).
template <class QuotientOf>
void ExpectTranscription(const std::string& family, const std::string& artifact,
                         const PrintedCells& printed, QuotientOf&& quotient_of) {
  std::size_t found = 0;
  for (const auto& cell : harness::ReadPaperCells(PublishedCellsFile(family, artifact))) {
    const std::string where = artifact + " [" + cell.row + ", " + cell.column + "]";
    ASSERT_TRUE(cell.value) << where;
    if (cell.note.rfind("quotient", 0) == 0) {
      const double quotient = quotient_of(cell.row, cell.column);
      EXPECT_NEAR(*cell.value, quotient, 6e-4 * quotient) << where;
      continue;
    }
    const auto second = printed.find({cell.row, cell.column});
    ASSERT_NE(second, printed.end()) << where;
    EXPECT_EQ(*cell.value, second->second) << where;
    ++found;
  }
  EXPECT_EQ(found, printed.size()) << artifact << ": cells of the work are missing";
}

//! The work's own table, as if it were measured.
class PublishedTable final : public harness::TableView {
 public:
  explicit PublishedTable(const std::string& file) {
    for (const auto& cell : harness::ReadPaperCells(file)) {
      if (std::find(rows_.begin(), rows_.end(), cell.row) == rows_.end()) rows_.push_back(cell.row);
      if (std::find(columns_.begin(), columns_.end(), cell.column) == columns_.end()) {
        columns_.push_back(cell.column);
      }
      if (cell.value) values_[{cell.row, cell.column}] = *cell.value;
    }
  }
  std::vector<std::string> rows() const override { return rows_; }
  std::vector<std::string> columns() const override { return columns_; }
  std::optional<double> value(const std::string& row, const std::string& column) const override {
    const auto found = values_.find({row, column});
    if (found == values_.end()) return {};
    return found->second;
  }
  std::optional<double> paper(const std::string& row, const std::string& column) const override {
    return value(row, column);
  }

 private:
  std::vector<std::string> rows_, columns_;
  PrintedCells values_;
};

//! Expects no claim of the works to fail on the numbers that the work itself prints: a check that
//! does says more than its sentence. Those "beyond" a work and "ours" are left out.
//! @param table_of figure -> table of whose numbers it is drawn
//! @return how many claims those numbers decide
inline int ExpectClaimsHoldInTheWork(const std::string& family,
                                     const std::map<std::string, std::string>& table_of) {
  int decided = 0;
  for (const harness::Experiment& e : LoadFamily(family, "paper")) {
    const auto drawn = table_of.find(e.artifact);
    const std::string file =
        drawn != table_of.end() ? PublishedCellsFile(family, drawn->second) : e.paper_file;
    if (file.empty()) continue;
    const PublishedTable table(file);
    for (const harness::ClaimSpec& claim : e.claims) {
      if (claim.where.empty() || claim.where.rfind("ours", 0) == 0 ||
          claim.where.rfind("beyond", 0) == 0) {
        continue;
      }
      const harness::ClaimResult result = harness::Evaluate(claim.check, table);
      EXPECT_NE(result.verdict, harness::ClaimVerdict::kFails)
          << e.id << " " << claim.id << ": " << result.reason << " "
          << harness::FiguresText(result.figures);
      decided += result.verdict == harness::ClaimVerdict::kHolds;
    }
  }
  return decided;
}

}  // namespace retable::experiments

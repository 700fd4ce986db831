#pragma once
//! @file
//! For the families' tests of their claims: evaluated on the work's own numbers. Needs
//! RETABLE_SOURCE_DIR, which test programs have.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/common/plan_testing.hpp"
#include "harness/report/claim.hpp"
#include "harness/report/paper_cells.hpp"

namespace retable::experiments {

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
  std::optional<double> figure(std::string_view /*source*/, const std::string& row,
                               const std::string& column) const override {
    const auto found = values_.find({row, column});
    if (found == values_.end()) return {};
    return found->second;
  }

 private:
  std::vector<std::string> rows_, columns_;
  std::map<std::pair<std::string, std::string>, double> values_;
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
    std::string file = e.paper_file;
    if (drawn != table_of.end()) {
      file = std::filesystem::path(e.file).parent_path() / (drawn->second + ".paper.csv");
    }
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

// The published cells of all families against a second transcription (<family>/published/
// second_reading.csv), made from the works' text without a look at the first.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/report/csv.hpp"
#include "harness/report/paper_cells.hpp"

namespace retable::experiments {
namespace {

namespace fs = std::filesystem;
using harness::CsvRow;
using harness::CsvTable;
using harness::PublishedCell;

using Place = std::tuple<std::string, std::string, std::string>;  // artifact, row, column

const std::string kRoot = RETABLE_SOURCE_DIR "/experiments/";

double Number(const std::string& text) {
  const auto value = harness::ParseNumber(text);
  EXPECT_TRUE(value) << text;
  return value.value_or(std::nan(""));
}

// Whether a cell is what was read: the same number and bound; of a quotient, as many digits as the
// published cells keep of one.
bool Same(const PublishedCell& cell, const std::string& read) {
  const std::size_t over = read.find('/');
  if (over != std::string::npos) {
    const double quotient = Number(read.substr(0, over)) / Number(read.substr(over + 1));
    return std::abs(*cell.value - quotient) <= 5e-4 * std::abs(quotient);
  }
  const bool bound = read.starts_with("<=") || read.starts_with(">=");
  if (bound != (cell.kind == harness::CellKind::kBound)) return false;
  if (bound && cell.at_most != read.starts_with("<=")) return false;
  return *cell.value == Number(bound ? read.substr(2) : read);
}

std::map<Place, std::string> SecondReading(const std::string& family) {
  std::map<Place, std::string> read;
  const CsvTable csv = harness::ReadCsv(kRoot + family + "/published/second_reading.csv");
  for (const CsvRow& row : csv.rows) {
    const bool fresh =
        read.emplace(Place{row.fields[0], row.fields[1], row.fields[2]}, row.fields[3]).second;
    EXPECT_TRUE(fresh) << csv.Where(row) << " is read twice";
  }
  return read;
}

std::vector<std::string> Families() {
  std::vector<std::string> families;
  for (const auto& folder : fs::directory_iterator(kRoot)) {
    if (fs::is_directory(folder.path() / "published")) {
      families.push_back(folder.path().filename().string());
    }
  }
  return families;
}

class SecondReadingOf : public ::testing::TestWithParam<std::string> {};

TEST_P(SecondReadingOf, EveryPublishedCellIsWhatWasReadASecondTime) {
  std::map<Place, std::string> unmet = SecondReading(GetParam());
  for (const auto& file : fs::recursive_directory_iterator(kRoot + GetParam())) {
    const std::string name = file.path().filename().string(), suffix = ".paper.csv";
    if (!name.ends_with(suffix)) continue;
    const std::string artifact = name.substr(0, name.size() - suffix.size());
    for (const PublishedCell& cell : harness::ReadPaperCells(file.path().string())) {
      const auto where = file.path().string() + ":" + std::to_string(cell.line);
      const auto read = unmet.find({artifact, cell.row, cell.column});
      if (read == unmet.end()) {
        ADD_FAILURE() << where << ": [" << cell.row << ", " << cell.column
                      << "] was not read a second time: read it in the work and add it";
        continue;
      }
      EXPECT_TRUE(cell.value && Same(cell, read->second))
          << where << ": " << cell.Text() << ", but read as " << read->second;
      unmet.erase(read);
    }
  }
  for (const auto& [place, value] : unmet) {
    ADD_FAILURE() << GetParam() << "/" << std::get<0>(place) << " [" << std::get<1>(place) << ", "
                  << std::get<2>(place) << "] = " << value << " is printed, and no published cell";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, SecondReadingOf, ::testing::ValuesIn(Families()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace retable::experiments

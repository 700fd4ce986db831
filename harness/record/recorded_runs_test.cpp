// Our own recorded runs. A change of published cells, claims, layouts or rules is followed by
//   build/retable check --recorded NAME --rewrite

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "harness/record/record.hpp"
#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(RETABLE_SOURCE_DIR "/results/recorded")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  return folders;
}

TEST(RecordedRuns, AreJudgedByTheCellsClaimsAndRulesOfToday) {
  for (const fs::path& folder : Folders()) {
    for (const auto& found :
         CheckRecording(folder.string(), RETABLE_SOURCE_DIR, false).differences) {
      ADD_FAILURE() << folder / found << ": build/retable check --recorded "
                    << folder.filename().string() << " --rewrite";
    }
  }
}

TEST(RecordedRuns, EveryClaimThatFailsSaysWhy) {
  for (const fs::path& folder : Folders()) {
    const CsvTable claims = ReadCsv((folder / "claims.csv").string());
    for (const CsvRow& row : claims.rows) {
      if (row.fields[claims.Column("verdict")] != "FAILS") continue;
      EXPECT_FALSE(row.fields[claims.Column("note")].empty())
          << claims.Where(row) << ": " << row.fields[claims.Column("artifact")] << " "
          << row.fields[claims.Column("id")];
    }
  }
}

}  // namespace
}  // namespace retable::harness

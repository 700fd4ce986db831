#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "apps/advise/advice.hpp"
#include "apps/verb_testing.hpp"
#include "harness/record/record.hpp"
#include "harness/report/csv.hpp"

namespace retable::experiments {
namespace {

// What the artifact measured and what is advised there: a method within a factor of two of the
// least error at every measured point, taken over both numbers of background rows.
TEST(Advice, AgreesWithTheMeasurements) {
  const auto table = MeasuredErrors();
  ASSERT_GT(table.size(), 100u);
  std::map<std::tuple<std::string, int, int>, double> least;
  for (const auto& row : table) {
    const auto at = least.insert({{row.dataset, row.background, row.per_player}, row.mse}).first;
    at->second = std::min(at->second, row.mse);
  }
  for (const auto& [place, best] : least) {
    const auto& [dataset, background, per_player] = place;
    int features = 0;
    std::map<std::string, double> errors;
    for (const auto& row : table) {
      if (row.dataset != dataset || row.background != background || row.per_player != per_player) {
        continue;
      }
      features = row.features;
      errors[row.method] = row.mse;
    }
    const auto advice =
        Advise(table, features, static_cast<std::int64_t>(per_player) * features, background);
    ASSERT_FALSE(advice.empty());
    ASSERT_TRUE(errors.count(advice.front().method)) << advice.front().method;
    EXPECT_LT(errors[advice.front().method], 2 * best)
        << dataset << " " << background << " " << per_player << " " << advice.front().method;
  }
}

// The committed table is the recorded artifact.
TEST(Advice, TableIsTheRecordedArtifact) {
  const auto run = harness::ReadCsv(harness::ReadableRecordings(RETABLE_SOURCE_DIR) +
                                    "/h100/shapley/beyond_estimators.tidy.csv");
  const auto text = [&](const harness::CsvRow& row, const char* name) {
    return row.fields[run.Column(name)];
  };
  std::map<std::tuple<std::string, int, int, std::string>, double> recorded;
  for (const auto& row : run.rows) {
    if (text(row, "metric") != "mse" || text(row, "status") != "ok") continue;
    recorded[{text(row, "dataset"), std::stoi(text(row, "rows_behind")),
              std::stoi(text(row, "per_player")), text(row, "label")}] =
        run.Number(row, run.Column("mean")).value();
  }
  EXPECT_EQ(recorded.size(), MeasuredErrors().size());
  for (const auto& row : MeasuredErrors()) {
    const auto at = recorded.find({row.dataset, row.background, row.per_player, row.method});
    ASSERT_NE(at, recorded.end()) << row.dataset << row.method;
    EXPECT_NEAR(row.mse, at->second, 1e-3 * at->second + 1e-300) << row.dataset << row.method;
  }
}

TEST(Advice, BetweenPlacesTheNearestDecides) {
  const MeasuredError table[] = {{"a", 8, 1, 4, "X", 1.0, 0.1},
                                 {"a", 8, 1, 4, "Y", 2.0, 0.2},
                                 {"a", 8, 1, 64, "X", 4.0, 0.1},
                                 {"a", 8, 1, 64, "Y", 1.0, 0.2}};
  EXPECT_EQ(Advise(table, 8, 40, 0).front().method, "X");
  EXPECT_EQ(Advise(table, 8, 400, 0).front().method, "Y");
  EXPECT_EQ(Advise(table, 9, 40, 1).front().method, "X");
  EXPECT_TRUE(Advise(table, 8, 40, 100).empty());
  // What was measured at the point itself is not outvoted by what was measured beside it.
  const MeasuredError beside[] = {{"a", 8, 1, 16, "X", 1.0, 0.1},
                                  {"a", 8, 1, 16, "Y", 1.3, 0.2},
                                  {"a", 9, 1, 16, "X", 9.0, 0.1},
                                  {"a", 9, 1, 16, "Y", 1.0, 0.2}};
  EXPECT_EQ(Advise(beside, 8, 128, 0).front().method, "X");
  EXPECT_EQ(Advise(beside, 9, 144, 0).front().method, "Y");
  EXPECT_NEAR(Advise(table, 8, 32, 0).front().score, 1, 1e-6);
}

struct Result {
  int status;
  std::string out, err;
};

Result Advised(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunVerbNamed("advise", args, out, err);
  return {status, out.str(), err.str()};
}

TEST(AdviseCommand, NamesAMethodAndItsGrounds) {
  const auto result = Advised({"--features", "20", "--evaluations", "1000"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.rfind("Take ", 0), 0u);
  EXPECT_NE(result.out.find("breast_cancer"), std::string::npos);
  const auto small = Advised({"--features", "4", "--evaluations", "16"});
  EXPECT_EQ(small.status, 0);
  EXPECT_NE(small.out.find("all 16 coalitions"), std::string::npos);
  EXPECT_EQ(Advised({"--features", "20"}).status, 1);
  EXPECT_EQ(Advised({"--features", "20", "--evaluations", "39"}).status, 1);
  EXPECT_EQ(Advised({"--features", "20", "--evaluations", "40"}).status, 0);
  EXPECT_EQ(Advised({"--features", "0", "--evaluations", "20"}).status, 1);
  const auto most = Advised({"--features", "2147483647", "--evaluations", "5"});
  EXPECT_EQ(most.status, 1);
  EXPECT_NE(most.err.find("at least 4294967294"), std::string::npos) << most.err;
  const auto wide = Advised({"--features", "4000", "--evaluations", "20000"});
  EXPECT_NE(wide.out.find("outside"), std::string::npos);
  for (const char* refuses : {"OddSHAP", "LeverageSHAP", "MSR", "Foldover"}) {
    EXPECT_EQ(wide.out.find(refuses), std::string::npos) << wide.out;
  }
  const auto names = [](const char* features, const char* method) {
    const auto answer = Advised({"--features", features, "--evaluations", "20000"});
    return answer.out.find(method) != std::string::npos;
  };
  EXPECT_TRUE(names("361", "Foldover"));
  EXPECT_FALSE(names("362", "Foldover"));
  EXPECT_TRUE(names("1000", "OddSHAP"));
  EXPECT_FALSE(names("1001", "OddSHAP"));
}

}  // namespace
}  // namespace retable::experiments

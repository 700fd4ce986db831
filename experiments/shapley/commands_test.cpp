// `retable permutations` and `retable advise`.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "algorithms/shapley/permutation_sampler.hpp"
#include "base/temporary_folder.hpp"
#include "experiments/shapley/advice.hpp"
#include "experiments/shapley/advise_command.hpp"
#include "experiments/shapley/permutations_command.hpp"
#include "harness/csv.hpp"

namespace retable::experiments {
namespace {

struct Result {
  int status;
  std::string out, err;
};

template <class Main>
Result Call(Main main, const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = main(args, out, err);
  return {status, out.str(), err.str()};
}

std::vector<std::vector<std::string>> Lines(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    lines.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) lines.back().push_back(field);
  }
  return lines;
}

TEST(PermutationsCommand, WritesWhatTheSamplerGives) {
  for (const char* method : {"Foldover-descent", "SBQ", "MC"}) {
    const auto result =
        Call(PermutationsMain, {"--d", "5", "--n", "7", "--method", method, "--seed", "3"});
    ASSERT_EQ(result.status, 0) << result.err;
    const auto lines = Lines(result.out);
    ASSERT_EQ(lines.size(), 8u);
    const auto sample = Registry<shapley::PermutationSampler>::Instance()
                            .Make(method, Device::kCpu, {})
                            ->sample(7, 5, 3);
    double sum = 0;
    for (std::size_t i = 0; i < 7; ++i) {
      ASSERT_EQ(lines[i + 1].size(), 6u);
      sum += std::stod(lines[i + 1][0]);
      EXPECT_EQ(std::stod(lines[i + 1][0]), sample.weight(i));
      for (std::size_t k = 0; k < 5; ++k) {
        EXPECT_EQ(std::stoi(lines[i + 1][k + 1]), sample.order(i)[k]);
      }
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NE(result.err.find("discrepancy"), std::string::npos);
  }
}

TEST(PermutationsCommand, WritesAFileAndSaysSo) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "permutations.csv";
  const auto result = Call(PermutationsMain, {"--d", "1", "--n", "2", "--out", path});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("written to"), std::string::npos);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(Lines(text.str()).size(), 3u);
}

TEST(PermutationsCommand, ACutBlockIsSaid) {
  const auto cut = Call(PermutationsMain, {"--d", "4", "--n", "7", "--method", "Orthogonal"});
  EXPECT_EQ(cut.status, 0);
  EXPECT_NE(cut.err.find("blocks of 6"), std::string::npos) << cut.err;
  const auto whole = Call(PermutationsMain, {"--d", "4", "--n", "12", "--method", "Orthogonal"});
  EXPECT_EQ(whole.err.find("note"), std::string::npos);
}

TEST(PermutationsCommand, OptionsReachTheSampler) {
  const auto few = Call(PermutationsMain, {"--d", "9", "--n", "20", "--method", "Herding",
                                           "--option", "candidates=1"});
  const auto many = Call(PermutationsMain, {"--d", "9", "--n", "20", "--method", "Herding"});
  EXPECT_EQ(few.status, 0);
  EXPECT_NE(few.out, many.out);
  const auto wrong = Call(PermutationsMain, {"--d", "9", "--n", "20", "--method", "Herding",
                                             "--option", "candidates=few"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("candidates"), std::string::npos);
  EXPECT_EQ(
      Call(PermutationsMain, {"--d", "9", "--n", "2", "--method", "MC", "--option", "x=1"}).status,
      2);
}

TEST(PermutationsCommand, BadInputIsNamed) {
  EXPECT_EQ(Call(PermutationsMain, {}).status, 1);
  EXPECT_EQ(Call(PermutationsMain, {"--d", "3"}).status, 1);
  EXPECT_EQ(Call(PermutationsMain, {"--d", "0", "--n", "3"}).status, 1);
  EXPECT_EQ(Call(PermutationsMain, {"--d", "3", "--n", "0"}).status, 2);
  const auto unknown = Call(PermutationsMain, {"--d", "3", "--n", "3", "--method", "Magic"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("Orthogonal"), std::string::npos);
  EXPECT_EQ(Call(PermutationsMain, {"--d", "3", "--n", "2", "--out", "/dev/null/x.csv"}).status, 2);
  EXPECT_EQ(Call(PermutationsMain, {"--d", "9", "--n", "2", "--kernel", "Cayley"}).status, 1);
  EXPECT_NE(Call(PermutationsMain, {"--list"}).out.find("Foldover-descent"), std::string::npos);
}

// What the artifact measured and what is advised there: a method within a factor of 1.5 of the
// least error at every measured place, taken over both numbers of background rows.
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
  const std::string path =
      std::string(RETABLE_SOURCE_DIR) + "/results/recorded/h200/shapley/beyond_estimators.tidy.csv";
  const auto run = harness::ReadCsv(path);
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
  EXPECT_NEAR(Advise(table, 8, 32, 0).front().score, 1, 1e-6);
}

TEST(AdviseCommand, NamesAMethodAndItsGrounds) {
  const auto result = Call(AdviseMain, {"--features", "20", "--evaluations", "1000"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.rfind("Take ", 0), 0u);
  EXPECT_NE(result.out.find("breast_cancer"), std::string::npos);
  const auto small = Call(AdviseMain, {"--features", "4", "--evaluations", "16"});
  EXPECT_EQ(small.status, 0);
  EXPECT_NE(small.out.find("all 16 coalitions"), std::string::npos);
  EXPECT_EQ(Call(AdviseMain, {"--features", "20"}).status, 1);
  EXPECT_EQ(Call(AdviseMain, {"--features", "20", "--evaluations", "20"}).status, 1);
  EXPECT_EQ(Call(AdviseMain, {"--features", "0", "--evaluations", "20"}).status, 1);
  EXPECT_NE(Call(AdviseMain, {"--features", "4000", "--evaluations", "20000"}).out.find("outside"),
            std::string::npos);
}

}  // namespace
}  // namespace retable::experiments

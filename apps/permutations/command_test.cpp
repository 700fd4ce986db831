#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "algorithms/shapley/games/game_testing.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "apps/verb_testing.hpp"
#include "base/cuda/devices.hpp"
#include "base/temporary_folder.hpp"

namespace retable::experiments {
namespace {

struct Result {
  int status;
  std::string out, err;
};

Result Call(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int status = RunVerbNamed("permutations", args, out, err);
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
    const auto result = Call({"--d", "5", "--n", "7", "--method", method, "--seed", "3"});
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
  const auto result = Call({"--d", "1", "--n", "2", "--out", path});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("written to"), std::string::npos);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(Lines(text.str()).size(), 3u);
}

TEST(PermutationsCommand, ACutBlockIsSaid) {
  const auto cut = Call({"--d", "4", "--n", "7", "--method", "Orthogonal"});
  EXPECT_EQ(cut.status, 0);
  EXPECT_NE(cut.err.find("blocks of 6"), std::string::npos) << cut.err;
  const auto whole = Call({"--d", "4", "--n", "12", "--method", "Orthogonal"});
  EXPECT_EQ(whole.err.find("note"), std::string::npos);
}

TEST(PermutationsCommand, OptionsReachTheSampler) {
  const auto few =
      Call({"--d", "9", "--n", "20", "--method", "Herding", "--option", "candidates=1"});
  const auto many = Call({"--d", "9", "--n", "20", "--method", "Herding"});
  EXPECT_EQ(few.status, 0);
  EXPECT_NE(few.out, many.out);
  const auto wrong =
      Call({"--d", "9", "--n", "20", "--method", "Herding", "--option", "candidates=few"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("candidates"), std::string::npos);
  EXPECT_EQ(Call({"--d", "9", "--n", "2", "--method", "MC", "--option", "x=1"}).status, 2);
  for (const std::string own : {"lambda", "kernel"}) {
    const auto twice =
        Call({"--d", "9", "--n", "20", "--method", "Herding", "--option", own + "=1"});
    EXPECT_EQ(twice.status, 2);
    EXPECT_NE(twice.err.find("give --" + own), std::string::npos) << twice.err;
  }
  const auto huge =
      Call({"--d", "9", "--n", "20", "--method", "Herding", "--option", "candidates=1e19"});
  EXPECT_NE(huge.err.find("takes no such value"), std::string::npos) << huge.err;
}

TEST(PermutationsCommand, WithoutADeviceItSaysWhyAndWhatToDo) {
  const NoDevice& none = WhyNoDevice();
  if (!none.any()) GTEST_SKIP() << "there is a CUDA device";
  const auto result = Call({"--d", "5", "--n", "4", "--method", "SBQ", "--device", "cuda"});
  EXPECT_EQ(result.status, 2);
  if (AskCuda().compiled) {
    EXPECT_NE(result.err.find(none.why + "; " + none.remedy), std::string::npos) << result.err;
  }
}

// The values are those of the table that follows them.
TEST(CoalitionsCommand, WritesAGameAndItsShapleyValues) {
  std::ostringstream out, err;
  ASSERT_EQ(
      RunVerbNamed("coalitions", {"--data", "make_regression", "--background", "3", "--row", "2"},
                   out, err),
      0)
      << err.str();
  const auto lines = Lines(out.str());
  ASSERT_EQ(lines.size(), 1u + 10 + 1024);
  std::vector<double> values;
  for (std::size_t k = 11; k < lines.size(); ++k) {
    EXPECT_EQ(lines[k][1], std::to_string(k - 11));
    values.push_back(std::stod(lines[k][2]));
  }
  const auto exact = shapley::ExactShapleyValues(
      *shapley::FunctionGame(10, [&](std::uint64_t coalition) { return values[coalition]; }));
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(lines[i + 1][0], "shapley");
    EXPECT_NEAR(std::stod(lines[i + 1][2]), exact[i], 1e-9);
  }
}

// Three classes were trained as the numbers 0, 1 and 2.
TEST(CoalitionsCommand, RefusesWhatItCannotExplain) {
  const auto fails = [](const std::vector<std::string>& args, const std::string& says) {
    std::ostringstream out, err;
    EXPECT_EQ(RunVerbNamed("coalitions", args, out, err), 2);
    EXPECT_NE(err.str().find(says), std::string::npos) << err.str();
    EXPECT_EQ(out.str(), "");
  };
  fails({"--data", "iris"}, "neither a number nor one of two classes");
  fails({"--data", "breast_cancer"}, "30 features: a table takes at most 20");
  fails({"--data", "nonesuch"}, "unknown data set");
}

TEST(PermutationsCommand, ASmallLambdaIsSaid) {
  const auto result = Call({"--d", "5", "--n", "4", "--lambda", "1e-9", "--method", "MC"});
  EXPECT_NE(result.err.find("lambda 1e-09)"), std::string::npos) << result.err;
}

// A table of its kernel would take 34 GB.
TEST(PermutationsCommand, ADiscrepancyThatWouldTakeTooLongIsLeftOut) {
  const auto result = Call({"--d", "65535", "--n", "1", "--method", "MC"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("discrepancy not computed"), std::string::npos) << result.err;
}

TEST(PermutationsCommand, BadInputIsNamed) {
  EXPECT_EQ(Call({}).status, 1);
  EXPECT_EQ(Call({"--d", "3"}).status, 1);
  EXPECT_EQ(Call({"--d", "0", "--n", "3"}).status, 1);
  EXPECT_EQ(Call({"--d", "3", "--n", "0"}).status, 2);
  const auto huge = Call({"--d", "4", "--n", "4611686018427387904", "--method", "MC"});
  EXPECT_EQ(huge.status, 2);
  EXPECT_NE(huge.err.find("2^40"), std::string::npos) << huge.err;
  const auto unknown = Call({"--d", "3", "--n", "3", "--method", "Magic"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("Orthogonal"), std::string::npos);
  EXPECT_EQ(Call({"--d", "3", "--n", "2", "--out", "/dev/null/x.csv"}).status, 2);
  EXPECT_EQ(Call({"--d", "9", "--n", "2", "--kernel", "Cayley"}).status, 1);
  EXPECT_NE(Call({"--list"}).out.find("Foldover-descent"), std::string::npos);
}

}  // namespace
}  // namespace retable::experiments

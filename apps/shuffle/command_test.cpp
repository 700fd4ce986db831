#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "algorithms/shuffle/selection/sample.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "apps/verb_testing.hpp"
#include "base/temporary_folder.hpp"

namespace retable::experiments {
namespace {

TEST(ShuffleCommand, WritesBits) {
  std::ostringstream out, again, err;
  const std::vector<std::string> words = {"bits", "--method", "Partition", "--items",
                                          "100",  "--mib",    "0.01"};
  EXPECT_EQ(RunVerbNamed("shuffle", words, out, err), 0) << err.str();
  EXPECT_EQ(out.str().size(), 10485u);
  EXPECT_EQ(RunVerbNamed("shuffle", words, again, err), 0);
  EXPECT_EQ(out.str(), again.str());
}

TEST(ShuffleCommand, BatteryTellsGoodFromBad) {
  std::ostringstream out, err;
  EXPECT_EQ(
      RunVerbNamed("shuffle",
                   {"battery", "--method", "Fisher-Yates", "--items", "16", "--samples", "2000"},
                   out, err),
      0)
      << out.str();
  EXPECT_EQ(
      RunVerbNamed("shuffle",
                   {"battery", "--method", "VarPhilox 24", "--items", "16", "--samples", "2000"},
                   out, err),
      3)
      << out.str();
  EXPECT_NE(out.str().find("parity"), std::string::npos);
}

// What the page recommends for a CPU was no shuffler of the battery.
TEST(ShuffleCommand, BatteryTakesEveryMethodOfThePage) {
  for (const char* method :
       {"FisherYates", "Partition", "Rectangle", "SplitRectangle", "InPlace"}) {
    std::ostringstream out, err;
    EXPECT_EQ(RunVerbNamed("shuffle",
                           {"battery", "--method", method, "--items", "16", "--samples", "500"},
                           out, err),
              0)
        << err.str();
  }
}

TEST(ShuffleCommand, WrongUsageIsNamed) {
  std::ostringstream out, err;
  EXPECT_EQ(RunVerbNamed("shuffle", {"battery", "--method", "nonesuch"}, out, err), 1);
  EXPECT_NE(err.str().find("Fisher-Yates"), std::string::npos);
  EXPECT_EQ(RunVerbNamed("shuffle", {}, out, err), 1);
  EXPECT_EQ(RunVerbNamed("shuffle", {"bits", "--method", "LCG", "--items", "1"}, out, err), 1);
}

std::string Written(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

// Runs and expects success; the standard output.
std::string Output(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  EXPECT_EQ(RunVerbNamed("shuffle", words, out, err), 0) << err.str();
  return out.str();
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(ShuffleCommand, RowsKeepEveryLineAndTheHeader) {
  const TemporaryFolder folder;
  std::string text = "id,name\n";
  for (int i = 0; i < 500; ++i) text += std::to_string(i) + ",row\r\n";
  text += "last without an end";
  const std::string in = Written(folder.path() / "data.csv", text);
  const std::string out = (folder.path() / "out.csv").string();
  EXPECT_EQ(Output({"rows", "--in", in, "--out", out, "--header", "1"}), "");
  std::ifstream file(out, std::ios::binary);
  const std::string written((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(written.rfind("id,name\n", 0), 0u);
  EXPECT_NE(written, text + "\n");
  EXPECT_EQ(SortedLines(written), SortedLines(text));
  // The library's order, the same again from the same seed, another from another.
  const auto order = Registry<shuffle::Shuffler>::Instance()
                         .Make("Partition", Device::kCpu, {})
                         ->permutation(501, 7);
  const std::string seven =
      Output({"rows", "--in", in, "--header", "1", "--method", "Partition", "--seed", "7"});
  std::istringstream lines(seven);
  std::string line;
  std::getline(lines, line);
  for (const std::uint64_t row : order) {
    std::getline(lines, line);
    EXPECT_EQ(line, row == 500 ? "last without an end" : std::to_string(row) + ",row\r");
  }
  EXPECT_NE(seven, Output({"rows", "--in", in, "--header", "1", "--seed", "8"}));
  const std::string few = Output({"rows", "--in", in, "--header", "1", "--take", "20"});
  EXPECT_EQ(SortedLines(few).size(), 21u);
  const auto all = SortedLines(text);
  for (const auto& one : SortedLines(few)) {
    EXPECT_TRUE(std::binary_search(all.begin(), all.end(), one)) << one;
  }
}

TEST(ShuffleCommand, RecordsOfACsvStayWhole) {
  const TemporaryFolder folder;
  const std::vector<std::string> records = {"1,\"a\nb\"\n", "2,\"c\"\"\nd\",\"\"\n", "3,5\"\n",
                                            "\"\n\",4\n"};
  std::string text = "id,\"te\nxt\"\n";
  for (const std::string& record : records) text += record;
  const std::string in = Written(folder.path() / "data.CSV", text);
  const std::string mark = "\xEF\xBB\xBF";  // in front of a quote
  EXPECT_EQ(Output({"rows", "--in", Written(folder.path() / "mark.csv", mark + "\"a\nb\"\n1\n"),
                    "--header", "1"}),
            mark + "\"a\nb\"\n1\n");
  for (const char* seed : {"1", "2", "3"}) {
    std::string rest = Output({"rows", "--in", in, "--header", "1", "--seed", seed});
    ASSERT_TRUE(rest.starts_with("id,\"te\nxt\"\n")) << rest;
    EXPECT_EQ(rest.size(), text.size());
    for (const std::string& record : records) EXPECT_NE(rest.find(record), std::string::npos);
  }
  EXPECT_NE(Output({"rows", "--in", Written(folder.path() / "lines.txt", "3,\"open\n")}), "");
}

TEST(ShuffleCommand, ABlankLineOfACsvIsNoRecord) {
  const TemporaryFolder folder;
  const auto output = [&](const char* name, const char* text) {
    return Output({"rows", "--in", Written(folder.path() / name, text), "--header", "1"});
  };
  EXPECT_EQ(output("blank.csv", "\r\na,b\r\n\r\n1,2\r\n \r\n"), "a,b\r\n1,2\r\n");
  EXPECT_EQ(output("end.csv", "a\n1\n\n"), "a\n1\n");
  EXPECT_EQ(output("lines.txt", "\na\n"), "\na\n");
}

TEST(ShuffleCommand, ALastLineWithoutAnEndGetsThatOfTheFile) {
  const TemporaryFolder folder;
  const std::string in = Written(folder.path() / "dos.txt", "c\r\na\r\nb");
  EXPECT_EQ(SortedLines(Output({"rows", "--in", in})), SortedLines("a\r\nb\r\nc\r\n"));
}

TEST(ShuffleCommand, RowsOfOneLengthMoveWhole) {
  const TemporaryFolder folder;
  std::string matrix;
  for (int i = 0; i < 1000; ++i) matrix += std::string(12, static_cast<char>(i % 251));
  const std::string in = Written(folder.path() / "matrix.bin", matrix);
  std::string out = Output({"rows", "--in", in, "--row-bytes", "12"});
  EXPECT_EQ(out.size(), matrix.size());
  EXPECT_NE(out, matrix);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], out[i / 12 * 12]);
  std::sort(out.begin(), out.end());
  std::sort(matrix.begin(), matrix.end());
  EXPECT_EQ(out, matrix);
  const std::string few =
      Output({"rows", "--in", in, "--row-bytes", "12", "--header", "3", "--take", "30"});
  const auto sample = shuffle::SampleWithoutReplacement(997, 30, 1);
  ASSERT_EQ(few.size(), 33 * 12u);
  for (std::size_t i = 0; i < few.size(); ++i) {
    const std::size_t row = i / 12;
    EXPECT_EQ(few[i], static_cast<char>((row < 3 ? row : 3 + sample[row - 3]) % 251)) << i;
  }
  EXPECT_EQ(Output({"rows", "--in", in, "--row-bytes", "12", "--header", "1000"}).size(), 12000u);
  EXPECT_EQ(Output({"rows", "--in", Written(folder.path() / "empty", "")}), "");
}

TEST(ShuffleCommand, SamplesAreDistinctAndInRange) {
  const auto lines = SortedLines(Output({"sample", "--of", "1000000000000", "--take", "200"}));
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), 200u);
  for (const auto& line : lines) EXPECT_LT(std::stoull(line), 1000000000000u);
  EXPECT_EQ(SortedLines(Output({"sample", "--of", "5", "--take", "5"})),
            (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

TEST(ShuffleCommand, WrongRowsAreNamed) {
  const TemporaryFolder folder;
  const std::string in = Written(folder.path() / "seven.bin", "1234567");
  const auto fails = [&](std::vector<std::string> words, const std::string& says) {
    std::ostringstream out, err;
    EXPECT_NE(RunVerbNamed("shuffle", words, out, err), 0);
    EXPECT_NE(err.str().find(says), std::string::npos) << err.str();
  };
  fails({"rows", "--in", in, "--row-bytes", "2"}, "seven.bin: 7 bytes are not a whole number");
  fails({"rows", "--in", in, "--take", "2"}, "seven.bin: there are 1 rows");
  fails({"rows", "--in", in, "--take", "1", "--method", "Partition"}, "excludes");
  fails({"rows", "--in", in, "--header", "2"}, "--header");
  fails({"rows", "--in", Written(folder.path() / "open.csv", "a\n\"b\n")},
        "open.csv:2: a quoted field is never closed");
  fails({"rows", "--in", Written(folder.path() / "one.csv", "a\n1\n\n2\n")},
        "one.csv:3: a blank line in a table of one column");
  fails({"rows", "--in", Written(folder.path() / "x.npy", std::string("\x93NUMPY\n\0\n", 9))},
        "x.npy: byte 8 is zero");
  fails({"rows", "--in", Written(folder.path() / "old.csv", "a\r1\r2\r")},
        "old.csv: its lines end with carriage returns");
  fails({"rows", "--in", in, "--seed", "010"}, "--seed: 010 begins with 0");
  fails({"rows", "--in", in, "--method", "nonesuch"}, "Partition");
  fails({"rows", "--in", in, "--method", "External"}, "no shuffler \"External\" on cpu");
  fails({"rows", "--in", in, "--header", "-1"}, "--header: -1 is less than 0");
  fails({"rows", "--in", in + ".missing"}, "seven.bin.missing: No such file");
  fails({"rows", "--in", in, "--out", in + "/no"}, "cannot write");
  fails({"rows", "--in", in, "--out", folder.path().string()}, "Is a directory");
  fails({"rows", "--in", folder.path().string()}, "Is a directory");
  fails({"sample", "--of", "3", "--take", "4"}, "cannot take 4 of 3");
  fails({"rows", "--in", in, "--out", folder.path().string() + "/./seven.bin"},
        "is read and would be overwritten");
  std::ifstream file(in, std::ios::binary);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), {}), "1234567");
  fails({"battery", "--method", "LCG", "--samples", "nan"}, "--samples: nan is not in");
  fails({"battery", "--method", "LCG", "--samples", "0"}, "--samples: 0 is not in");
  fails({"battery", "--method", "LCG", "--samples", "10", "--alpha", "nan"}, "--alpha: nan");
  fails({"battery", "--method", "LCG", "--samples", "10", "--items", "8"},
        "fewer than 4256 orders");
  fails({"bits", "--method", "LCG", "--mib", "-1"}, "--mib: -1 is not in");
}

// Three of nearly 2^63 were one number three times; of 2^62 + 1 there was no end.
TEST(ShuffleCommand, SamplesOfHugeRangesAreDistinct) {
  for (const char* of : {"4611686018427387903", "4611686018427387904", "4611686018427387905",
                         "9223372036854775807", "9223372036854775808"}) {
    const auto lines = SortedLines(Output({"sample", "--of", of, "--take", "300"}));
    EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), 300u) << of;
    for (const auto& line : lines) EXPECT_LT(std::stoull(line), std::stoull(of));
  }
  for (const char* of : {"9223372036854775809", "18446744073709551615"}) {
    std::ostringstream out, err;
    EXPECT_EQ(RunVerbNamed("shuffle", {"sample", "--of", of, "--take", "3"}, out, err), 1);
    EXPECT_EQ(out.str(), "");
    EXPECT_NE(err.str().find("over the limit of bijections, 2^63"), std::string::npos) << err.str();
  }
  std::ostringstream out, err;
  EXPECT_EQ(RunVerbNamed("shuffle",
                         {"sample", "--of", "9223372036854775807", "--take", "4611686018427387905"},
                         out, err),
            1);
  EXPECT_NE(err.str().find("more than this machine has"), std::string::npos) << err.str();
}

}  // namespace
}  // namespace retable::experiments

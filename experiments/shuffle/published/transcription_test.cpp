// The published cells against a second transcription, made from the text of the paper without the
// first, and the claims against the paper's own numbers.

#include <gtest/gtest.h>

#include <string>

#include "experiments/common/paper_testing.hpp"

namespace retable::experiments {
namespace {

constexpr const char* kTable1 = R"(
2^8+1 24.64 14.61 16.21 2.459 1.845
2^11+1 188.8 115.4 124.8 15.83 8.191
2^14+1 1471 810.6 851.4 97.3 26.17
2^17+1 9696 3836 3968 145. 69.26
2^20+1 13830 5800 5642 159.8 127.3
2^23+1 5036 4527 4476 150.9 132.6
2^26+1 4465 4172 4143 133.8 118.4
2^29+1 4409 4018 4011 123.2 111.8
)";

constexpr const char* kTable2 = R"(
2^8+1 35.63 13.73 14.19 2.98 2.16
2^11+1 273.70 109.07 112.40 18.10 8.54
2^14+1 2183.41 776.85 846.42 66.74 30.62
2^17+1 12225.35 3649.39 3759.00 95.38 71.17
2^20+1 4187.73 3641.61 3437.88 89.55 80.63
2^23+1 2238.91 2232.61 2260.85 80.67 75.03
2^26+1 2097.25 2096.47 2105.51 71.44 67.35
)";

constexpr const char* kTable3 = R"(
2^8+1 128.03 2.81 0.09 40.77 41.18 46.24 2.45
2^11+1 635.04 17.65 0.69 63.83 63.82 64.95 6.26
2^14+1 935.55 89.88 4.76 68.05 68.00 67.85 8.30
2^17+1 434.46 207.94 21.69 63.05 78.71 52.03 18.60
2^20+1 353.72 246.79 39.53 59.38 99.76 32.94 79.30
2^23+1 108.23 157.88 21.37 45.67 108.78 23.44 60.11
2^26+1 64.32 49.02 16.04 24.93 111.15 18.38 47.45
2^29+1 54.12 44.06 15.63 21.66 104.99 15.03 39.23
)";

TEST(ShufflePaper, TwoTranscriptionsAgree) {
  const auto check = [](const std::string& artifact, const PrintedCells& printed) {
    ExpectTranscription("shuffle", artifact, printed,
                        [&](const std::string& row, const std::string& column) {
                          const std::string method = column.substr(0, column.find(" / Gather"));
                          return printed.at({row, method}) / printed.at({row, "Gather"});
                        });
  };
  const std::vector<std::string> gpu = {"Gather", "VarPhilox", "LCG", "DartThrowing",
                                        "SortShuffle"};
  check("table1", ParsePrinted(kTable1, 1, gpu));
  check("table2", ParsePrinted(kTable2, 1, gpu));
  check("table3", ParsePrinted(kTable3, 1,
                               {"Gather", "VarPhilox", "DartThrowing", "std::shuffle", "RS",
                                "MergeShuffle", "SortShuffle"}));
}

TEST(ShufflePaper, ItsClaimsHoldForItsOwnNumbers) {
  EXPECT_GE(ExpectClaimsHoldInTheWork(
                "shuffle", {{"fig11", "table1"}, {"fig12", "table2"}, {"fig13", "table3"}}),
            14);
}

}  // namespace
}  // namespace retable::experiments

// The published cells against a second transcription, made from the text of the paper without the
// first, and the claims against the paper's own numbers.

#include <gtest/gtest.h>

#include <string>

#include "experiments/common/paper_testing.hpp"

namespace retable::experiments {
namespace {

constexpr const char* kTable2 = R"(
Covtype 581,012 54 8
Cal_housing 20,640 8 -
Fashion_mnist 70,000 784 10
Adult 48,842 14 2
)";

constexpr const char* kTable3 = R"(
Covtype-small 80 560 3
Covtype-med 800 113,888 8
Covtype-large 8,000 6,636,440 16
Cal_housing-small 10 80 3
Cal_housing-med 100 21,643 8
Cal_housing-large 1,000 3,317,209 16
Fashion_mnist-small 100 800 3
Fashion_mnist-med 1,000 144,154 8
Fashion_mnist-large 10,000 2,929,521 16
Adult-small 10 80 3
Adult-med 100 13,074 8
Adult-large 1,000 642,035 16
)";

constexpr const char* kTable5 = R"(
Covtype-small None 0.0018 0.105246 560
Covtype-small NF 0.0041 0.982292 60
Covtype-small FFD 0.0064 0.998941 59
Covtype-small BFD 0.0086 0.998941 59
Covtype-med None 0.0450 0.211187 113,533
Covtype-med NF 0.0007 0.913539 26,246
Covtype-med FFD 0.0104 0.940338 25,498
Covtype-med BFD 0.0212 0.940338 25,498
Covtype-large None 0.0346 0.299913 6,702,132
Covtype-large NF 0.0413 0.851639 2,360,223
Covtype-large FFD 0.8105 0.952711 2,109,830
Covtype-large BFD 1.6702 0.952711 2,109,830
Cal_housing-small None 0.0015 0.085938 80
Cal_housing-small NF 0.0025 0.982143 7
Cal_housing-small FFD 0.0103 0.982143 7
Cal_housing-small BFD 0.0001 0.982143 7
Cal_housing-med None 0.0246 0.181457 21,641
Cal_housing-med NF 0.0126 0.931429 4,216
Cal_housing-med FFD 0.0016 0.941704 4,170
Cal_housing-med BFD 0.0031 0.941704 4170
Cal_housing-large None 0.0089 0.237979 3,370,373
Cal_housing-large NF 0.0225 0.901060 890,148
Cal_housing-large FFD 0.3534 0.933114 859,570
Cal_housing-large BFD 0.8760 0.933114 859570
Fashion_mnist-small None 0.0022 0.123906 800
Fashion_mnist-small NF 0.0082 0.991250 100
Fashion_mnist-small FFD 0.0116 0.991250 100
Fashion_mnist-small BFD 0.0139 0.991250 100
Fashion_mnist-med None 0.0439 0.264387 144,211
Fashion_mnist-med NF 0.0008 0.867580 43,947
Fashion_mnist-med FFD 0.0130 0.880279 43,313
Fashion_mnist-med BFD 0.0219 0.880279 43,313
Fashion_mnist-large None 0.0140 0.385001 2,929,303
Fashion_mnist-large NF 0.0132 0.791948 1,424,063
Fashion_mnist-large FFD 0.3633 0.958855 1,176,178
Fashion_mnist-large BFD 0.8518 0.958855 1,176,178
Adult-small None 0.0016 0.125000 80
Adult-small NF 0.0023 1.000000 10
Adult-small FFD 0.0061 1.000000 10
Adult-small BFD 0.0060 1.000000 10
Adult-med None 0.0050 0.229014 13,067
Adult-med NF 0.0066 0.913192 3,277
Adult-med FFD 0.0575 0.950010 3,150
Adult-med BFD 0.1169 0.950010 3,150
Adult-large None 0.0033 0.297131 642,883
Adult-large NF 0.0035 0.858728 222,446
Adult-large FFD 0.0684 0.954377 200,152
Adult-large BFD 0.0954 0.954377 200,152
)";

constexpr const char* kTable6 = R"(
Covtype-small 0.04 0.02 0.02 0.01 2.27
Covtype-med 8.25 0.07 0.45 0.03 18.23
Covtype-large 930.22 0.56 50.88 0.21 18.28
Cal_housing-small 0.01 0.01 0.01 0.01 0.96
Cal_housing-med 1.27 0.02 0.09 0.02 14.59
Cal_housing-large 315.21 0.30 16.91 0.34 18.64
Fashion_mnist-small 0.35 0.14 0.17 0.04 2.09
Fashion_mnist-med 15.10 0.07 1.13 0.08 13.36
Fashion_mnist-large 621.14 0.14 47.53 0.17 13.07
Adult-small 0.01 0.00 0.01 0.01 1.08
Adult-med 1.14 0.00 0.08 0.01 14.59
Adult-large 88.12 0.20 4.67 0.00 18.87
)";

constexpr const char* kTable7 = R"(
Covtype-small 0.14 0.01 0.02 0.01 8.32
Covtype-med 21.50 0.32 0.19 0.02 114.41
Covtype-large 2,055.78 4.19 28.85 0.06 71.26
Cal_housing-small 0.01 0.00 0.01 0.00 1.44
Cal_housing-med 0.53 0.04 0.04 0.01 12.05
Cal_housing-large 93.67 0.28 8.55 0.04 10.96
Fashion_mnist-small 11.35 0.87 4.04 0.67 2.81
Fashion_mnist-med 578.90 1.23 4.91 0.71 117.97
Fashion_mnist-large 21,603.53 622.60 63.53 0.78 340.07
Adult-small 0.06 0.09 0.01 0.00 11.25
Adult-med 1.74 0.30 0.04 0.01 39.38
Adult-large 67.29 6.22 2.76 0.00 24.38
)";

double NoQuotient(const std::string& row, const std::string& column) {
  ADD_FAILURE() << row << ", " << column << " is no quotient";
  return 0;
}

TEST(TreeShapPaper, TwoTranscriptionsAgree) {
  const auto check = [](const std::string& artifact, const PrintedCells& printed) {
    ExpectTranscription("treeshap", artifact, printed, NoQuotient);
  };
  check("table2", ParsePrinted(kTable2, 1, {"Rows", "Cols", "Classes"}));
  check("table3", ParsePrinted(kTable3, 1, {"Trees", "Leaves", "Max_depth"}));
  const std::vector<std::string> times = {"CPU (s)", "CPU std", "GPU (s)", "GPU std", "Speedup"};
  check("table6", ParsePrinted(kTable6, 1, times));
  check("table7", ParsePrinted(kTable7, 1, times));
  check("fig5", {{{"GPUTreeShap", "8"}, 1.2e6}});
  check("fig6", {{{"XGBoost", "40"}, 7000}});
  const auto table5 = ParsePrinted(kTable5, 2, {"Time (s)", "Utilisation", "Bins"});
  ExpectTranscription("treeshap", "table5", table5,
                      [&](const std::string& row, const std::string& column) {
                        EXPECT_EQ(column, "Time over None");
                        const std::string none = row.substr(0, row.find(' ')) + " None";
                        return table5.at({row, "Time (s)"}) / table5.at({none, "Time (s)"});
                      });
}

TEST(TreeShapPaper, ItsClaimsHoldForItsOwnNumbers) {
  EXPECT_GE(ExpectClaimsHoldInTheWork("treeshap", {}), 18);
}

}  // namespace
}  // namespace retable::experiments

// The published cells of tables 2, 4 and 5 against a second transcription: column by column, in the
// order in which the paper's text holds them.

#include <gtest/gtest.h>

#include "experiments/common/plan_testing.hpp"

namespace retable::experiments {
namespace {

TEST(ShapleyTranscription, TableTwo) {
  const std::vector<std::string> rows = {"adult",
                                         "breast_cancer",
                                         "bank-marketing",
                                         "cal_housing",
                                         "synthetic make_regression(n_samples=1000,noise=0.1)",
                                         "year"};
  ExpectPrinted("shapley/table2", "Rows", rows, {48842, 699, 45211, 20640, 1000, 515345});
  ExpectPrinted("shapley/table2", "Cols", rows, {107, 30, 16, 8, 10, 90});
}

// SBQ is left out at n = 1000.
std::vector<std::string> RowsOfTableFour() {
  std::vector<std::string> rows;
  for (const char* d : {"d=10", "d=50", "d=200"}) {
    for (const char* n : {"n=10", "n=100", "n=1000"}) {
      for (const char* method : {"Herding", "MC-antithetic", "Orthogonal", "SBQ", "Sobol"}) {
        if (n == std::string("n=1000") && method == std::string("SBQ")) continue;
        rows.push_back(d + std::string(" ") + n + " " + method);
      }
    }
  }
  return rows;
}

const std::vector<double>& TimesOfTableFour() {
  static const std::vector<double> times = {
      0.008067, 0.000096,  0.000788, 0.111968,   0.003190, 0.979663, 0.000718,
      0.011655, 41.546244, 0.047935, 52.961361,  0.018554, 0.110050, 0.049177,
      0.022578, 0.001219,  0.023522, 0.343958,   0.009038, 1.129456, 0.000522,
      0.054071, 27.135371, 0.009147, 85.038503,  0.048581, 0.351684, 0.960075,
      0.111566, 0.000280,  0.196384, 0.098380,   0.795164, 3.429252, 0.043272,
      0.463764, 39.163286, 0.691592, 242.515501, 0.007029, 0.560501, 1.995500};
  return times;
}

TEST(ShapleyTranscription, TableFour) {
  const auto rows = RowsOfTableFour();
  ExpectPrinted(
      "shapley/table4", "Discrepancy", rows,
      {0.241113, 0.263626, 0.244233, 0.240285, 0.258403, 0.058985, 0.083784, 0.070014, 0.055803,
       0.068875, 0.013353, 0.026816, 0.021802, 0.017830, 0.270276, 0.272373, 0.269126, 0.270045,
       0.270824, 0.079701, 0.086087, 0.072479, 0.079182, 0.078587, 0.022585, 0.027253, 0.022904,
       0.022337, 0.280202, 0.273105, 0.272387, 0.280004, 0.272416, 0.083784, 0.086434, 0.083187,
       0.083656, 0.083928, 0.025508, 0.027318, 0.023420, 0.023411});
  ExpectPrinted(
      "shapley/table4", "Discrepancy std", rows,
      {0.002430, 0.009881, 0.002904, 0.002483, 0.006546, 0.000718, 0.004493, 0.001722, 0.000410,
       0.001716, 0.000098, 0.001522, 0.000622, 0.000405, 0.001269, 0.001582, 0.000275, 0.001410,
       0.000995, 0.000242, 0.000603, 0.000158, 0.000163, 0.000350, 0.000033, 0.000190, 0.000040,
       0.000108, 0.000991, 0.000257, 0.000042, 0.001052, 0.000259, 0.000119, 0.000157, 0.000019,
       0.000115, 0.000075, 0.000018, 0.000042, 0.000010, 0.000040});
  ExpectPrinted("shapley/table4", "Time (s)", rows, TimesOfTableFour());
  ExpectPrinted(
      "shapley/table4", "Time std", rows,
      {0.001414,  0.000083, 0.000100, 0.397417, 0.005711, 0.602856, 0.001173, 0.028917, 9.239474,
       0.167501,  4.024325, 0.039945, 0.239145, 0.138812, 0.047269, 0.003305, 0.045404, 0.879071,
       0.007187,  0.483339, 0.000333, 0.170046, 7.967242, 0.006215, 3.604017, 0.201433, 1.165377,
       0.712597,  0.400984, 0.000425, 0.050607, 0.184844, 1.435970, 1.765489, 0.120758, 1.133650,
       10.229544, 0.778084, 6.934064, 0.002159, 0.212319, 0.782391});
}

// To the four digits that they are given with.
void ExpectRatios(const std::string& file, const std::string& column,
                  const std::map<std::string, double>& ratios) {
  std::size_t found = 0;
  for (const auto& cell : harness::ReadPaperCells(std::string(RETABLE_SOURCE_DIR) +
                                                  "/experiments/shapley/published/" + file)) {
    if (cell.column != column) continue;
    ++found;
    ASSERT_EQ(ratios.count(cell.row), 1u) << cell.row;
    EXPECT_NEAR(*cell.value / ratios.at(cell.row), 1, 5e-4) << cell.row;
    EXPECT_EQ(cell.kind, harness::CellKind::kRatio) << cell.row;
  }
  EXPECT_EQ(found, ratios.size());
}

TEST(ShapleyTranscription, RatiosFollowFromTheTimes) {
  const auto rows = RowsOfTableFour();
  std::map<std::string, double> times, ratios;
  for (std::size_t i = 0; i < rows.size(); ++i) times[rows[i]] = TimesOfTableFour()[i];
  for (const auto& [row, time] : times) {
    const std::string over = row.substr(0, row.rfind(' ')) + " MC-antithetic";
    if (row != over) ratios[row] = time / times.at(over);
  }
  ExpectRatios("table4.paper.csv", "Time over MC-antithetic's", ratios);
  ExpectRatios("table5.paper.csv", "Permutation time over MC's",
               {{"Fashion-MNIST Herding", 3.050258 / 0.000986},
                {"Fashion-MNIST MC-antithetic", 0.000701 / 0.000986},
                {"Fashion-MNIST Orthogonal", 0.230704 / 0.000986},
                {"Fashion-MNIST SBQ", 6.253297 / 0.000986},
                {"Fashion-MNIST Sobol", 0.050369 / 0.000986}});
}

TEST(ShapleyTranscription, TableFive) {
  std::vector<std::string> drawn, rest;
  for (const char* method : {"Herding", "MC", "MC-antithetic", "Orthogonal", "SBQ", "Sobol"}) {
    drawn.push_back("Fashion-MNIST " + std::string(method));
    rest.push_back("imagenet " + std::string(method));
  }
  ExpectPrinted("shapley/table5", "Permutation time (s)", drawn,
                {3.050258, 0.000986, 0.000701, 0.230704, 6.253297, 0.050369});
  ExpectPrinted("shapley/table5", "Permutation time std", drawn,
                {0.431358, 0.000444, 0.000202, 0.012352, 1.125828, 0.019457});
  ExpectPrinted("shapley/table5", "Other time (s)", rest,
                {40.791352, 40.586155, 40.898156, 40.665781, 40.479887, 40.621966});
  ExpectPrinted("shapley/table5", "Other time std", rest,
                {0.491466, 0.537534, 0.553361, 0.459624, 0.437312, 0.546090});
}

// What is a fact of the data is no result; what has a sampling error is judged by it.
TEST(ShapleyTranscription, KindsAndTolerances) {
  for (const auto& e : LoadFamily("shapley", "paper")) {
    if (e.paper_file.empty()) continue;
    for (const auto& cell : harness::ReadPaperCells(e.paper_file)) {
      if (e.artifact == "table2") EXPECT_EQ(cell.kind, harness::CellKind::kSetting) << cell.row;
      if (cell.column == "Discrepancy") EXPECT_EQ(cell.tolerance, 0.02) << cell.row;
      EXPECT_EQ(cell.trials, cell.column == "Discrepancy std" ? 25 : 0) << cell.row;
    }
  }
}

}  // namespace
}  // namespace retable::experiments

// Models of LightGBM and XGBoost, their data and their own contributions, end to end: what train.py
// wrote, as a user explains it.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/treeshap/model/model_io.hpp"
#include "apps/verb_testing.hpp"
#include "base/csv/number.hpp"
#include "base/temporary_folder.hpp"
#include "harness/report/csv.hpp"

namespace retable::experiments::treeshap {
namespace {

const std::string kFolder =
    std::string(RETABLE_SOURCE_DIR) + "/algorithms/treeshap/testing/trained/";

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Case {
  const char* model;
  const char* data;
  double tolerance;  // of the largest contribution; XGBoost's are floats
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model;
}

class TrainedModels : public testing::TestWithParam<Case> {
 protected:
  int Explain(const std::string& model, const std::string& data,
              std::vector<std::string> more = {}) {
    out_.str("");
    err_.str("");
    more.insert(more.end(), {"--model", model, "--data", data, "--device", "cpu"});
    return RunVerbNamed("shap", more, out_, err_);
  }

  // The contributions that the command printed, without the row's and the output's number.
  std::vector<double> Printed() const {
    std::vector<double> values;
    const auto table = harness::ParseCsv(out_.str(), "result");
    for (const auto& row : table.rows) {
      for (std::size_t c = 2; c < row.fields.size(); ++c) values.push_back(*table.Number(row, c));
    }
    return values;
  }

  void ExpectContributions(const std::string& name, double tolerance) const {
    std::string text = ReadText(kFolder + name + ".contributions.csv");
    for (char& c : text) c = c == ',' ? ' ' : c;
    std::istringstream list(text);
    const std::vector<double> want{std::istream_iterator<double>(list), {}};
    const std::vector<double> got = Printed();
    ASSERT_EQ(got.size(), want.size());
    double scale = 0;
    for (const double x : want) scale = std::max(scale, std::abs(x));
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], tolerance * scale) << name << " " << i;
    }
  }

  TemporaryFolder folder_;
  std::ostringstream out_, err_;
};

TEST_P(TrainedModels, AreExplainedAsTheirTrainersDo) {
  const std::string model = kFolder + GetParam().model;
  const std::string data = kFolder + GetParam().data + ".csv";
  ASSERT_EQ(Explain(model, data, {"--precision", "double"}), 0) << err_.str();
  ExpectContributions(GetParam().data, GetParam().tolerance);
  ASSERT_EQ(Explain(model, data), 0) << err_.str();  // in float the paths are the same
  ExpectContributions(GetParam().data, std::max(1e-5, GetParam().tolerance));
}

INSTANTIATE_TEST_SUITE_P(
    All, TrainedModels,
    testing::Values(Case{"doubles.txt", "doubles", 1e-12}, Case{"zeros.txt", "zeros", 1e-12},
                    Case{"missing.txt", "missing", 1e-12}, Case{"forest.txt", "forest", 1e-12},
                    Case{"pandas.txt", "pandas", 1e-12}, Case{"codes.txt", "codes", 1e-12},
                    Case{"mixed.txt", "mixed", 1e-12}, Case{"classes.txt", "classes", 1e-12},
                    Case{"cats.json", "cats", 1e-6}, Case{"cats.ubj", "cats", 1e-6}));

using TrainedModelsMore = TrainedModels;

// The same numbers from an ARFF file: decimals are doubles there too, levels go by their text.
TEST_F(TrainedModelsMore, FromArffToo) {
  for (const std::string name : {"doubles", "pandas"}) {
    const auto table = harness::ReadCsv(kFolder + name + ".csv");
    std::string arff = "@relation r\n";
    for (const std::string& column : table.header) {
      std::string levels = "numeric";
      if (column == "city") levels = "{Oslo, 'New York, NY', b, a, 'NA x', 'Z\xC3\xBCrich'}";
      if (column == "size") levels = "{xl, l, m, s}";
      if (column == "flag") levels = "{True, False}";
      if (column == "one") levels = "{z}";
      arff += "@attribute '" + column + "' " + levels + "\n";
    }
    arff += "@data\n";
    for (const auto& row : table.rows) {
      for (std::size_t c = 0; c < row.fields.size(); ++c) {
        const bool word = !row.fields[c].empty() && !ParseNumber(row.fields[c]);
        arff += (c > 0 ? "," : "") +
                (row.fields[c].empty() ? "?" : (word ? "'" + row.fields[c] + "'" : row.fields[c]));
      }
      arff += "\n";
    }
    const std::string path = (folder_.path() / (name + ".arff")).string();
    std::ofstream(path, std::ios::binary) << arff;
    ASSERT_EQ(Explain(kFolder + name + ".txt", path, {"--precision", "double"}), 0) << err_.str();
    ExpectContributions(name, 1e-12);
  }
}

// As an array of booleans has them.
TEST_F(TrainedModelsMore, TakeOneAndZeroForTrueAndFalse) {
  std::string rows = ReadText(kFolder + "pandas.csv");
  for (const auto& [word, number] : {std::pair{",True,", ",1,"}, std::pair{",False,", ",0,"}}) {
    for (std::size_t at = 0; (at = rows.find(word, at)) != std::string::npos;) {
      rows.replace(at, std::string(word).size(), number);
    }
  }
  const std::string path = (folder_.path() / "numbers.csv").string();
  std::ofstream(path, std::ios::binary) << rows;
  ASSERT_EQ(Explain(kFolder + "pandas.txt", path, {"--precision", "double"}), 0) << err_.str();
  ExpectContributions("pandas", 1e-12);
}

TEST_F(TrainedModelsMore, SayWhatIsNoCategory) {
  ASSERT_EQ(Explain(kFolder + "pandas.txt", kFolder + "pandas.csv"), 0);
  for (const char* words :
       {"\"store\": 1 values, the first \"4\" at line 2, are no category", "knows 3, 5, 7, 9",
        "\"city\": 1 values, the first \"Oslo\"", "\"size\": 1 values", "count as missing"}) {
    EXPECT_NE(err_.str().find(words), std::string::npos) << words << " in: " << err_.str();
  }
  ASSERT_EQ(Explain(kFolder + "codes.txt", kFolder + "codes.csv"), 0);
  EXPECT_NE(err_.str().find("4 values, the first \"-1\" at line 2, are no category code"),
            std::string::npos)
      << err_.str();
  ASSERT_EQ(Explain(kFolder + "forest.txt", kFolder + "forest.csv"), 0);
  EXPECT_EQ(err_.str(), "");
}

// XGBoost refuses a category that it has not seen in training.
TEST_F(TrainedModelsMore, XgboostRefusesUnknownCategories) {
  const std::string path = (folder_.path() / "unknown.csv").string();
  for (const auto& [row, word] : std::vector<std::pair<std::string, std::string>>{
           {"11,0.5,a,s,z", "column \"store\": \"11\""},
           {"3,0.5,Oslo,s,z", "column \"city\": \"Oslo\""}}) {
    std::ofstream(path, std::ios::binary) << "store,x,city,size,one\n3,0.5,a,s,z\n" << row << "\n";
    EXPECT_EQ(Explain(kFolder + "cats.json", path), 2);
    EXPECT_NE(err_.str().find("unknown.csv:3: " + word), std::string::npos) << err_.str();
  }
}

// Where a model does not tell which features its lists of categories are of, it is refused.
TEST_F(TrainedModelsMore, RefuseListsThatFitSeveralFeatures) {
  const std::string text = ReadText(kFolder + "pandas.txt");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  EXPECT_NO_THROW(retable::treeshap::ReadModel(text));
  // The list of cities might be of x; then a list is too short for its feature, or no list.
  for (const std::string& bad :
       {with("[-4.056928533204248:3.3348205732037219] -1:2:3:0:4:1", "[0:1] [0:4]"),
        with("[3, 5, 7, 9]", "[3, 5]"), with("[3, 5, 7, 9]", "[3, {}, 7, 9]"),
        with("[3, 5, 7, 9]", "[3, 5, 7, 9")}) {
    EXPECT_THROW(retable::treeshap::ReadModel(bad), std::invalid_argument);
  }
}

}  // namespace
}  // namespace retable::experiments::treeshap

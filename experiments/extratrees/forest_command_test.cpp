#include "experiments/extratrees/forest_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/csv.hpp"
#include "harness/verbs.hpp"

namespace retable::experiments::forests {
namespace {

class ForestCommand : public testing::Test {
 protected:
  ForestCommand() {
    folder_ = std::filesystem::path(RETABLE_BINARY_DIR) / "forest_command_test";
    std::filesystem::create_directories(folder_);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return ForestMain(args, out_, err_);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }

  std::filesystem::path folder_;
  std::ostringstream out_, err_;
};

TEST_F(ForestCommand, LearnsIrisAndPredictsIt) {
  ASSERT_EQ(Run({"fit", "iris", "--out", Path("iris.json"), "--trees", "5", "--device", "cpu"}), 0)
      << err_.str();
  EXPECT_NE(out_.str().find("5 trees on 150 rows, 4 features, 3 classes"), std::string::npos);
  ASSERT_EQ(Run({"predict", Path("iris.json"), "iris", "--out", Path("p.csv")}), 0) << err_.str();
  EXPECT_NE(out_.str().find("accuracy 1"), std::string::npos) << out_.str();
}

TEST_F(ForestCommand, ReadsCsvAndArff) {
  Write("t.csv", "a,kind,b\n1,x,5\n2,x,6\n8,y,5\n9,y,7\n");
  Write("t.arff",
        "@relation t\n@attribute a numeric\n@attribute kind {x,y}\n"
        "@attribute b numeric\n@data\n1,x,5\n2,x,6\n8,y,5\n9,y,7\n");
  for (const char* file : {"t.csv", "t.arff"}) {
    const std::vector<std::string> fit{"fit",   Path(file),     "--target", "kind",
                                       "--out", Path("t.json"), "--device", "cpu"};
    ASSERT_EQ(Run(fit), 0) << err_.str();
    ASSERT_EQ(Run({"predict", Path("t.json"), Path(file), "--target", "kind"}), 0) << err_.str();
    EXPECT_EQ(out_.str(), "prediction\nx\nx\ny\ny\n") << file;
  }
}

TEST_F(ForestCommand, LearnsNumbersWithWeightsAndHoles) {
  Write("r.csv", "a,w,b,y\n1,1,,10\n2,2,6,20\n8,1,5,30.5\n9,0,7,-4\n9,1,7,40\n");
  ASSERT_EQ(Run({"fit", Path("r.csv"), "--regression", "--weights", "w", "--out", Path("r.json"),
                 "--trees", "7", "--device", "cpu"}),
            0)
      << err_.str();
  EXPECT_NE(out_.str().find("2 features, regression"), std::string::npos) << out_.str();
  ASSERT_EQ(Run({"predict", Path("r.json"), Path("r.csv"), "--target", "y", "--weights", "w"}), 0)
      << err_.str();
  EXPECT_EQ(out_.str(), "prediction\n10\n20\n30.5\n40\n40\n");
  EXPECT_EQ(Run({"fit", Path("r.csv"), "--regression", "--target", "b", "--out", Path("x.json")}),
            2);
  EXPECT_NE(err_.str().find("row 0"), std::string::npos) << err_.str();
}

TEST_F(ForestCommand, WritesFractions) {
  ASSERT_EQ(Run({"fit", "iris", "--out", Path("i.json"), "--trees", "3", "--device", "cpu"}), 0);
  ASSERT_EQ(Run({"predict", Path("i.json"), "iris", "--proba"}), 0) << err_.str();
  EXPECT_EQ(out_.str().substr(0, 33), "setosa,versicolor,virginica\n1,0,0");
}

//! The tree SHAP family explains both formats: the values of a row and class add up to the answer.
TEST_F(ForestCommand, ShapReadsBothFormats) {
  const auto& verbs = harness::Verbs();
  const auto shap = std::find_if(verbs.begin(), verbs.end(),
                                 [](const auto& verb) { return verb.name == "shap"; });
  if (shap == verbs.end()) GTEST_SKIP() << "built without the treeshap family";
  Write("s.csv", "a,b,kind\n1,3,x\n2,,x\n8,1,y\n9,2,z\n4,4,z\n5,0,y\n");
  Write("rows.csv", "a,b\n1,3\n2,\n8,1\n9,2\n4,4\n5,0\n");
  for (const std::string format : {"retable", "xgboost"}) {
    ASSERT_EQ(Run({"fit", Path("s.csv"), "--out", Path("s.json"), "--trees", "9", "--format",
                   format, "--min-samples-leaf", "2", "--device", "cpu"}),
              0)
        << err_.str();
    std::ostringstream values, problems;
    ASSERT_EQ(shap->run({"--model", Path("s.json"), "--data", Path("rows.csv"), "--out",
                         Path("shap.csv"), "--device", "cpu", "--precision", "double"},
                        values, problems),
              0)
        << problems.str();
    // Lines: row, class, a value a feature and the base value; together the class's fraction.
    const auto table = harness::ReadCsv(Path("shap.csv"));
    ASSERT_EQ(table.rows.size(), 6u * 3u) << format;
    if (format == "retable") {
      ASSERT_EQ(
          Run({"predict", Path("s.json"), Path("rows.csv"), "--proba", "--out", Path("proba.csv")}),
          0);
    }
    const auto proba = harness::ReadCsv(Path("proba.csv"));
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      double sum = 0;
      for (std::size_t f = 2; f < table.header.size(); ++f) sum += *table.Number(table.rows[i], f);
      EXPECT_NEAR(sum, *proba.Number(proba.rows[i / 3], i % 3), 1e-6) << format;
    }
  }
}

TEST_F(ForestCommand, NamesWhatIsWrong) {
  EXPECT_EQ(Run({}), 1);
  EXPECT_EQ(Run({"fit", "iris"}), 1);
  EXPECT_EQ(Run({"fit", Path("nowhere.csv"), "--out", Path("x.json")}), 2);
  EXPECT_NE(err_.str().find("nowhere.csv"), std::string::npos);
  Write("bad.csv", "a,kind\n1,x\nword,y\n");
  EXPECT_EQ(Run({"fit", Path("bad.csv"), "--out", Path("x.json"), "--device", "cpu"}), 2);
  EXPECT_NE(err_.str().find("bad.csv:3"), std::string::npos) << err_.str();
  EXPECT_EQ(Run({"fit", Path("bad.csv"), "--target", "b", "--out", Path("x.json")}), 2);
  EXPECT_EQ(Run({"fit", "iris", "--rule", "mine", "--out", Path("x.json")}), 2);
}

}  // namespace
}  // namespace retable::experiments::forests

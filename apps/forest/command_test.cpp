#include "apps/forest/command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/temporary_folder.hpp"

namespace retable::experiments::forests {
namespace {

class ForestCommand : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return ForestMain(args, out_, err_);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }

  TemporaryFolder folder_;
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

// One class, one row, nothing that varies, equal rows with two classes: forests, if small ones.
TEST_F(ForestCommand, LearnsWhatLittleThereIs) {
  const auto fractions = [&](const std::string& text) {
    Write("few.csv", text);
    EXPECT_EQ(
        Run({"fit", Path("few.csv"), "--out", Path("few.json"), "--trees", "3", "--device", "cpu"}),
        0)
        << err_.str();
    EXPECT_EQ(Run({"predict", Path("few.json"), Path("few.csv"), "--target", "y", "--proba"}), 0);
    return out_.str();
  };
  EXPECT_EQ(fractions("a,y\n1,p\n2,p\n"), "p\n1\n1\n");
  EXPECT_EQ(fractions("a,y\n1,p\n"), "p\n1\n");
  EXPECT_EQ(fractions("a,y\n7,p\n7,q\n7,q\n7,q\n"),
            "p,q\n0.25,0.75\n0.25,0.75\n0.25,0.75\n0.25,0.75\n");
  EXPECT_EQ(fractions("a,y\n1,p\n5,p\n5,q\n"), "p,q\n1,0\n0.5,0.5\n0.5,0.5\n");
}

TEST_F(ForestCommand, RefusesMissingTargets) {
  for (const char* hole : {"", "?", "nan", "NaN"}) {
    Write("hole.csv", std::string("a,y\n1,2\n3,") + hole + "\n");
    for (const bool regression : {false, true}) {
      std::vector<std::string> fit{"fit", Path("hole.csv"), "--out", Path("x.json")};
      if (regression) fit.emplace_back("--regression");
      EXPECT_EQ(Run(fit), 2) << hole;
      EXPECT_NE(err_.str().find("target of row 1 is missing"), std::string::npos) << err_.str();
    }
  }
}

TEST_F(ForestCommand, WritesFractions) {
  ASSERT_EQ(Run({"fit", "iris", "--out", Path("i.json"), "--trees", "3", "--device", "cpu"}), 0);
  ASSERT_EQ(Run({"predict", Path("i.json"), "iris", "--proba"}), 0) << err_.str();
  EXPECT_EQ(out_.str().substr(0, 33), "setosa,versicolor,virginica\n1,0,0");
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
  const auto says = [&](const std::vector<std::string>& words, const std::string& what) {
    EXPECT_NE(Run(words), 0);
    EXPECT_NE(err_.str().find(what), std::string::npos) << err_.str();
  };
  Write("header.csv", "a,kind\n");
  Write("torn.json", "{\"format\":");
  const std::string here = folder_.path().string(), csv = Path("bad.csv"), x = Path("x.json");
  says({"fut"}, "unknown command \"fut\" (did you mean \"fit\"?");
  says({"fit", csv, "--tres", "3", "--out", x}, "unknown option --tres (did you mean \"--trees\"?");
  says({"fit", Path("nowhere.csv"), "--out", x}, "nowhere.csv: No such file");
  says({"fit", here, "--out", x}, "is neither an .arff nor a .csv file");
  says({"fit", Path("header.csv"), "--out", x}, "header.csv has no rows");
  says({"fit", "iris", "--trees", "1", "--out", here}, "Is a directory");
  says({"predict", Path("torn.json"), "iris"}, "torn.json: ");
  says({"predict", here, "iris"}, "Is a directory");
  EXPECT_FALSE(std::filesystem::exists(x));
}

}  // namespace
}  // namespace retable::experiments::forests

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <random>
#include <sstream>

#include "apps/verb_testing.hpp"
#include "base/atomic_file.hpp"
#include "base/csv/number.hpp"
#include "base/csv/reader.hpp"
#include "base/csv/writer.hpp"
#include "base/cuda/devices.hpp"
#include "base/npy/writer.hpp"
#include "base/oracle_testing.hpp"
#include "base/seed_testing.hpp"
#include "base/temporary_folder.hpp"

namespace retable::experiments::forests {
namespace {

class ForestCommand : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return RunVerbNamed("forest", args, out_, err_);
  }
  // Three trees for `file`, in the model's file.
  int Fit(const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words{"fit",     Path(file), "--out",    Path(model_),
                                   "--trees", "3",        "--device", "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  int Predict(const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", Path(model_), Path(file)};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  TemporaryFolder folder_;
  std::ostringstream out_, err_;
  std::string model_ = "model.json";
};

// The same in both forms that predict reads.
class ForestForms : public ForestCommand, public testing::WithParamInterface<const char*> {
 protected:
  ForestForms() { model_ = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Json, ForestForms, testing::Values("model.json"));
INSTANTIATE_TEST_SUITE_P(Binary, ForestForms, testing::Values("model.bin"));

TEST_F(ForestCommand, LearnsIrisAndPredictsIt) {
  ASSERT_EQ(Run({"fit", "iris", "--out", Path("iris.json"), "--trees", "5", "--device", "cpu"}), 0)
      << err_.str();
  EXPECT_NE(out_.str().find("5 trees on 150 rows, 4 features, 3 classes"), std::string::npos);
  ASSERT_EQ(Run({"predict", Path("iris.json"), "iris", "--out", Path("p.csv")}), 0) << err_.str();
  EXPECT_NE(out_.str().find("accuracy 1"), std::string::npos) << out_.str();
  ASSERT_EQ(Run({"predict", Path("iris.json"), "iris"}), 0) << err_.str();
  EXPECT_EQ(err_.str(), "150 predictions; accuracy 1\n");
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
  EXPECT_NE(err_.str().find("r.csv:2: the target"), std::string::npos) << err_.str();
}

TEST_F(ForestCommand, TreesHaveAtMostSoManyLeaves) {
  const auto fit = [this](const std::string& leaves) {
    return Run(
        {"fit", "iris", "--trees", "10", "--max-leaf-nodes", leaves, "--out", Path("m.json")});
  };
  EXPECT_EQ(fit("6"), 0) << err_.str();
  EXPECT_NE(out_.str().find(": 110 nodes"), std::string::npos) << out_.str();
  EXPECT_EQ(fit("1"), 2);
  EXPECT_NE(err_.str().find("max_leaf_nodes is 1: give 0 (no limit), or 2 or more"),
            std::string::npos)
      << err_.str();
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
      EXPECT_NE(err_.str().find("hole.csv:3: the target is missing"), std::string::npos)
          << err_.str();
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
  EXPECT_EQ(Run({"fit", "--help"}), 0);
  EXPECT_NE(out_.str().find("100"), std::string::npos) << "the default of --trees";
  EXPECT_EQ(Run({"fit", Path("nowhere.csv"), "--out", Path("x.json")}), 2);
  EXPECT_NE(err_.str().find("nowhere.csv"), std::string::npos);
  Write("bad.csv", "a,kind\n1,x\nword,y\n");
  EXPECT_EQ(Run({"fit", Path("bad.csv"), "--out", Path("x.json"), "--device", "cpu"}), 2);
  EXPECT_NE(err_.str().find("bad.csv:3"), std::string::npos) << err_.str();
  EXPECT_EQ(Run({"fit", Path("bad.csv"), "--target", "b", "--out", Path("x.json")}), 2);
  EXPECT_EQ(Run({"fit", Path("nowhere.csv"), "--rule", "mine", "--out", Path("x.json")}), 1);
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
  says({"fit", here, "--out", x}, "is neither .csv, .arff nor .npy");
  says({"fit", Path("header.csv"), "--out", x}, "header.csv has no rows");
  says({"fit", "iris", "--trees", "1", "--out", here}, "Is a directory");
  says({"predict", Path("torn.json"), "iris"}, "torn.json: ");
  says({"predict", Path("torn.json"), "iris", "--out", Path("p.parquet")},
       "is neither .csv nor .npy");
  Write("two.csv", "a,b,y\n1,2,0\n2,1,1\n");
  says({"fit", Path("two.csv"), "--target", "y", "--weights", "y", "--out", x},
       "two.csv: column \"y\" is named as the weights and as the target: name another");
  says({"fit", Path("two.csv"), "--weights", "y", "--out", x},
       "two.csv: the last column, \"y\", is the weights: name the target by --target");
  says({"fit", Path("two.csv"), "--out", x, "--devices", "-1"}, "not in range 0 to 1024");
  says({"fit", Path("two.csv"), "--out", x, "--devices", "2", "--device", "cpu"},
       "device cpu was asked for");
  if (WhyNoContext(true).any()) {
    says({"fit", Path("two.csv"), "--out", x, "--devices", "2"}, WhyNoContext(true).why);
  }
  ASSERT_EQ(Fit("two.csv", {}), 0) << err_.str();
  for (const std::string option : {"--target", "--weights"}) {
    says({"predict", Path(model_), Path("two.csv"), option, "a"}, "as a feature of the model");
  }
  says({"predict", here, "iris"}, "Is a directory");
  EXPECT_FALSE(std::filesystem::exists(x));
}

// --- Columns go by name -------------------------------------------------------------------------

// y is what a says; b, with the same range, says the contrary.
constexpr const char* kNamed = "a,b,y\n0,9,no\n1,8,no\n8,1,yes\n9,0,yes\n";

TEST_P(ForestForms, ColumnsGoByName) {
  Write("t.csv", kNamed);
  Write("turned.csv", "extra,y,b,a\n7,no,9,0\n7,no,8,1\n7,yes,1,8\n7,yes,0,9\n");
  ASSERT_EQ(Fit("t.csv", {"--target", "y", "--max-features", "2"}), 0) << err_.str();
  ASSERT_EQ(Predict("turned.csv", {"--target", "y", "--out", Path("p.csv")}), 0) << err_.str();
  EXPECT_NE(out_.str().find("accuracy 1"), std::string::npos) << out_.str();
  EXPECT_NE(err_.str().find("ignored column \"extra\""), std::string::npos) << err_.str();
  ASSERT_EQ(Predict("turned.csv", {}), 0);
  EXPECT_EQ(out_.str(), "prediction\nno\nno\nyes\nyes\n");
  Write("less.csv", "A,b,y\n0,9,no\n");
  EXPECT_EQ(Predict("less.csv", {"--target", "y"}), 2);
  EXPECT_NE(err_.str().find("less.csv has no column \"a\", a feature of the model"),
            std::string::npos)
      << err_.str();
  EXPECT_NE(err_.str().find("did you mean \"A\"?"), std::string::npos) << err_.str();
}

TEST_F(ForestCommand, ModelsWithoutNamesGoByPositionAndSayIt) {
  Write("t.csv", kNamed);
  ASSERT_EQ(Fit("t.csv", {"--target", "y"}), 0) << err_.str();
  std::string text = ReadWhole(Path("model.json"));
  const std::size_t from = text.find("\"feature_names\""), to = text.find("\"groups\"");
  ASSERT_LT(from, to);
  text.erase(from, to - from);
  Write("model.json", text);
  ASSERT_EQ(Predict("t.csv", {"--target", "y"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "prediction\nno\nno\nyes\nyes\n");
  EXPECT_NE(err_.str().find("columns go by position"), std::string::npos) << err_.str();
  EXPECT_EQ(Predict("t.csv", {}), 2);
  EXPECT_NE(err_.str().find("has 3 features, the forest 2"), std::string::npos) << err_.str();
}

std::string Arff(const std::string& kind, const std::string& rows) {
  return "@relation t\n@attribute kind " + kind + "\n@attribute y {no,yes}\n@data\n" + rows;
}

TEST_P(ForestForms, LevelsGoByText) {
  Write("t.arff", Arff("{a,b}", "a,no\na,no\nb,yes\nb,yes\n"));
  ASSERT_EQ(Fit("t.arff", {}), 0) << err_.str();
  Write("turned.arff", Arff("{c,b,a}", "a,no\na,no\nb,yes\nb,yes\n?,no\n"));
  ASSERT_EQ(Predict("turned.arff", {}), 0) << err_.str();
  EXPECT_EQ(out_.str().substr(0, 25), "prediction\nno\nno\nyes\nyes\n") << out_.str();
  Write("t.csv", "kind\nb\n\"a\"\nNA\n");
  ASSERT_EQ(Predict("t.csv", {}), 0) << err_.str();
  EXPECT_EQ(out_.str().substr(0, 18), "prediction\nyes\nno\n");
  Write("new.arff", Arff("{c,b,a}", "a,no\nc,no\n"));
  Write("new.csv", "kind\na\nc\n");
  Write("codes.csv", "kind\n0\n1\n");
  for (const char* file : {"new.arff", "new.csv", "codes.csv"}) {
    EXPECT_EQ(Predict(file, {}), 2) << file;
    EXPECT_NE(err_.str().find("which the model does not know"), std::string::npos) << err_.str();
  }
  EXPECT_NE(err_.str().find("codes.csv:2: column \"kind\""), std::string::npos) << err_.str();
}

TEST_P(ForestForms, LevelsThatAreNumbersMeetNumbers) {
  const std::string rows = "3,no\n5,no\n7,yes\n9,yes\n";
  Write("levels.arff", Arff("{9,7,5,3}", rows));
  Write("numbers.arff", Arff("numeric", rows));
  Write("t.csv", "kind,y\n3,no\n5.0,no\n7,yes\n9,yes\n");
  for (const char* fit : {"levels.arff", "numbers.arff", "t.csv"}) {
    ASSERT_EQ(Fit(fit, {"--target", "y"}), 0) << err_.str();
    for (const char* predict : {"levels.arff", "numbers.arff", "t.csv"}) {
      ASSERT_EQ(Predict(predict, {"--target", "y"}), 0) << err_.str();
      EXPECT_EQ(out_.str(), "prediction\nno\nno\nyes\nyes\n") << fit << " " << predict;
    }
  }
  Write("words.arff", Arff("{x,y}", "x,no\n"));
  EXPECT_EQ(Predict("words.arff", {}), 2);
  EXPECT_NE(err_.str().find("numbers in training"), std::string::npos) << err_.str();
}

TEST_F(ForestCommand, ItsXgboostFileSaysWhatItIs) {
  Write("t.csv", kNamed);
  ASSERT_EQ(Fit("t.csv", {"--format", "xgboost"}), 0) << err_.str();
  EXPECT_EQ(Predict("t.csv", {}), 2);
  EXPECT_NE(err_.str().find("model.json: a model in XGBoost's format"), std::string::npos)
      << err_.str();
  EXPECT_NE(err_.str().find("fit --format retable"), std::string::npos) << err_.str();
}

// --- Compact models and arrays -----------------------------------------------------------------

TEST_F(ForestCommand, BinaryModelsAnswerAsJson) {
  Write("t.csv", kNamed);
  const auto answer = [&](const std::string& model, const std::vector<std::string>& fit) {
    model_ = model;
    EXPECT_EQ(Fit("t.csv", fit), 0) << err_.str();
    EXPECT_EQ(Predict("t.csv", {"--target", "y", "--proba"}), 0) << err_.str();
    return out_.str();
  };
  const std::string want = answer("model.json", {});
  EXPECT_EQ(ReadWhole(Path("model.json")).substr(0, 1), "{");
  EXPECT_EQ(answer("model.bin", {}), want);
  EXPECT_EQ(ReadWhole(Path("model.bin")).substr(0, 8), "RTFOREST");
  EXPECT_EQ(answer("model", {"--format", "binary"}), want);
  EXPECT_EQ(ReadWhole(Path("model")), ReadWhole(Path("model.bin")));
  EXPECT_EQ(answer("text.bin", {"--format", "retable"}), want);
  EXPECT_EQ(ReadWhole(Path("text.bin")), ReadWhole(Path("model.json")));
  std::string bytes = ReadWhole(Path("model.bin"));
  for (const std::size_t length : {std::size_t{0}, std::size_t{5}, bytes.size() / 2}) {
    Write("model.bin", bytes.substr(0, length));
    model_ = "model.bin";
    EXPECT_EQ(Predict("t.csv", {}), 2);
    EXPECT_NE(err_.str().find("model.bin: the forest's bytes"), std::string::npos) << err_.str();
    EXPECT_NE(err_.str().find("written by fit"), std::string::npos) << err_.str();
  }
}

TEST_F(ForestCommand, ArraysAreLearntAndAnswered) {
  // The rows of kNamed with 1 and 2 for no and yes: in one array, with labels apart, and as CSV.
  const std::vector<float> x = {0, 9, 1, 8, 8, 1, 9, 0};
  Write("x.npy", NpyText(x, {4, 2}));
  Write("y.npy", NpyText<std::int64_t>({1, 1, 2, 2}, {4}));
  Write("last.npy", NpyText<double>({0, 9, 1, 1, 8, 1, 8, 1, 2, 9, 0, 2}, {4, 3}));
  Write("first.npy", NpyText<double>({1, 0, 9, 1, 1, 8, 2, 8, 1, 2, 9, 0}, {4, 3}));
  Write("t.csv", "a,b,y\n0,9,1\n1,8,1\n8,1,2\n9,0,2\n");
  ASSERT_EQ(Fit("t.csv", {}), 0);
  ASSERT_EQ(Predict("t.csv", {"--target", "y", "--proba"}), 0);
  const std::string want = out_.str();
  ASSERT_EQ(Predict("x.npy", {"--proba"}), 0) << err_.str();  // by position
  EXPECT_EQ(out_.str(), want);
  const std::vector<std::pair<std::string, std::vector<std::string>>> fits = {
      {"x.npy", {"--labels", Path("y.npy")}},
      {"last.npy", {}},
      {"first.npy", {"--target", "0"}},
      {"first.npy", {"--target", "0", "--format", "binary"}}};
  Write("zeros.npy", NpyText<double>({0.0, -0.0, 2, 2}, {4}));  // -0 is 0
  ASSERT_EQ(Fit("x.npy", {"--labels", Path("zeros.npy")}), 0) << err_.str();
  for (const auto& [data, more] : fits) {
    ASSERT_EQ(Fit(data, more), 0) << err_.str();
    EXPECT_EQ(err_.str(), "");
    ASSERT_EQ(Predict("x.npy", {"--proba"}), 0) << err_.str();
    EXPECT_EQ(out_.str(), want) << data;
    EXPECT_EQ(err_.str(), "");
    ASSERT_EQ(Predict("last.npy", {"--target", "2", "--out", Path("p.csv")}), 0) << err_.str();
    EXPECT_NE(out_.str().find("accuracy 1\n"), std::string::npos) << out_.str();
  }
  ASSERT_EQ(Predict("x.npy", {"--labels", Path("y.npy"), "--out", Path("p.npy")}), 0) << err_.str();
  EXPECT_NE(out_.str().find("accuracy 1\n"), std::string::npos) << out_.str();
  EXPECT_EQ(ReadWhole(Path("p.npy")), NpyText<std::int64_t>({1, 1, 2, 2}, {4}));
  ASSERT_EQ(Predict("x.npy", {"--proba", "--out", Path("p.npy")}), 0) << err_.str();
  EXPECT_EQ(ReadWhole(Path("p.npy")), NpyText<double>({1, 0, 1, 0, 0, 1, 0, 1}, {4, 2}));
  Write("z.npy", NpyText<double>({-1.5, -1.5, 3, 3}, {4, 1}));
  ASSERT_EQ(Fit("t.csv", {"--labels", Path("z.npy")}), 0) << err_.str();  // y is a feature
  ASSERT_EQ(Predict("t.csv", {"--out", Path("p.npy")}), 0) << err_.str();
  EXPECT_EQ(ReadWhole(Path("p.npy")), NpyText<double>({-1.5, -1.5, 3, 3}, {4}));
  ASSERT_EQ(Fit("x.npy", {"--labels", Path("z.npy"), "--regression"}), 0) << err_.str();
  ASSERT_EQ(Predict("x.npy", {"--out", Path("p.npy")}), 0) << err_.str();
  EXPECT_EQ(ReadWhole(Path("p.npy")), NpyText<double>({-1.5, -1.5, 3, 3}, {4}));
  ASSERT_EQ(Fit("x.npy", {"--labels", Path("y.npy"), "--format", "xgboost"}), 0) << err_.str();
  EXPECT_NE(ReadWhole(Path("model.json")).find("\"feature_names\":[]"), std::string::npos);
}

TEST_F(ForestCommand, ClassesThatAreNumbersAscend) {
  Write("x.npy", NpyText<float>({0, 1, 2, 3}, {4, 1}));
  Write("y.npy", NpyText<std::int64_t>({10, -1, -2, 9}, {4}));
  ASSERT_EQ(Fit("x.npy", {"--labels", Path("y.npy")}), 0) << err_.str();
  ASSERT_EQ(Predict("x.npy", {"--proba", "--out", Path("p.npy")}), 0) << err_.str();
  EXPECT_EQ(ReadWhole(Path("p.npy")),
            NpyText<double>({0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0}, {4, 4}));
  ASSERT_EQ(Fit("x.npy", {"--labels", Path("y.npy"), "--format", "xgboost"}), 0);
  EXPECT_NE(err_.str().find("are, in this order, classes \"-2\", \"-1\", \"9\", \"10\""),
            std::string::npos)
      << err_.str();
}

TEST_F(ForestCommand, ArraysMeetLevelsThatAreNumbers) {
  Write("t.arff", Arff("{9,7,red}", "9,no\n9,no\n7,yes\nred,yes\n"));
  ASSERT_EQ(Fit("t.arff", {}), 0) << err_.str();
  Write("x.npy", NpyText<double>({7, 9}, {2}));
  ASSERT_EQ(Predict("x.npy", {}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "prediction\nyes\nno\n");
  Write("x.npy", NpyText<double>({7, 2}, {2}));
  EXPECT_EQ(Predict("x.npy", {}), 2);
  EXPECT_NE(err_.str().find("x.npy: row 2: column \"kind\": \"2\", which the model does not know"),
            std::string::npos)
      << err_.str();
}

TEST_F(ForestCommand, NamesWhatIsWrongWithArrays) {
  const auto says = [&](int status, const std::string& what) {
    EXPECT_EQ(status, 2);
    EXPECT_NE(err_.str().find(what), std::string::npos) << err_.str();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Write("x.npy", NpyText<double>({0, 1, 2}, {3, 1}));
  Write("wide.npy", NpyText<double>({0, 1, 2, 3, 4, 5}, {3, 2}));
  Write("hole.npy", NpyText<double>({1, nan, 2}, {3}));
  Write("two.npy", NpyText<double>({1, 2}, {2}));
  Write("long.npy", NpyText<std::int64_t>({1, 2, (std::int64_t{1} << 53) + 1}, {3}));
  Write("inf.npy", NpyText<double>({1, 1e39, 3}, {3}));
  Write("y.csv", "y\n1\n2\n1\n");
  Write("x.parquet", "PAR1");
  Write("t.csv", kNamed);
  says(Fit("x.npy", {"--labels", Path("hole.npy")}), "hole.npy: row 2: the target is missing");
  says(Fit("x.npy", {"--labels", Path("two.npy")}), "two.npy has 2 x 1 labels, ");
  says(Fit("x.npy", {"--labels", Path("wide.npy")}), "wide.npy has 3 x 2 labels, ");
  says(Fit("x.npy", {"--labels", Path("long.npy")}), "beyond 2^53: save y.astype(float), or");
  says(Fit("x.npy", {"--labels", Path("y.csv")}), "is no .npy file");
  says(Fit("x.npy", {"--target", "1"}), "x.npy has no column \"1\", the target");
  says(Fit("inf.npy", {"--labels", Path("x.npy")}), "inf.npy: row 2: column \"0\" is infinite");
  says(Fit("x.parquet", {}), "pandas.read_parquet");
  EXPECT_EQ(Fit("x.npy", {"--labels", Path("x.npy"), "--target", "0"}), 1);
  ASSERT_EQ(Fit("t.csv", {}), 0);
  says(Predict("x.npy", {}), "x.npy has 1 features, the forest 2");
  says(Predict("wide.npy", {"--out", Path("p.npy")}), "the class \"no\" is a word");
  EXPECT_FALSE(std::filesystem::exists(Path("p.npy")));
  EXPECT_EQ(Predict("t.csv", {"--out", Path("p.parquet")}), 1);
  EXPECT_NE(err_.str().find("p.parquet is neither .csv nor .npy"), std::string::npos) << err_.str();
  EXPECT_FALSE(std::filesystem::exists(Path("p.parquet")));
}

// --- One dialect --------------------------------------------------------------------------------

TEST_F(ForestCommand, LinesWithAHashAreRows) {
  Write("t.csv", "#id,colour\n1,#f00\n2,#f00\n8,#0f0\n9,#0f0\n");
  ASSERT_EQ(Fit("t.csv", {}), 0) << err_.str();
  EXPECT_NE(out_.str().find("on 4 rows, 1 features"), std::string::npos) << out_.str();
  ASSERT_EQ(Predict("t.csv", {"--target", "colour"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "prediction\n\"#f00\"\n\"#f00\"\n\"#0f0\"\n\"#0f0\"\n");
}

TEST_P(ForestForms, ClassNamesAreQuotedWhereTheyMustBe) {
  Write("t.csv", "a,y\r\n1,\"x,1\"\r\n2,\"x,1\"\r\n8,\"l\r\nm\"\r\n9,\"say \"\"u\"\"\"\r\n");
  ASSERT_EQ(Fit("t.csv", {}), 0) << err_.str();
  ASSERT_EQ(Predict("t.csv", {}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "prediction\n\"x,1\"\n\"x,1\"\n\"l\r\nm\"\n\"say \"\"u\"\"\"\n");
  ASSERT_EQ(Predict("t.csv", {"--proba", "--out", Path("p.csv")}), 0) << err_.str();
  CsvRecords records(Path("p.csv"));
  EXPECT_EQ(CsvHeader(records).names, (std::vector<std::string>{"l\r\nm", "say \"u\"", "x,1"}));
}

TEST_F(ForestCommand, RefusesWhatTheDialectDoesNotKnow) {
  const auto says = [&](const std::string& text, const std::string& what) {
    Write("t.csv", text);
    EXPECT_EQ(Fit("t.csv", {}), 2) << text;
    EXPECT_NE(err_.str().find("t.csv:" + what), std::string::npos) << err_.str();
  };
  says("a,a,y\n1,2,x\n", "1: column \"a\" occurs twice");
  says("a,y\n1,x\n1e999,x\n", "3: column \"a\": \"1e999\" is beyond the largest number");
  says("a,y\n" + std::string(1000, '1') + ",x\n",
       "2: column \"a\": \"" + std::string(60, '1') + "...\" is beyond the largest number");
  says("a,y\n1e39,x\n", "2: column \"a\": \"1e39\" is beyond the largest number of 32 bits");
  says("a,y\n1,\xFC\n", "2: byte 3 is not UTF-8");
  says("5.1,3.5\n4,3\n", "1: numbers, not names; a header line");
  for (const char* hole : {"", "NA", "n/a", "null", "?", "NaN"}) {
    says(std::string("a,y\n1,x\n2,") + hole + "\n", "3: the target is missing");
  }
}

TEST_F(ForestCommand, WordsForMissingAreMissing) {
  std::string text = "a,y\n1,p\n2,p\n8,q\n9,q\n";
  for (const char* hole : {"", "NA", "n/a", "null", "?", "NaN"}) {
    text += std::string(hole) + ",q\n";
  }
  Write("t.csv", text);
  ASSERT_EQ(Fit("t.csv", {}), 0) << err_.str();
  ASSERT_EQ(Predict("t.csv", {}), 0) << err_.str();
}

TEST_F(ForestCommand, ClassesThatAreNumbersMeetWhateverTheirSpelling) {
  Write("t.csv", "a,y\n1,1.0\n2,1.0\n8,2.50\n9,2.50\n");
  Write("t.arff", "@relation t\n@attribute a real\n@attribute y real\n@data\n1,1\n9,2.5\n8,?\n");
  ASSERT_EQ(Fit("t.csv", {}), 0) << err_.str();
  ASSERT_EQ(Predict("t.arff", {"--target", "y", "--out", Path("p.csv")}), 0) << err_.str();
  EXPECT_NE(out_.str().find("accuracy 1 of 2 rows"), std::string::npos) << out_.str();
}

TEST_F(ForestCommand, OneNumberSpeltTwiceIsNotTwoClasses) {
  Write("t.csv", "a,y\n1,1\n2,1.0\n8,2\n");
  EXPECT_EQ(Fit("t.csv", {}), 2);
  EXPECT_NE(err_.str().find("the classes \"1\" and \"1.0\" are one number"), std::string::npos)
      << err_.str();
  Write("t.csv", "a,y\n1,1\n2, 1\n8,2\n");
  EXPECT_EQ(Fit("t.csv", {}), 2);
  EXPECT_NE(err_.str().find("the classes \" 1\" and \"1\" are one number"), std::string::npos)
      << err_.str();
}

TEST_F(ForestCommand, NumbersThatDoublesDoNotTellApartAreTwoClasses) {
  Write("t.csv", "a,y\n1,1152921504606846977\n9,1152921504606846978\n");
  ASSERT_EQ(Fit("t.csv", {}), 0) << err_.str();
  Write("swapped.csv", "a,y\n1,1152921504606846978\n9,1152921504606846978\n");
  ASSERT_EQ(Predict("swapped.csv", {"--target", "y", "--out", Path("p.csv")}), 0) << err_.str();
  EXPECT_NE(out_.str().find("accuracy 0.5"), std::string::npos) << out_.str();
  EXPECT_EQ(Predict("t.csv", {"--target", "y", "--out", Path("p.npy")}), 2);
}

TEST_F(ForestCommand, SaysWhereFloatsRoundNumbers) {
  // 2^60 + 1 is 2^60 in 64 bits already, which 32 bits hold.
  for (const std::string large : {"16777217", "1152921504606846977"}) {
    Write("t.csv", "id,y\n" + large + ",p\n3,q\n");
    Write("t.arff",
          "@relation r\n@attribute id real\n@attribute y {p,q}\n@data\n" + large + ",p\n3,q\n");
    for (const std::string file : {"t.csv", "t.arff"}) {
      ASSERT_EQ(Fit(file, {}), 0) << err_.str();
      EXPECT_NE(err_.str().find("column \"id\""), std::string::npos) << file << large;
      EXPECT_NE(err_.str().find("2^24"), std::string::npos) << err_.str();
    }
  }
}

TEST_F(ForestCommand, TargetsOfArffKeepTheirDigits) {
  const auto table = [](const std::string& a, const std::string& rows) {
    return "@relation t\n@attribute a " + a + "\n@attribute y real\n@data\n" + rows;
  };
  Write("t.arff", table("real", "1,16777216\n2,16777217\n3,0.123456789\n4,1e39\n"));
  ASSERT_EQ(Fit("t.arff", {}), 0) << err_.str();
  EXPECT_NE(out_.str().find("4 classes"), std::string::npos) << out_.str();
  const std::string names = "prediction\n16777216\n16777217\n0.123456789\n1e+39\n";
  ASSERT_EQ(Predict("t.arff", {"--target", "y"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), names);
  Write("t.arff", table("real", "1,16777216\n2,16777217\n3,0.123456789\n"));
  ASSERT_EQ(Fit("t.arff", {"--regression"}), 0) << err_.str();
  ASSERT_EQ(Predict("t.arff", {"--target", "y"}), 0) << err_.str();
  EXPECT_NE(out_.str().find("16777217\n0.1234567"), std::string::npos) << out_.str();
  Write("levels.arff", table("{0.1,0.2}", "0.1,1\n0.2,2\n"));
  Write("numbers.arff", table("real", "0.1,1\n0.2,2\n"));
  ASSERT_EQ(Fit("levels.arff", {}), 0) << err_.str();
  ASSERT_EQ(Predict("numbers.arff", {"--target", "y"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "prediction\n1\n2\n");
}

TEST_F(ForestCommand, WeightsThatAreLevelsAreTheirNumbers) {
  const std::string rows = "1,1,p\n1,5,q\n1,100,r\n";
  Write("t.csv", "a,w,y\n" + rows);
  ASSERT_EQ(Fit("t.csv", {"--weights", "w"}), 0) << err_.str();
  const std::string want = ReadWhole(Path("model.json"));
  for (const char* kind : {"{1,5,100}", "{100,1,5}", "string", "real"}) {
    Write("t.arff", std::string("@relation t\n@attribute a real\n@attribute w ") + kind +
                        "\n@attribute y {p,q,r}\n@data\n" + rows);
    ASSERT_EQ(Fit("t.arff", {"--weights", "w"}), 0) << err_.str();
    EXPECT_EQ(ReadWhole(Path("model.json")), want) << kind;
  }
  Write("t.arff",
        "@relation t\n@attribute a real\n@attribute w {1,x}\n@attribute y {p,q}\n@data\n"
        "1,1,p\n2,x,q\n");
  EXPECT_EQ(Fit("t.arff", {"--weights", "w"}), 2);
  EXPECT_NE(err_.str().find("t.arff: row 2: column \"w\": the weight \"x\" is no number"),
            std::string::npos)
      << err_.str();
}

// More values than are read in one part.
TEST_F(ForestCommand, WideArraysAreReadInParts) {
  constexpr std::size_t kRows = 1500, kColumns = 3000;
  std::vector<float> x, y;
  for (std::size_t i = 0; i < kRows; ++i) {
    y.push_back(static_cast<float>(i));
    x.insert(x.end(), kColumns, y[i]);
  }
  Write("x.npy", NpyText(x, {kRows, kColumns}));
  Write("y.npy", NpyText(y, {kRows}));
  ASSERT_EQ(Fit("x.npy", {"--labels", Path("y.npy"), "--regression", "--max-features", "1"}), 0)
      << err_.str();
  ASSERT_EQ(Predict("x.npy", {"--out", Path("p.npy")}), 0) << err_.str();
  EXPECT_EQ(ReadWhole(Path("p.npy")), NpyText(std::vector<double>(y.begin(), y.end()), {kRows}));
}

TEST_F(ForestCommand, NamesTheFileOfWhatNoForestLearns) {
  const auto says = [&](const std::string& text, const std::vector<std::string>& more,
                        const std::string& what) {
    Write("t.csv", text);
    EXPECT_EQ(Fit("t.csv", more), 2);
    EXPECT_NE(err_.str().find(what), std::string::npos) << err_.str();
  };
  says("a,y\n1,inf\n2,3\n", {"--regression"}, "t.csv:2: the target is infinite");
  says("y\n1\n2\n", {}, "t.csv has no feature");
  says("a;y\n1;p\n2;q\n", {}, "separate a .csv file's fields by commas");
  says("a,w,y\n1,0,p\n2,0,q\n", {"--weights", "w"}, "t.csv: the weights are all 0");
  std::string many = "a,y\n";
  for (int i = 0; i < 65536; ++i) many += "1," + std::to_string(i) + ".5\n";
  says(many, {}, "t.csv: the target has 65536 classes");
  EXPECT_NE(err_.str().find("--regression"), std::string::npos) << err_.str();
}

// Whatever the order of columns, the order of levels and the format, rows are answered alike.
class OracleForestCommand : public ForestCommand {
 protected:
  using Random = std::mt19937_64;
  struct Column {
    std::string name;
    std::vector<std::string> levels;  // none: numbers
    std::vector<std::string> fields;  // empty: missing
  };

  static std::string Nasty(Random& random) {
    static const std::vector<std::string> parts = {",", "\"",  "'",  " ", "#",  "\xC3\xBC",
                                                   "%", "{",   "}",  "?", "\n", "a",
                                                   "1", "0.5", "\\", "NA"};
    std::string text;
    for (std::size_t k = random() % 4; k > 0; --k) text += parts[random() % parts.size()];
    return text;
  }
  static std::string Number(Random& random) {
    const auto x = static_cast<float>(static_cast<double>(random() % 2001) / 100 - 10);
    return FormatNumber(static_cast<double>(random() % 50 == 0 ? x * 1e30f : x));
  }
  static std::vector<Column> Table(Random& random, std::size_t rows) {
    std::vector<Column> table(2 + random() % 4);
    for (std::size_t c = 0; c < table.size(); ++c) {
      Column& column = table[c];
      const bool target = c + 1 == table.size();
      column.name = Nasty(random) + "c" + std::to_string(c);
      if (target || random() % 2 == 0) {
        for (std::size_t k = 1 + random() % 4; k > 0; --k) {
          column.levels.push_back(Nasty(random) + "." + std::to_string(k));
        }
      }
      for (std::size_t r = 0; r < rows; ++r) {
        const bool missing = !target && random() % 8 == 0;
        column.fields.push_back(missing ? ""
                                : column.levels.empty()
                                    ? Number(random)
                                    : column.levels[random() % column.levels.size()]);
      }
    }
    return table;
  }
  static std::string ArffText(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return quoted + "'";
  }
  static std::string AsArff(const std::vector<Column>& table) {
    std::string text = "@relation r\n";
    for (const Column& column : table) {
      text += "@attribute " + ArffText(column.name) + (column.levels.empty() ? " real" : " {");
      for (std::size_t k = 0; k < column.levels.size(); ++k) {
        text += (k > 0 ? "," : "") + ArffText(column.levels[k]);
      }
      text += column.levels.empty() ? "\n" : "}\n";
    }
    text += "@data\n";
    for (std::size_t r = 0; r < table[0].fields.size(); ++r) {
      for (std::size_t c = 0; c < table.size(); ++c) {
        const std::string& field = table[c].fields[r];
        text += c > 0 ? "," : "";
        text += field.empty() ? "?" : table[c].levels.empty() ? field : ArffText(field);
      }
      text += "\n";
    }
    return text;
  }
  static std::string AsCsv(const std::vector<Column>& table) {
    std::ostringstream text;
    CsvWriter writer(text);
    for (const Column& column : table) writer.Field(column.name);
    writer.EndRow();
    for (std::size_t r = 0; r < table[0].fields.size(); ++r) {
      for (const Column& column : table) writer.Field(column.fields[r]);
      writer.EndRow();
    }
    return text.str();
  }
};

TEST_F(OracleForestCommand, OrderLevelsAndFormatDoNotMatter) {
  Random random(FreshSeed());
  OracleClock clock(1);
  while (clock.more() && !HasFailure()) {
    std::vector<Column> table = Table(random, 5 + random() % 20);
    const std::string target = table.back().name;
    Write("t.arff", AsArff(table));
    ASSERT_EQ(Fit("t.arff", {}), 0) << err_.str() << AsArff(table);
    ASSERT_EQ(Predict("t.arff", {"--target", target, "--proba"}), 0) << err_.str();
    const std::string answer = out_.str();
    if (random() % 2 == 0) {
      Column extra = table[0];
      extra.name = "extra";
      table.push_back(extra);
    }
    std::shuffle(table.begin(), table.end(), random);
    for (Column& column : table) {
      if (!column.levels.empty()) column.levels.push_back("more");
      std::shuffle(column.levels.begin(), column.levels.end(), random);
    }
    Write("turned.arff", AsArff(table));
    Write("turned.csv", AsCsv(table));
    for (const char* file : {"turned.arff", "turned.csv"}) {
      ASSERT_EQ(Predict(file, {"--target", target, "--proba"}), 0) << err_.str() << AsCsv(table);
      ASSERT_EQ(out_.str(), answer) << file << "\n" << AsArff(table);
      ASSERT_EQ(Predict(file, {"--proba"}), 0) << err_.str();
      ASSERT_EQ(out_.str(), answer) << file;
    }
  }
  std::cout << clock.cases() << " cases" << std::endl;
}

TEST_F(ForestCommand, RefusesInfinitiesAndWeightsByLine) {
  Write("t.csv", "a,w,y\n1,1,x\ninf,1,y\n");
  EXPECT_EQ(Fit("t.csv", {}), 2);
  EXPECT_NE(err_.str().find("t.csv:3: column \"a\" is infinite"), std::string::npos) << err_.str();
  for (const char* weight : {"-1", "", "inf"}) {
    Write("t.csv", std::string("a,w,y\n1,1,x\n2,") + weight + ",y\n");
    EXPECT_EQ(Fit("t.csv", {"--weights", "w"}), 2);
    EXPECT_NE(err_.str().find("t.csv:3: the weight is missing"), std::string::npos) << err_.str();
  }
  Write("x.npy", NpyText<double>({1, 2, 3, 4}, {4, 1}));
  Write("y.npy", NpyText<std::int64_t>({1, 1, 2, 2}, {4}));
  ASSERT_EQ(Fit("x.npy", {"--labels", Path("y.npy")}), 0) << err_.str();
  Write("x.npy", NpyText<double>({1, 1e300}, {2, 1}));
  EXPECT_EQ(Predict("x.npy", {}), 2);
  EXPECT_NE(err_.str().find("column \"0\" is infinite in 32 bits"), std::string::npos)
      << err_.str();
}

}  // namespace
}  // namespace retable::experiments::forests

#include "experiments/extratrees/forest_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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

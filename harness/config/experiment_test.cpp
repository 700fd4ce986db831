#include "harness/config/experiment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace retable::harness {
namespace {

namespace fs = std::filesystem;

// A root folder with experiments, removed at the end.
class ExperimentFolder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("retable_experiments_" + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    const fs::path file = root_ / "experiments" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  static std::string Toml(const std::string& id) {
    return "version = 1\nid = \"" + id +
           "\"\ntitle = \"t\"\nquestion = \"q\"\ncitation = \"c\"\nwhere = \"w\"\n"
           "protocol = \"toy\"\ndatasets = [\"iris\"]\nrepeats = 2\n"
           "[[algorithm]]\nname = \"a\"\n[profiles.paper]\nrepeats = 7\n";
  }

  fs::path root_;
};

TEST_F(ExperimentFolder, TomlsAreFoundInEveryFolderWithTheirPublishedCells) {
  Write("toy/flat.toml", Toml("toy/flat"));
  Write("toy/published/table1.toml", Toml("toy/table1"));
  Write("toy/published/table1.paper.csv", "row,column\n");
  Write("toy/beyond/faster.toml", Toml("toy/faster"));
  Write("toy/data/notes.txt", "no experiment");
  const auto all = LoadExperiments(root_.string(), {});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].id, "toy/flat");
  EXPECT_EQ(all[1].id, "toy/faster");
  EXPECT_EQ(all[2].id, "toy/table1");
  EXPECT_EQ(all[0].paper_file, "");
  EXPECT_EQ(all[2].paper_file, (root_ / "experiments/toy/published/table1.paper.csv").string());
}

TEST_F(ExperimentFolder, AnIdIsSpeltWithUnderscores) {
  for (const std::string id : {"toy/beyond-gpu", "my-toy/gpu", "toy/Gpu", "toy/a/b"}) {
    Write("toy/published/a.toml", Toml(id));
    try {
      LoadExperiments(root_.string(), {});
      FAIL() << "accepted " << id;
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("a-z, 0-9 and _"), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find("a.toml:2:"), std::string::npos) << error.what();
    }
  }
}

TEST_F(ExperimentFolder, AnIdInTwoFoldersIsAnErrorThatNamesBoth) {
  Write("toy/published/a.toml", Toml("toy/a"));
  Write("toy/beyond/a.toml", Toml("toy/a"));
  try {
    LoadExperiments(root_.string(), {});
    FAIL() << "accepted";
  } catch (const ConfigError& problem) {
    const std::string text = problem.what();
    EXPECT_NE(text.find("toy/published/a.toml"), std::string::npos) << text;
    EXPECT_NE(text.find("toy/beyond/a.toml"), std::string::npos) << text;
  }
}

TEST_F(ExperimentFolder, AnotherProfileNeedsNoFile) {
  Write("toy/a.toml", Toml("toy/a"));
  const Experiment quick = LoadExperiments(root_.string(), {}).at(0);
  fs::remove_all(root_);
  Overrides paper;
  paper.profile = "paper";
  const Experiment other = WithOverrides(quick, paper);
  EXPECT_EQ(quick.repeats, 2);
  EXPECT_EQ(other.repeats, 7);
  EXPECT_EQ(other.file, quick.file);
  paper.repeats = 3;
  EXPECT_EQ(WithOverrides(quick, paper).repeats, 3);
}

// What an experiment of one more text is refused for; empty where it is accepted.
std::string Refusal(const std::string& more) {
  try {
    ParseExperiment(
        "version = 1\nid = \"toy/a\"\ntitle = \"t\"\nquestion = \"q\"\ncitation = \"c\"\n"
        "protocol = \"toy\"\ndatasets = [\"iris\"]\n[[algorithm]]\nname = \"a\"\n" +
            more,
        "a.toml");
    return "";
  } catch (const ConfigError& problem) {
    return problem.what();
  }
}

TEST(ParseExperiment, AColumnIsMadeOfColumnsBeforeIt) {
  const auto with = [](const std::string& column) {
    return Refusal("[table]\ncolumns = [\n { name = \"one\", metric = \"m\" },\n { name = \"x\", " +
                   column + " },\n { name = \"later\", metric = \"m\" },\n]\n");
  };
  for (const char* right :
       {"least = [\"one\"]", "ratio = [\"one\", \"one\"]", "interval = \"one\""}) {
    EXPECT_EQ(with(right), "");
  }
  for (const char* wrong : {"least = [\"onee\", \"one\"]", "ratio = [\"one\", \"onee\"]",
                            "ratio = [\"onee\", \"one\"]", "interval = \"onee\""}) {
    const std::string text = with(wrong);
    EXPECT_NE(text.find("a.toml:13:"), text.npos) << text;
    EXPECT_NE(text.find("no column before it is called \"onee\" (did you mean \"one\"?"), text.npos)
        << text;
  }
  EXPECT_NE(with("ratio = [\"one\", \"later\"]"), "");
  EXPECT_NE(with("ratio = [\"x\", \"one\"]"), "");
}

TEST(ParseExperiment, AClaimOfAWrongTypeOrOfATakenIdIsRefused) {
  const auto claim = [](const std::string& check) {
    return "[[claim]]\nid = \"i\"\ntext = \"t\"\nwhere = \"w\"\ncheck = '" + check + "'\n";
  };
  EXPECT_EQ(Refusal(claim("1 < 2")), "");
  const std::string type = Refusal(claim(R"(cell("a", "b") + 1)"));
  EXPECT_NE(type.find("a.toml:14:"), type.npos) << type;
  EXPECT_NE(type.find("expected true or false but found a number"), type.npos) << type;
  const std::string twice = Refusal(claim("1 < 2") + claim("2 < 3"));
  EXPECT_NE(twice.find("a.toml:16:"), twice.npos) << twice;
  EXPECT_NE(twice.find("two claims are called \"i\""), twice.npos) << twice;
}

TEST(LoadExperiments, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(LoadExperiments("/nonexistent", {}), ConfigError);
}

// What a text is refused with; empty where it is taken.
std::string WhyRefused(const std::string& text, const Overrides& overrides = {}) {
  try {
    WithOverrides(ParseExperiment(text, "probe.toml"), overrides);
  } catch (const ConfigError& problem) {
    return problem.what();
  }
  return "";
}

const std::string kDrawn =
    "version = 1\nid = \"toy/a\"\ntitle = \"t\"\nquestion = \"q\"\ncitation = \"c\"\n"
    "protocol = \"toy\"\ndatasets = [\"iris\"]\n[axes]\nsize = [1, 2]\n[[algorithm]]\nname = "
    "\"a\"\n"
    "[table]\ncolumns = [{ name = \"Leaves\", fact = \"leaves\" }]\n[figure]\n";

TEST(Figures, AreDrawnAlongAxesThatThereAre) {
  EXPECT_EQ(WhyRefused(kDrawn + "kind = \"line\"\nx = \"size\"\npanel = \"dataset, size\"\n"), "");
  EXPECT_EQ(
      WhyRefused(kDrawn + "kind = \"line\"\nx = \"szie\"\n")
          .find("probe.toml:16:1: figure.x: no axis is called \"szie\" (did you mean \"size\"?"),
      0u);
  EXPECT_EQ(WhyRefused(kDrawn + "kind = \"bar\"\npanel = \"size, datset\"\n")
                .find("probe.toml:16:1: figure.panel: no axis is called \"datset\" (did you mean"),
            0u);
}

TEST(Figures, NameTheirMetricsWithThoseOfTheColumns) {
  const Experiment e = ParseExperiment(
      kDrawn + "kind = \"line\"\nmetric = \"a\"\nthresholds = \" b : limit; c;; : d; :\"\n",
      "probe.toml");
  std::string names;
  for (const auto& [name, where] : e.metrics) names += name + " " + where.text() + ";";
  EXPECT_EQ(names, "a probe.toml:16:1;b probe.toml:17:1;c probe.toml:17:1;");
}

TEST(Figures, ScatterIsDrawnAlongColumnsToo) {
  EXPECT_EQ(WhyRefused(kDrawn + "kind = \"scatter\"\nx = \"Leaves; size\"\nper = \"Leaves\"\n"),
            "");
  EXPECT_EQ(WhyRefused(kDrawn + "kind = \"scatter\"\nx = \"Leaves\"\nper = \"size; Leafs\"\n")
                .find("probe.toml:17:1: figure.per: no axis or column is called \"Leafs\""),
            0u);
}

TEST(ParseExperiment, NumbersAreFinite) {
  EXPECT_EQ(WhyRefused("budget = -inf\n").find("probe.toml:1:10: nan and inf are no values"), 0u);
}

TEST(Overrides, DoNotChangeProfilesWhichWouldBeLeftOutUnsaid) {
  EXPECT_EQ(WhyRefused(kDrawn + "kind = \"line\"\n", {.assignments = {"repeats=3"}}), "");
  EXPECT_EQ(
      WhyRefused(kDrawn + "kind = \"line\"\n", {.assignments = {"profiles.quick.repeats=3"}})
          .find("--set profiles.quick.repeats=3: a profile is changed in the experiment's file"),
      0u);
}

TEST(Overrides, SweepOverSomething) {
  for (const std::string nothing : {"datasets=[]", "algorithm=[]", "axes.size=[]"}) {
    EXPECT_EQ(WhyRefused(kDrawn + "kind = \"line\"\n", {.assignments = {nothing}})
                  .find("--set " + nothing + ": an empty array sweeps over nothing"),
              0u);
  }
}

}  // namespace
}  // namespace retable::harness

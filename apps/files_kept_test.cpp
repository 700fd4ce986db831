// What no verb may touch: recorded results, folders that are no place for results, and the files
// that a verb reads.

#include <map>

#include "apps/program_testing.hpp"

namespace retable {
namespace {

using Files = std::map<std::string, std::string>;  // content by path

Files FilesOf(const fs::path& folder) {
  Files files;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.is_regular_file()) files[fs::relative(file, folder).string()] = Slurp(file);
  }
  return files;
}

const std::string kJudged =
    kGood +
    "[[claim]]\nid = \"one\"\ntext = \"good is 1\"\ncheck = 'cell(\"good\", \"product\") == 1'\n"
    "[[claim]]\nid = \"two\"\ntext = \"good is 2\"\ncheck = 'cell(\"good\", \"product\") == 2'\n";

class FilesKept : public Program {
 protected:
  void WriteJudged() {
    Write(kJudged);
    std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
        << "row,column,value,unit,kind,tolerance,page,table,note\n"
           "good,product,1.05,1,accuracy,0.1,3,Table 1,\n";
  }

  // A run of which the cells have gone, of a recording without an archive.
  void Record() {
    WriteJudged();
    ASSERT_EQ(RunProbe().code, 0);
    fs::remove_all(root_ / "out/cells");
    fs::remove(root_ / "out/.lock");
  }

  // A little of what the user's verbs read.
  void WriteTable() {
    std::ofstream csv(root_ / "x.csv");
    csv << "a,b,y\n";
    for (int i = 0; i < 40; ++i) csv << i % 7 << "," << i % 5 << "," << i % 2 << "\n";
  }
};

TEST_F(FilesKept, CheckJudgesARecordedFolderByItsTablesAndWritesNothing) {
  Record();
  const Files before = FilesOf(root_ / "out");
  const Result check = Run("check --out out");
  EXPECT_EQ(check.code, 0) << check.text;
  EXPECT_EQ(FilesOf(root_ / "out"), before);
  ExpectContains(check.text, "MATCH             1");
  ExpectContains(check.text, "HOLDS             1");
  ExpectContains(check.text, "NOT-RUN           0");
  ExpectContains(check.text,
                 "fails without a note: selftest/probe two: good is 2 (cell(good, product) = 1)");
  ExpectContains(check.text, "the cells are not in the folder: judged from the recorded tables");
  const Result strict = Run("check --out out --strict");
  EXPECT_EQ(strict.code, 4);
  ExpectContains(strict.text, "error: 1 failing claim without a note");
  fs::create_directory(root_ / "out/cells");
  EXPECT_EQ(Run("check --out out").text, check.text);
}

TEST_F(FilesKept, ANoteStandsOnTheTerminalWithoutTheReferencesOfItsFigures) {
  Write(kJudged + "note = \"It is 1{cell('good', 'product')}, not 2{paper}; {this} stays.\"\n");
  ASSERT_EQ(RunProbe().code, 0);
  ExpectContains(Run("check --out out").text, "Known: It is 1, not 2; {this} stays.");
}

// Published cells, claims and layout may change after the recording.
TEST_F(FilesKept, CheckJudgesARecordedFolderByTheExperimentOfToday) {
  Record();
  Write(Replaced(kGood, "columns = [",
                 "columns = [{ name = \"least\", metric = \"product\", statistic = \"min\" }, ") +
        "[[claim]]\nid = \"three\"\ntext = \"the least is 1\"\ncheck = 'cell(\"good\", "
        "\"least\") == 1'\n");
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance,page,table,note\n"
         "good,product,<=0.5,1,bound,,3,Table 1,\ngood,least,1,1,setting,0,3,Table 1,\n";
  const Files before = FilesOf(root_ / "out");
  const Result check = Run("check --out out");
  ExpectContains(check.text, "MATCH             0");
  ExpectContains(check.text, "MISMATCH          1");
  ExpectContains(check.text, "hyperparameters)\n  MATCH             1\nclaims");
  ExpectContains(check.text, "HOLDS             1");
  EXPECT_EQ(FilesOf(root_ / "out"), before);
  // Written where it is asked for; then the folder alone says the same.
  EXPECT_EQ(Run("check --out out --rewrite").text, check.text);
  const Files after = FilesOf(root_ / "out");
  EXPECT_EQ(after.at("selftest/probe.tidy.csv"), before.at("selftest/probe.tidy.csv"));
  ExpectContains(after.at("claims.csv"), "three,the least is 1,,HOLDS");
  ExpectContains(after.at("verdicts.csv"), "bound,<=0.5,1,1,2,MISMATCH");
  ExpectContains(after.at("selftest/probe.csv"), "least");
  fs::remove(root_ / "experiments/selftest/probe.toml");
  EXPECT_EQ(Run("check --out out").text, check.text);
  EXPECT_EQ(Run("check --out out --rewrite").text, check.text);
  EXPECT_EQ(FilesOf(root_ / "out"), after);
}

TEST_F(FilesKept, OnlyRecordedFoldersAreRewritten) {
  WriteJudged();
  ASSERT_EQ(RunProbe().code, 0);
  const Result result = Run("check --out out --rewrite");
  EXPECT_EQ(result.code, 1);
  ExpectContains(result.text, "--rewrite is for those");
}

TEST_F(FilesKept, CheckWritesNothingIntoAFolderOfItsOwnEither) {
  WriteJudged();
  ASSERT_EQ(RunProbe().code, 0);
  fs::remove(root_ / "out/verdicts.csv");
  const Files before = FilesOf(root_ / "out");
  ExpectContains(Run("check --out out").text, "HOLDS             1");
  EXPECT_EQ(FilesOf(root_ / "out"), before);
}

TEST_F(FilesKept, ARecordedFolderIsJudgedAnewWithoutItsVerdictsAndNotWithoutItsTable) {
  Record();
  const std::string text = Run("check --out out").text;
  fs::remove(root_ / "out/claims.csv");
  fs::remove(root_ / "out/verdicts.csv");
  EXPECT_EQ(Run("check --out out").text, text);
  fs::remove(root_ / "out/selftest/probe.tidy.csv");
  const Result check = Run("check --out out");
  EXPECT_EQ(check.code, 1);
  ExpectContains(check.text, "neither the cells of selftest/probe are here nor out/selftest/probe");
}

TEST_F(FilesKept, NoVerbWritesIntoARecordedFolder) {
  Record();
  const Files before = FilesOf(root_ / "out");
  for (const char* words : {"report --out out", "run selftest/probe --out out",
                            "noise selftest/probe --out out", "doctor --out out"}) {
    const Result result = Run(words);
    EXPECT_EQ(result.code, 1) << words << "\n" << result.text;
    ExpectContains(result.text, "out holds recorded results without their cells");
    EXPECT_EQ(FilesOf(root_ / "out"), before) << words;
  }
}

TEST_F(FilesKept, AReportOfARecordedFolderGoesToAnother) {
  Record();
  const Files before = FilesOf(root_ / "out");
  // The tables are there even where nothing draws: this folder has no plots/report.py.
  Run("report --out out --to page");
  EXPECT_EQ(FilesOf(root_ / "out"), before);
  const Files page = FilesOf(root_ / "page");
  for (const auto& [name, content] : before) {
    ASSERT_TRUE(page.contains(name)) << name;
    EXPECT_EQ(page.at(name), content) << name;
  }
  ExpectContains(Run("check --out page").text, "HOLDS             1");
  ExpectContains(Run("report --out out --to page").text, "page is not an empty folder");
  ExpectContains(Run("report --out out --to out/page").text, "out/page is inside of out");
  EXPECT_EQ(FilesOf(root_ / "out"), before);
}

TEST_F(FilesKept, VerbsThatReadMakeNoFolder) {
  Write(kGood);
  for (const char* words : {"record x --out none", "report --out none --to page",
                            "report --out none", "check --out none", "explain --out none 0",
                            "compare none none", "run selftest/probe --out none --dry-run"}) {
    const Result result = Run(words);
    EXPECT_EQ(result.code, std::string(words).starts_with("run") ? 0 : 1) << words << result.text;
    EXPECT_FALSE(fs::exists(root_ / "none")) << words;
    EXPECT_FALSE(fs::exists(root_ / "page")) << words;
  }
}

// A run of one experiment keeps the tables of another whose cells have gone.
TEST_F(FilesKept, ARunKeepsTheTablesWhoseCellsHaveGone) {
  WriteJudged();
  ASSERT_EQ(RunProbe().code, 0);
  const std::string table = Slurp(root_ / "out/selftest/probe.csv");
  const std::string tidy = Slurp(root_ / "out/selftest/probe.tidy.csv");
  const std::string claims = Slurp(root_ / "out/claims.csv");
  fs::remove_all(root_ / "out/cells");
  fs::create_directory(root_ / "out/cells");
  Write(Replaced(Replaced(kGood, "selftest/probe", "selftest/other"), "label = \"good\"\n",
                 "label = \"good\"\nk = 9\n"),
        "other");
  // As an earlier program would have left it: the folder has cells, but not those.
  std::ofstream(root_ / "out/cells/other.json") << "{}";
  const Result run = Run("run selftest/other --out out");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.csv"), table);
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.tidy.csv"), tidy);
  EXPECT_EQ(Slurp(root_ / "out/claims.csv"), claims);
  ExpectContains(Slurp(root_ / "out/selftest/other.csv"), "good,9");
}

// The repository's own recorded runs: what they say by themselves, and that they stay. That they
// say what the experiments of today ask is in recording_test.cpp of the harness.
TEST_F(FilesKept, OurRecordedRunsAreJudgedAsTheyWereAndStay) {
  for (const auto& machine : fs::directory_iterator(RETABLE_SOURCE_DIR "/results/recorded")) {
    if (fs::exists(machine.path() / "cells.tar.zst")) continue;  // RecordedRuns makes them again
    const fs::path copy = root_ / machine.path().filename();
    fs::copy(machine.path(), copy, fs::copy_options::recursive);
    const Files before = FilesOf(copy);
    const auto count = [](const std::string& text, const std::string& word) {
      int n = 0;
      for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
      return n;
    };
    const std::string claims = before.at("claims.csv");
    const Result check = Run("check --out '" + copy.string() + "'");
    EXPECT_EQ(check.code, 0) << check.text;
    for (const char* verdict : {"HOLDS", "FAILS", "NO-DATA"}) {
      const int wanted = count(claims, fmt::format(",{},", verdict));
      const auto tally = check.text.substr(check.text.find("claims\n"));
      ExpectContains(tally, fmt::format("  {:<13}{:>6}\n", verdict, wanted));
    }
    EXPECT_EQ(FilesOf(copy), before) << copy;
  }
}

TEST_F(FilesKept, RootHomeNothingAndSourcesAreNoFolderForResults) {
  Write(kGood);
  const Files source = {{"CMakeLists.txt", "project(x)\n"}, {"part/code.cpp", "int x;\n"}};
  for (const auto& [name, content] : source) {
    fs::create_directories((root_ / "source" / name).parent_path());
    std::ofstream(root_ / "source" / name) << content;
  }
  fs::create_directory(root_ / "home");
  const char* home = std::getenv("HOME");
  const std::string kept = home != nullptr ? home : "";
  setenv("HOME", (root_ / "home").c_str(), 1);
  for (const std::string verb : {"run selftest/probe", "run selftest/probe --dry-run", "check",
                                 "report", "report --out out --to", "noise selftest/probe",
                                 "explain 00", "doctor", "compare --programs a b selftest/probe"}) {
    const std::string option = verb.ends_with("--to") ? " " : " --out ";
    for (const char* folder : {"''", "/", "/../", "home", "./home/", "source", "source/part"}) {
      const Result result = Run(verb + option + folder);
      EXPECT_EQ(result.code, 1) << verb << " " << folder << "\n" << result.text;
    }
  }
  home != nullptr ? setenv("HOME", kept.c_str(), 1) : unsetenv("HOME");
  EXPECT_EQ(FilesOf(root_ / "source"), source);
  EXPECT_TRUE(fs::is_empty(root_ / "home"));
  EXPECT_FALSE(fs::exists("/cells"));
  EXPECT_FALSE(fs::exists("/environment.json"));
  EXPECT_EQ(Run("run selftest/probe --out source/results/new").code, 0);
  EXPECT_EQ(Run("run selftest/probe --out source/results/new").code, 0);
}

// Each verb that reads a file and writes one, and the names by which the file may be called.
TEST_F(FilesKept, NoVerbWritesOverAFileThatItReads) {
  WriteTable();
  ASSERT_EQ(Run("forest fit x.csv --target y --trees 2 --device cpu --out m.json").code, 0);
  for (const char* name : {"x.csv", "m.json"}) {
    fs::create_hard_link(root_ / name, root_ / (std::string("hard-") + name));
    fs::create_symlink(root_ / name, root_ / (std::string("link-") + name));
  }
  fs::create_directory_symlink(root_, root_ / "here");
  const Files before = FilesOf(root_);
  const std::string shap = "shap --device cpu --model m.json --data x.csv --ignore y";
  const std::string predict = "forest predict m.json x.csv --target y";
  const std::map<std::string, std::string> verbs = {
      {shap, "x.csv"},
      {shap + " ", "m.json"},
      {"shap --device cpu --model m.json --data here/x.csv --ignore y --background x.csv", "x.csv"},
      {predict, "x.csv"},
      {predict + " ", "m.json"},
      {"forest fit x.csv --target y --trees 2 --device cpu", "x.csv"},
      {"shuffle rows --in x.csv", "x.csv"}};
  for (const auto& [verb, file] : verbs) {
    for (const std::string& name :
         {file, "./" + file, "here/" + file, "hard-" + file, "link-" + file}) {
      const Result result = Run(verb + " --out " + name);
      EXPECT_EQ(result.code, 1) << verb << " " << name << "\n" << result.text;
      ExpectContains(result.text, "is read and would be overwritten");
    }
    EXPECT_EQ(FilesOf(root_), before) << verb;
    EXPECT_EQ(Run(verb + " --out new").code, 0) << verb;
    fs::remove(root_ / "new");
  }
  // Standard input under another name.
  EXPECT_EQ(Run("shuffle rows --in /dev/stdin --out x.csv < x.csv #").code, 1);
  EXPECT_EQ(FilesOf(root_), before);
}

TEST_F(FilesKept, AMirrorIsNotMadeOfTheCacheInItself) {
  fs::create_directories(root_ / "cache/openml");
  for (const char* folder : {"cache", "cache/openml", "''", "/"}) {
    EXPECT_EQ(Run(std::string("datasets mirror ") + folder).code, 1) << folder;
  }
  EXPECT_TRUE(fs::is_empty(root_ / "cache/openml"));
  EXPECT_EQ(Run("datasets mirror mirror").code, 0);
}

}  // namespace
}  // namespace retable

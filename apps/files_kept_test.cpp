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

  // A run of which the cells have gone.
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

TEST_F(FilesKept, ANoteStandsOnTheTerminalWithoutTheReferencesOfItsFigures) {
  Write(kJudged + "note = \"It is 1{cell('good', 'product')}, not 2{paper}; {this} stays.\"\n");
  ASSERT_EQ(RunProbe().code, 0);
  ExpectContains(Run("check --out out").text, "Known: It is 1, not 2; {this} stays.");
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

TEST_F(FilesKept, TablesAreNotJudgedWithoutTheirCells) {
  Record();
  // Of a recording that has lost its archive, too.
  for (const char* lost : {"", "selftest/probe.meta.json"}) {
    if (*lost != 0) fs::remove(root_ / "out" / lost);
    const Files before = FilesOf(root_ / "out");
    for (const char* words :
         {"check --out out", "check --out out --strict", "check --out out --rewrite",
          "report --out out", "report --out out --to page"}) {
      const Result result = Run(words);
      EXPECT_EQ(result.code, 1) << words << "\n" << result.text;
      ExpectContains(result.text, "out: its cells are not there");
      ExpectContains(result.text, "copy it again with its cells/");
      EXPECT_EQ(FilesOf(root_ / "out"), before) << words;
      EXPECT_FALSE(fs::exists(root_ / "page")) << words;
    }
  }
}

TEST_F(FilesKept, NoVerbWritesIntoARecordedFolder) {
  Record();
  const Files before = FilesOf(root_ / "out");
  for (const char* words : {"run selftest/probe --out out", "noise selftest/probe --out out",
                            "doctor --out out", "record x --out out"}) {
    const Result result = Run(words);
    EXPECT_EQ(result.code, 1) << words << "\n" << result.text;
    ExpectContains(result.text, "out holds recorded results without their cells");
    EXPECT_EQ(FilesOf(root_ / "out"), before) << words;
  }
}

TEST_F(FilesKept, AReportGoesToAFolderOfItsOwn) {
  WriteJudged();
  ASSERT_EQ(RunProbe().code, 0);
  const Files before = FilesOf(root_ / "out");
  // The tables are there even where nothing draws: this folder has no plots/report.py.
  Run("report --out out --to page");
  EXPECT_EQ(FilesOf(root_ / "out"), before);
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

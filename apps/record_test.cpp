// `retable record` and what reads a recording: explain, check, report, run --resume-from.

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <vector>

#include "apps/program_testing.hpp"

namespace retable {
namespace {

using nlohmann::json;

const std::string kTwoTimes =
    Replaced(std::string(kHead), "title =", "exclusive = true\ntitle =") +
    "[[algorithm]]\nname = \"simulated\"\nlabel = \"simulated {k}\"\nk = [1, 2]\n" +
    "[figure]\nkind = \"bar\"\nmetric = \"time\"\n" +
    "[table]\nrows = \"{label}\"\ncolumns = [{ name = \"time\", metric = \"time\" }]\n"
    "[[claim]]\nid = \"some\"\ntext = \"it takes time\"\ncheck = 'cell(\"simulated 1\", \"time\") "
    "> "
    "0'\n";

std::string Sha256Of(const std::string& bytes, const fs::path& folder) {
  const fs::path file = folder / "hashed";
  std::ofstream(file, std::ios::binary) << bytes;
  FILE* pipe = popen(("sha256sum '" + file.string() + "'").c_str(), "r");
  char buffer[65] = {};
  if (pipe == nullptr || fgets(buffer, sizeof buffer, pipe) == nullptr) ADD_FAILURE();
  if (pipe != nullptr) pclose(pipe);
  fs::remove(file);
  return buffer;
}

class Records : public Program {
 protected:
  // A `git` that knows one commit, so that the tests are of no tree but this.
  void SetUp() override {
    Program::SetUp();
    fs::create_directories(root_ / "bin");
    SetCommit('c');
    fs::permissions(root_ / "bin/git", fs::perms::owner_all);
    path_ = std::getenv("PATH");
    setenv("PATH", ((root_ / "bin").string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    Program::TearDown();
  }

  void SetCommit(char digit) {
    std::ofstream(root_ / "bin/git")
        << "#!/bin/sh\ncase \"$*\" in *rev-parse*) echo " << std::string(40, digit) << ";; esac\n";
  }

  // The cells of a folder as if their program had been built where it ran, or otherwise; `key`: as
  // an older program noted it.
  void Built(const fs::path& folder, bool dirty = false, const std::string& commit = "",
             const char* key = "built") {
    for (const auto& run : Entries(folder / "runs")) {
      json environment = json::parse(Slurp(run));
      json& git = environment["git"];
      git.erase("built");
      git[key] = {{"commit", commit.empty() ? git["commit"] : json(commit)}, {"dirty", dirty}};
      const std::string text = environment.dump(1);
      const std::string old = run.stem(), hash = Sha256Of(text, root_).substr(0, 16);
      fs::remove(run);
      std::ofstream(folder / "runs" / (hash + ".json")) << text << "\n";
      for (const auto& cell : Entries(folder / "cells")) {
        std::string body = Slurp(cell);
        if (body.find(old) == body.npos) continue;
        body = Replaced(body.substr(body.find('\n', body.find('\n') + 1) + 1), old, hash);
        std::ofstream(cell) << "{\n \"sha256\": \"" << Sha256Of(body, root_) << "\",\n" << body;
      }
    }
    // What a program of a changed tree, as that of these tests may be, noted beside its tables.
    const fs::path meta = folder / "selftest/probe.meta.json";
    const std::string noted = std::regex_replace(Slurp(meta), std::regex("\\+changes"), "");
    std::ofstream(meta) << noted;
  }

  static std::vector<fs::path> Entries(const fs::path& folder) {
    std::vector<fs::path> all;
    for (const auto& file : fs::directory_iterator(folder)) all.push_back(file.path());
    return all;
  }

  // A recording "here" of two cells.
  void Record() {
    Write(kTwoTimes);
    ASSERT_EQ(RunProbe().code, 0);
    Built(root_ / "out");
    const Result result = Run("record here --out out");
    ASSERT_EQ(result.code, 0) << result.text;
    ExpectContains(result.text, "2 cells of commit cccccccccccc, ");
  }

  std::string Key() const { return Entries(root_ / "out/cells").front().stem(); }

  fs::path Here() const { return root_ / "results/recorded/here"; }

  // The same words, and numbers but for what samples of seven digits change, in their spread too.
  static void ExpectSameTable(std::string a, std::string b) {
    std::ranges::replace(a, ',', ' ');
    std::ranges::replace(b, ',', ' ');
    std::stringstream one(a), other(b);
    std::string x, y;
    while (one >> x) {
      ASSERT_TRUE(other >> y) << a << "\n" << b;
      char* end = nullptr;
      const double value = std::strtod(x.c_str(), &end);
      if (*end != 0) {
        EXPECT_EQ(x, y);
      } else {
        EXPECT_NEAR(value, std::strtod(y.c_str(), nullptr), 1e-4 * std::abs(value));
      }
    }
    EXPECT_FALSE(other >> y) << a << "\n" << b;
  }

 private:
  std::string path_;
};

// Smaller than the least number of full precision, as a p-value may be.
TEST_F(Records, KeepSamplesNearZero) {
  setenv("RETABLE_SELFTEST_SLOWDOWN", "1e-307", 1);
  Record();
  unsetenv("RETABLE_SELFTEST_SLOWDOWN");
  ExpectContains(Slurp(Here() / "selftest/probe.csv"), "e-310");
  EXPECT_EQ(Run("check --recorded here").code, 0);
}

TEST_F(Records, AreOpenedAndCheckedAgainstTheirArchive) {
  Record();
  for (const char* name : {"cells.tar.zst", "claims.csv", "verdicts.csv", "run.json",
                           "environment.json", "selftest/probe.csv"}) {
    EXPECT_TRUE(fs::exists(Here() / name)) << name;
  }
  EXPECT_EQ(Entries(Here() / "selftest").size(), 1u);
  ExpectSameTable(Slurp(Here() / "selftest/probe.csv"), Slurp(root_ / "out/selftest/probe.csv"));
  const Result check = Run("check --recorded here --strict");
  EXPECT_EQ(check.code, 0) << check.text;
  ExpectContains(check.text, "HOLDS             1");
  EXPECT_EQ(Run("check --out results/recorded/here").text, check.text);
  const Result shown = Run("explain --recorded here " + Key().substr(0, 12));
  EXPECT_EQ(shown.code, 0);
  ExpectContains(shown.text, "simulated");
  ExpectContains(shown.text, "  14 ");  // every sample
  ExpectContains(shown.text, "commit      cccccccccccc\n");
  ExpectContains(shown.text,
                 "repeat      build/retable run selftest/probe --profile quick --cell " +
                     Key().substr(0, 12) + " --force");
  EXPECT_EQ(Run("explain --recorded here zzzz").code, 1);
  ExpectContains(Run("compare results/recorded/here out").text, "its cells are packed; unpack");
  ExpectContains(Run("explain --recorded here ''").text, "2 cells begin with");
  // Its page is that of a folder with cells.
  Run("report --out results/recorded/here --to page");
  EXPECT_EQ(Entries(root_ / "page/cells").size(), 2u);
  ExpectContains(Run("history selftest/probe").text, "here");
}

TEST_F(Records, AreReadWithTheTablesThatTheirArchivesHold) {
  Record();
  fs::create_directories(root_ / "results/recorded/tables");
  std::ofstream(root_ / "results/recorded/tables/run.json") << "{}";
  const Result made = Run("record --tables");
  ASSERT_EQ(made.code, 0) << made.text;
  const fs::path all = made.text.substr(0, made.text.size() - 1), here = all / "here";
  EXPECT_TRUE(fs::equivalent(all / "tables", root_ / "results/recorded/tables"));  // no archive
  for (const char* name : {"selftest/probe.csv", "selftest/probe.tidy.csv", "verdicts.csv"}) {
    ExpectSameTable(Slurp(here / name), Slurp(root_ / "out" / name));
  }
  json declared = json::parse(Slurp(root_ / "out/selftest/probe.meta.json"));
  declared.erase("cells");
  EXPECT_EQ(json::parse(Slurp(here / "selftest/probe.meta.json")), declared);
  // Once, and anew where the recording or what its experiment declares is another.
  const auto first = fs::last_write_time(here / "selftest/probe.tidy.csv");
  EXPECT_EQ(Run("record --tables").text, made.text);
  EXPECT_EQ(fs::last_write_time(here / "selftest/probe.tidy.csv"), first);
  Write(Replaced(Replaced(kTwoTimes, "it takes time", "it takes some time"), "kind = \"bar\"\n",
                 "kind = \"bar\"\ntitle = \"How long\"\n"));
  ASSERT_EQ(Run("record --tables").code, 0);
  ExpectContains(Slurp(here / "selftest/probe.meta.json"), "it takes some time");
  ExpectContains(Slurp(here / "selftest/probe.meta.json"), "How long");
  Write(Replaced(kTwoTimes, "k = [1, 2]", "k = [1, 2, 3]"));
  ASSERT_EQ(RunProbe().code, 0);
  Built(root_ / "out");
  // In place of a recording without an archive, whose link must not be written through.
  ASSERT_EQ(Run("record tables --replace --out out").code, 0);
  fs::remove_all(Here());
  ASSERT_EQ(Run("record --tables").code, 0);
  EXPECT_FALSE(fs::exists(here));
  ExpectContains(Slurp(all / "tables/selftest/probe.tidy.csv"), "simulated 3");
  EXPECT_FALSE(fs::exists(root_ / "results/recorded/tables/selftest/probe.tidy.csv"));
}

TEST_F(Records, OfEarlierCommitsAreReadFromTheirArchives) {
  Record();
  const std::string recording = "results/recorded/here/";
  std::ofstream(root_ / "bin/git")
      << "#!/bin/sh\ncase \"$*\" in *' log '*cells.tar.zst*)\n"
      << "echo @eeeeeee@2026-01-02T03:04:05Z; echo; echo " << recording << "cells.tar.zst;;\n"
      << "*' show '*cells.tar.zst*) cat " << recording << "cells.tar.zst;;\n"
      << "*' show '*probe.csv*) cat " << recording << "selftest/probe.csv;;\n*) exit 1;; esac\n";
  const Result history = Run("history selftest/probe --commits");
  EXPECT_EQ(history.code, 0);
  ExpectContains(history.text, "2026-01-02  eeeeeee ");
  EXPECT_EQ(std::count(history.text.begin(), history.text.end(), '\n'), 2) << history.text;
}

// The pages of a recording are those of a folder in which all its tables lie.
TEST_F(Records, HaveTheSiteOfAllTheirTables) {
  if (std::system("/usr/bin/python3 -c 'import matplotlib, jinja2' 2>/dev/null") != 0) {
    GTEST_SKIP() << "no matplotlib or jinja2 here";
  }
  Record();
  const fs::path whole = root_ / "whole/here";
  fs::create_directories(whole);
  fs::copy(Here(), whole, fs::copy_options::recursive);
  fs::remove(whole / "cells.tar.zst");
  for (const char* name : {"selftest/probe.tidy.csv", "selftest/probe.meta.json"}) {
    fs::copy(root_ / "out" / name, whole / name);
  }
  const auto site = [&](const std::string& recorded, const std::string& to) {
    const std::string command = "/usr/bin/python3 '" RETABLE_SOURCE_DIR "/plots/report.py' --quiet";
    EXPECT_EQ(std::system((command + " --recorded '" + recorded + "' --site '" + to + "'").c_str()),
              0);
    std::map<std::string, std::string> pages;
    for (const auto& page : Entries(to)) pages[page.filename()] = Slurp(page);
    return pages;
  };
  const std::string all = Run("record --tables").text;
  const auto pages = site((root_ / "whole").string(), (root_ / "site-whole").string());
  EXPECT_EQ(site((root_ / all.substr(0, all.size() - 1)).string(), (root_ / "site").string()),
            pages);
  std::string text;
  for (const auto& [name, page] : pages) text += page;
  ExpectContains(text, "<svg");
  ExpectContains(text, "simulated 2");
}

TEST_F(Records, HaveEqualBytesAndNoPathOfTheMachine) {
  Record();
  const std::string archive = Slurp(Here() / "cells.tar.zst");
  ExpectContains(Run("record here --out out").text, "is there already; --replace");
  ASSERT_EQ(Run("record here --replace --out '" + Out() + "'").code, 0);
  EXPECT_EQ(Slurp(Here() / "cells.tar.zst"), archive);
  Run("report --out results/recorded/here --to page");
  for (const auto& file : fs::recursive_directory_iterator(root_ / "page")) {
    if (!file.is_regular_file()) continue;
    EXPECT_EQ(Slurp(file).find(root_.string()), std::string::npos) << file.path();
    if (file.path().extension() != ".csv") {
      EXPECT_EQ(Slurp(file).find("--out"), std::string::npos) << file.path();
    }
  }
}

TEST_F(Records, AreOfOneCommitAndOfNoChangedTree) {
  Write(kTwoTimes);
  ASSERT_EQ(RunProbe().code, 0);
  Built(root_ / "out", true);
  ExpectContains(Run("check --out out").text, "commit cccccccccccc+changes");
  const Result dirty = Run("record here --out out");
  EXPECT_EQ(dirty.code, 1);
  ExpectContains(dirty.text, "2 cells of selftest/probe were measured by a program of a changed");
  ExpectContains(dirty.text, "run selftest/probe --profile quick --force --out out");
  for (const char* key : {"built", "configured"}) {
    Built(root_ / "out", false, std::string(40, 'e'), key);
    ExpectContains(Run("record here --out out").text, "built at another commit than it ran at");
  }
  Built(root_ / "out");
  // A further cell, at another commit.
  SetCommit('d');
  Write(Replaced(kTwoTimes, "k = [1, 2]", "k = [1, 2, 3]"));
  ASSERT_EQ(RunProbe().code, 0);
  Built(root_ / "out");
  const Result mixed = Run("record here --out out");
  EXPECT_EQ(mixed.code, 1);
  ExpectContains(mixed.text, "a recording is of one");
  EXPECT_FALSE(fs::exists(Here()));
}

TEST_F(Records, AreRefusedWhereTheirCellsAreDamagedMissingOrOfAnOlderProgram) {
  Write(kTwoTimes);
  EXPECT_EQ(Run("record here --out out").code, 1);
  ASSERT_EQ(RunProbe().code, 0);
  Built(root_ / "out");
  for (const char* name : {"''", "a/b", "..", "A", "'a b'"}) {
    ExpectContains(Run(std::string("record ") + name + " --out out").text,
                   "no name of a recording");
  }
  const fs::path cell = Entries(root_ / "out/cells").front();
  const std::string text = Slurp(cell);
  std::ofstream(cell) << Replaced(text, "\"ok\"", "\"OK\"");
  ExpectContains(Run("record here --out out").text, "1 cell of selftest/probe are damaged");
  std::ofstream(cell) << text;
  fs::rename(root_ / "out/runs", root_ / "runs");
  ExpectContains(Run("record here --out out").text, "have no environment (runs/");
  fs::rename(root_ / "runs", root_ / "out/runs");
  // What is not measured yet is told: the next run goes on with it.
  fs::remove(cell);
  ExpectContains(Run("record here --out out").text, "1 planned cells are not measured yet");
  // So is what is stored and stays out.
  const fs::path other = root_ / "out/cells" / (std::string(64, 'f') + ".json");
  std::ofstream(other) << text;
  ExpectContains(Run("record here --out out --replace").text, "1 stored cells stay out");
}

TEST_F(Records, SayWhichFileIsNotWhatTheArchiveGives) {
  Record();
  const fs::path table = Here() / "selftest/probe.csv";
  const std::string text = Slurp(table);
  std::ofstream(table) << text << "by hand,1\n";
  std::ofstream(Here() / "selftest/other.csv") << "x\n";
  const Result check = Run("check --recorded here");
  EXPECT_EQ(check.code, 4);
  ExpectContains(check.text,
                 "selftest/probe.csv differs\n  recorded:   by hand,1\n"
                 "  recomputed: \n");
  ExpectContains(check.text, "selftest/other.csv is not of the archive");
  EXPECT_EQ(Run("check --recorded here --rewrite").code, 0);
  EXPECT_EQ(Slurp(table), text);
  EXPECT_EQ(Run("check --recorded here").code, 0);
  // A claim of today, which fails and has no note.
  Write(Replaced(kTwoTimes, "> 0", "< 0"));
  const Result changed = Run("check --recorded here");
  EXPECT_EQ(changed.code, 4);
  ExpectContains(changed.text, "claims.csv differs\n  recorded:   ");
  ExpectContains(changed.text, "< 0");
  EXPECT_EQ(Run("check --recorded here --rewrite").code, 0);
  EXPECT_EQ(Run("check --recorded here").code, 0);
  const Result strict = Run("check --recorded here --strict");
  EXPECT_EQ(strict.code, 4);
  ExpectContains(strict.text, "1 failing claim without a note");
}

TEST_F(Records, ThatAreDamagedOrUnknownAreNamedWithTheRemedy) {
  Record();
  const std::string archive = Slurp(Here() / "cells.tar.zst");
  std::string changed = archive;
  changed[archive.size() / 2] = static_cast<char>(changed[archive.size() / 2] ^ 1);
  for (const std::string& bytes :
       {changed, archive.substr(0, archive.size() / 2), std::string("x")}) {
    std::ofstream(Here() / "cells.tar.zst", std::ios::binary) << bytes;
    for (const char* words :
         {"check --recorded here", "explain --recorded here 00",
          "run selftest/probe --out next --resume-from results/recorded/here"}) {
      const Result result = Run(words);
      EXPECT_EQ(result.code, 1) << words;
      ExpectContains(result.text, "cells.tar.zst is damaged: ");
      ExpectContains(result.text, "git checkout -- ");
    }
  }
  const Result history = Run("history selftest/probe");
  ExpectContains(history.text, "only the tables beside it are shown: ");
  ExpectContains(history.text, "cells.tar.zst is damaged: ");
  EXPECT_EQ(Run("record --tables").code, 1);
  for (const char* words : {"report", "run selftest/probe", "doctor"}) {
    const Result refused = Run(std::string(words) + " --out results/recorded/here");
    EXPECT_EQ(refused.code, 1) << words;
    ExpectContains(refused.text, "nothing is written there");
  }
  ExpectContains(Run("check --recorded there").text, "there are: here");
  ExpectContains(Run("explain --recorded there 00").text, "no recording \"there\"");
  fs::remove(Here() / "cells.tar.zst");
  ExpectContains(Run("check --recorded here").text, "has no archive of its cells");
  ExpectContains(Run("check --recorded there").text, "there are none");
  EXPECT_EQ(Run("check --recorded here --out out").code, 1);
}

TEST_F(Records, AGroupThatTheBudgetIsTooShortForIsNotBegun) {
  Write(Replaced(kTwoTimes, "[table]", "[expected]\nquick = 100\n[table]"));
  const Result none = RunProbe("--by-group --budget 5s");
  ExpectContains(none.text, "not begun, for want of time: 2 cells of selftest/probe, about ");
  ExpectContains(none.text, "0 measured, 0 stored before, 2 left for the next run");
  EXPECT_TRUE(fs::is_empty(root_ / "out/cells"));
  ExpectContains(RunProbe("--by-group --budget 1000s --dry-run").text, "2 to measure");
  // What is known of its cells tells that it can be finished.
  ASSERT_EQ(RunProbe("--budget 1s").code, 0);
  ExpectContains(RunProbe("--by-group --budget 5s --force").text, "2 measured");
}

// A paper-profile run is built of many short ones.
TEST_F(Records, GoOnWhereTheyEndedOnAnotherMachineOfTheKind) {
  Record();
  Write(Replaced(kTwoTimes, "k = [1, 2]", "k = [1, 2, 3]"));
  const std::string words = "run selftest/probe --out next --resume-from results/recorded/here";
  const Result next = Run(words);
  EXPECT_EQ(next.code, 0) << next.text;
  ExpectContains(next.text, "1 cells to measure, 2 stored");  // the same machine: one stretch
  EXPECT_EQ(Entries(root_ / "next/cells").size(), 3u);
  ExpectContains(Run(words).text, "0 cells to measure, 3 stored");
  const json groups = json::parse(Slurp(root_ / "next/selftest/probe.meta.json")).at("groups");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].at("group"), "cpu");
  EXPECT_EQ(groups[0].at("cells"), 3);
  Built(root_ / "next");
  ASSERT_EQ(Run("record next --out next").code, 0);
  EXPECT_EQ(Run("check --recorded next --strict").code, 0);
  // Another commit is refused by name, and nothing is written.
  SetCommit('d');
  const Result other = Run(Replaced(words, "out next", "out third"));
  EXPECT_EQ(other.code, 1);
  ExpectContains(other.text, "git.commit: ddddddd");
  EXPECT_FALSE(fs::exists(root_ / "third/cells/" / (Key() + ".json")));
}

}  // namespace
}  // namespace retable

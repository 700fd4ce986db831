// The program from outside, as a user starts it: every way a cell can end, bad input, kills,
// resume.

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "apps/program_testing.hpp"

namespace retable {
namespace {

TEST_F(Program, VersionAndHelpAreZeroNonsenseIsOne) {
  EXPECT_EQ(Run("--version").code, 0);
  const Result help = Run("--help");
  EXPECT_EQ(help.code, 0);
  ExpectContains(help.text, "doctor");
  EXPECT_EQ(Run("frobnicate").code, 1);
  EXPECT_EQ(Run("run --profile huge x").code, 1);
  EXPECT_EQ(Run("").code, 1);
}

// A link to itself stands for a folder that cannot be searched, which root can always.
TEST_F(Program, FoldersThatCannotBeSearchedAreLeftAlone) {
  fs::create_symlink("ring", root_ / "ring");
  const Result verb = Run("--version; XDG_CACHE_HOME=ring RETABLE_CACHE= '" RETABLE_PROGRAM
                          "' shuffle sample --of 5 --take 1");
  EXPECT_EQ(verb.code, 0) << verb.text;
  fs::remove(root_ / "experiments/selftest");
  fs::remove(root_ / "experiments");
  fs::create_symlink("experiments", root_ / "experiments");
  for (const std::string unset : {"unset RETABLE_ROOT", "export RETABLE_ROOT="}) {
    const Result version = Run("--version; " + unset + "; '" RETABLE_PROGRAM "' --version");
    EXPECT_EQ(version.code, 0) << version.text;
  }
}

TEST_F(Program, MeasuresWritesAndDoesNotRepeat) {
  Write(std::string(kHead) + "[axes]\nsize = [2, 3]\n" + Algorithm("good") + "k = [5, 7]\n" +
        kTable);
  const Result first = RunProbe();
  ASSERT_EQ(first.code, 0) << first.text;
  ExpectContains(first.text, "4 measured");
  // What is missing is said at the top of the report: an empty cache has no OpenML data.
  ExpectContains(Slurp(root_ / "out/run.json"), "embedded and generated data only");
  for (const char* name :
       {"selftest/probe.csv", "selftest/probe.tidy.csv", "verdicts.csv", "claims.csv",
        "environment.json", "run.json", "selftest/probe.meta.json"}) {
    EXPECT_TRUE(fs::exists(root_ / "out" / name)) << name;
  }
  // (2 + 3) / 2 * (5 + 7) / 2 over the row's four cells.
  ExpectContains(Slurp(root_ / "out/selftest/probe.csv"), "good,15");
  const std::string before = Slurp(root_ / "out/selftest/probe.tidy.csv");
  const Result second = RunProbe();
  EXPECT_EQ(second.code, 0);
  ExpectContains(second.text, "0 measured, 4 stored before");
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.tidy.csv"), before);
  ExpectContains(RunProbe("--force").text, "4 measured");
}

TEST_F(Program, DryRunPrintsEveryCellAndTouchesNothing) {
  Write(std::string(kHead) + Algorithm("good") + "k = [1, 2]\n" + kTable);
  const Result dry = RunProbe("--dry-run");
  EXPECT_EQ(dry.code, 0);
  ExpectContains(dry.text, "not measured yet");
  ExpectContains(dry.text, "2 to measure");
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

TEST_F(Program, AMissingDataSetIsNotRunWithItsReason) {
  Write(std::string(kHead) + Algorithm("good") + kTable);
  const Result result = RunProbe("--set 'datasets=[\"gone\"]'");
  EXPECT_EQ(result.code, 0) << result.text;
  ExpectContains(TidyStatus(), "not_run");
  ExpectContains(TidyStatus(), "the data set is not at hand");
  ExpectContains(Slurp(root_ / "out/selftest/probe.csv"), "NOT-RUN");
}

struct Ending {
  const char* algorithm;
  int code;
  const char* status;
  const char* reason;
};

class Endings : public Program, public ::testing::WithParamInterface<Ending> {};

TEST_P(Endings, IsAStatusNotTheEndOfTheRun) {
  const Ending& ending = GetParam();
  // Only the one that hangs may run out of time, however busy the machine is.
  const bool hangs = std::string(ending.algorithm) == "hangs";
  Write(std::string(kHead) + (hangs ? "time_limit = 2.0\n" : "") + "memory_limit = 500.0\n" +
        Algorithm(ending.algorithm) + Algorithm("good") + kTable);
  const Result result = RunProbe();
  EXPECT_EQ(result.code, ending.code) << result.text;
  ExpectContains(TidyStatus(), ending.status);
  ExpectContains(TidyStatus(), ending.reason);
  ExpectContains(Slurp(root_ / "out/selftest/probe.csv"), "good,1");
  const Result strict = Run("check --out out --strict");
  EXPECT_EQ(strict.code, 4);
  ExpectContains(strict.text, "1 in all; the first: ");
  // A failure is measured again, the good one is not.
  ExpectContains(RunProbe().text, "1 measured, 1 stored before");
}

INSTANTIATE_TEST_SUITE_P(
    All, Endings,
    ::testing::Values(Ending{"throws", 2, "failed", "thrown on purpose"},
                      Ending{"hangs", 2, "timeout",
                             "stopped after 2 s (time_limit); its last words: "
                             "asleep"},
                      Ending{"crashes", 2, "crash", "signal 6"},
                      Ending{"exits", 2, "crash", "exit code 7"},
                      Ending{"leaves", 2, "crash", "ended with exit code 0 and no answer"},
#if !defined(RETABLE_SANITIZED)  // shadow memory counts as the program's own
                      Ending{"hog", 2, "oom", "over its limit of 500 MiB"},
                      Ending{"brood", 2, "oom", "over its limit of 500 MiB"},
#endif
                      Ending{"refused", 2, "oom", "40 MiB more are needed"},
                      Ending{"silent", 2, "failed", "no sample"},
                      Ending{"untold", 2, "failed", "which its metrics() lack"},
                      Ending{"nan", 3, "wrong_result", "difference"},
                      Ending{"wrong", 3, "wrong_result", "difference"}),
    [](const auto& row) { return std::string(row.param.algorithm); });

TEST_F(Program, OnlyFailedRepeatsOnlyFailures) {
  Write(std::string(kHead) + Algorithm("throws") + Algorithm("good") + kTable);
  RunProbe();
  ExpectContains(RunProbe("--only failed").text, "1 measured");
  // What was never measured is neither stored nor among the failures.
  const std::string two = "--set algorithm='[{name=\"throws\"},{name=\"good\",k=[1,2]}]' ";
  const Result dry = RunProbe(two + "--only failed --dry-run");
  ExpectContains(dry.text, "1 stored, 1 to measure, 0 not run, 1 not measured yet and passed over");
  ExpectContains(RunProbe(two + "--only failed").text,
                 "1 measured, 1 stored before, 1 not measured yet and passed over");
  EXPECT_EQ(RunProbe("--only passed").code, 1);
}

struct Mistake {
  const char* name;
  std::string toml;
  std::string expected;
};

std::string WithCheck(const std::string& check) {
  return kGood + "[[claim]]\nid = \"c\"\ntext = \"t\"\ncheck = \"" + check + "\"\n";
}

class Mistakes : public Program, public ::testing::WithParamInterface<Mistake> {};

TEST_P(Mistakes, AreNamedAtFileLineAndColumn) {
  Write(GetParam().toml);
  const Result result = RunProbe();
  EXPECT_EQ(result.code, 1) << result.text;
  ExpectContains(result.text, "experiments/selftest/probe.toml:");
  ExpectContains(result.text, GetParam().expected);
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    ::testing::Values(
        Mistake{"UnknownKey", Replaced(kGood, "question", "questoin"),
                "probe.toml:5:1: unknown key \"questoin\" (did you mean \"question\"?"},
        Mistake{"MissingKey", Replaced(kGood, "title = \"Probe\"\n", ""), "title is missing"},
        Mistake{"WrongType", std::string(kHead) + "repeats = \"three\"\n" + Algorithm("good"),
                "probe.toml:8:1: repeats must be integer"},
        Mistake{"OutOfRange", std::string(kHead) + "repeats = 0\n" + Algorithm("good"),
                "repeats = 0 is out of range"},
        Mistake{"Syntax", std::string(kHead) + "repeats = = 3\n", "probe.toml:8:"},
        Mistake{"UnknownAlgorithm", Replaced(kGood, "name = \"good\"", "name = \"godo\""),
                "unknown algorithm \"godo\" (did you mean \"good\"?"},
        Mistake{"UnregisteredAlgorithm", Replaced(kGood, "name = \"good\"", "name = \"mine\""),
                "; a new one is known once its file registers it and the program is built"},
        Mistake{"UnknownDataset", Replaced(kGood, "\"here\"", "\"hree\""),
                "unknown data set \"hree\" (did you mean \"here\"?"},
        Mistake{"UnknownMetric", Replaced(kGood, "metric = \"product\"", "metric = \"prodcut\""),
                "probe.toml:15:32: selftest/behaviour measures no metric \"prodcut\" (did you mean "
                "\"product\"?"},
        Mistake{"UnknownFigureMetric", kGood + "[figure]\nkind = \"violin\"\nmetric = \"tmie\"\n",
                "measures no metric \"tmie\" (did you mean \"time\"?"},
        Mistake{"UnknownThreshold",
                kGood + "[figure]\nkind = \"line\"\nthresholds = \"time: a; prodct: b\"\n",
                "measures no metric \"prodct\" (did you mean \"product\"?"},
        Mistake{"UnknownProtocol", Replaced(kGood, "selftest/behaviour", "selftest/behavior"),
                "probe.toml:3:1: unknown protocol"},
        Mistake{"BadLabel", Replaced(kGood, "label = \"good\"", "label = \"{nmae}\""),
                "probe.toml:9:1: {nmae} is neither an axis nor a parameter of good (did you mean "
                "\"name\"?"},
        Mistake{"BadRows", Replaced(kGood, "{label}", "{lable}"),
                "probe.toml:13:1: {lable} is neither an axis nor a parameter of good (did you mean "
                "\"label\"?"},
        Mistake{"UnknownParameter",
                Replaced(kGood, "label = \"good\"\n", "label = \"good\"\nq = 1\n"),
                "unknown parameter of good \"q\""},
        Mistake{"WrongParameterType",
                Replaced(kGood, "label = \"good\"\n", "label = \"good\"\nk = \"x\"\n"),
                "must be an integer"},
        Mistake{"UnknownAxis", Replaced(kGood, "[table]", "[axes]\nmass = [1]\n[table]"),
                "unknown axis \"mass\""},
        Mistake{"AxisThatIsLeftOut", Replaced(kGood, "{label}", "{size} {mass}"),
                "{mass} is neither an axis nor a parameter of good"},
        Mistake{"AxisTwice", Replaced(kGood, "[table]", "[axes]\nsize = [1, 2, 1]\n[table]"),
                "probe.toml:9:1: the cell good on here is planned twice ({\"size\":1})"},
        Mistake{"ParameterTwice",
                Replaced(kGood, "label = \"good\"\n", "label = \"good {k}\"\nk = [1, 1]\n"),
                "the cell good 1 on here is planned twice"},
        Mistake{"UnknownSetting",
                Replaced(kGood, "[table]", "[settings]\nmillisecond = 1\n[table]"),
                "did you mean \"milliseconds\""},
        Mistake{"BadClaim", WithCheck("1 <"), "character"},
        Mistake{"ClaimOfNoCell", WithCheck("1 < 2 or known(paper('good', 'product'))"),
                "probe.toml:19:1: claim c: its check reads no cell of the table"},
        Mistake{"UnknownRowOfAClaim", WithCheck("cell('godo', 'product') > 0"),
                "probe.toml:19:1: claim c: no row \"godo\" (did you mean \"good\"?"},
        Mistake{"UnknownColumnOfAClaim", WithCheck("all(r in rows: low(r, 'prodct') > 0)"),
                "claim c: no column \"prodct\" (did you mean \"product\"?"},
        Mistake{"UnknownNameInKnown",
                WithCheck("all(r in ['go', 'goo'] if known(cell(r + 'od', 'product')): true)"),
                "claim c: no row \"goood\" (did you mean \"good\"?"},
        Mistake{"UnknownPattern",
                WithCheck("all(r in rows('g*', '*-med'): cell(r, 'product') > 0)"),
                "claim c: no row matches \"*-med\""},
        Mistake{"BadColumn", Replaced(kGood, "metric = \"product\", ", ""),
                "needs one of metric, fact, ratio"},
        Mistake{"ColumnTwice",
                Replaced(kGood, "metric = \"product\", ",
                         "metric = \"product\" }, { name = \"product\", metric = \"product\", "),
                "two columns are called \"product\""},
        Mistake{"BadWhere", Replaced(kGood, "\"mean\"", "\"mean\", where = { lable = \"good\" }"),
                "probe.toml: {lable} is neither an axis nor a parameter of good (did you mean"},
        Mistake{"PivotOfTwo",
                Replaced(kGood, "columns = [",
                         "pivot = \"{dataset}\"\ncolumns = [{ name = \"n\", metric = \"n\" }, "),
                "probe.toml:15:1: pivot makes every column of one that is declared, not of 2"},
        Mistake{"BadVersion", Replaced(kGood, "version = 1", "version = 2"), "out of range"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(Program, AClaimMayNameRowsOfAnotherProfileAndDataThatHasAStandIn) {
  Write(Replaced(WithCheck("cell('good 5', 'product') > cell('synthetic good 1', 'product')"),
                 "{label}", "{label} {size}") +
        "[profiles.paper]\naxes.size = [5]\n");
  EXPECT_EQ(RunProbe().code, 0);
}

TEST_F(Program, AnAxisThatIsLeftOutHasItsDefault) {
  Write(kGood);
  ASSERT_EQ(RunProbe().code, 0);
  const std::string tidy = Slurp(root_ / "out/selftest/probe.tidy.csv");
  EXPECT_TRUE(tidy.starts_with("experiment,algorithm,label,device,dataset,size,metric,")) << tidy;
  ExpectContains(tidy, ",here,1,product,");
}

TEST_F(Program, DuplicateIdsNameBothFiles) {
  Write(kGood);
  Write(kGood, "other");
  const Result result = RunProbe();
  EXPECT_EQ(result.code, 1);
  ExpectContains(result.text, "is taken by experiments/selftest/other.toml");
}

TEST_F(Program, AMisspeltExperimentIsAnsweredWithTheNearest) {
  Write(kGood);
  const Result result = Run("run selftest/prob --out out");
  EXPECT_EQ(result.code, 1);
  ExpectContains(result.text, "did you mean \"selftest/probe\"?");
  EXPECT_EQ(Run("run --out out").code, 6);
}

TEST_F(Program, SetOverridesAndIsCheckedToo) {
  Write(kGood);
  EXPECT_EQ(RunProbe("--set seed=7 --set 'settings.milliseconds=1'").code, 0);
  const Result typo = RunProbe("--set sede=7");
  EXPECT_EQ(typo.code, 1);
  ExpectContains(typo.text, "--set sede=7: unknown key \"sede\" (did you mean \"seed\"?");
  EXPECT_EQ(RunProbe("--set seed").code, 1);
  // Another experiment, which it would not fit.
  Write(Replaced(Replaced(kGood, "selftest/probe", "selftest/other"), "columns = [",
                 "columns = [{ name = \"n\", metric = \"n\" }, "),
        "other");
  EXPECT_EQ(RunProbe("--set 'table.pivot=\"{dataset}\"'").code, 0);
  ExpectContains(Run("run selftest/other --out out --set 'table.pivot=\"{dataset}\"'").text,
                 "pivot makes every column of one that is declared, not of 2");
}

TEST_F(Program, AnOutputFolderThatCannotBeUsedIsAClearLine) {
  Write(kGood);
  std::ofstream(root_ / "file") << "not a folder";
  const Result result = Run("run selftest/probe --out file");
  EXPECT_EQ(result.code, 1);
  ExpectContains(result.text, "file");
  if (getuid() == 0) {
    // Root may write anywhere; /proc is read-only to everybody.
    const Result proc = Run("run selftest/probe --out /proc/retable");
    EXPECT_EQ(proc.code, 1);
    ExpectContains(proc.text, "/proc/retable");
  } else {
    fs::create_directories(root_ / "locked");
    fs::permissions(root_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
    const Result locked = Run("run selftest/probe --out locked");
    EXPECT_EQ(locked.code, 1);
    ExpectContains(locked.text, "choose another folder with --out");
  }
}

TEST_F(Program, AFullDiskIsAClearLineAndFinishedCellsStay) {
  Write(std::string(kHead) + Algorithm("good") + "k = [1, 2, 3]\n" + kTable);
  ASSERT_EQ(RunProbe().code, 0);
  // A limit on the size of a file stands for the full disk: the write fails in the same place.
  FILE* pipe = popen(fmt::format("cd '{0}' && RETABLE_SELFTEST=1 RETABLE_ROOT='{0}' bash -c "
                                 "'trap \"\" XFSZ; ulimit -f 0; exec \"{1}\" run selftest/probe "
                                 "--out out --force' 2>&1 | cat",
                                 root_.string(), RETABLE_PROGRAM)
                         .c_str(),
                     "r");
  std::string text;
  char buffer[4096];
  while (fgets(buffer, sizeof buffer, pipe)) text += buffer;
  pclose(pipe);
  ExpectContains(text, "raise the limit");
  for (const auto& file : fs::directory_iterator(root_ / "out/cells")) {
    EXPECT_TRUE(nlohmann::json::accept(Slurp(file.path()))) << file.path();
  }
  ExpectContains(RunProbe().text, "3 stored before");
}

// The single cell's file.
fs::path OnlyCell(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder / "cells")) {
    if (file.path().extension() == ".json") return file.path();
  }
  return {};
}

struct Damage {
  const char* name;
  void (*work)(const fs::path& cell, std::string text);
};

class Damaged : public Program, public ::testing::WithParamInterface<Damage> {};

TEST_P(Damaged, CellsAreSaidSetAsideAndMeasuredAgain) {
  Write(kGood);
  ASSERT_EQ(RunProbe().code, 0);
  const fs::path cell = OnlyCell(root_ / "out");
  const std::string whole = Slurp(cell);
  fs::remove(cell);
  GetParam().work(cell, whole);
  ExpectContains(RunProbe("--dry-run").text, "1 to measure");
  const Result check = Run("check --out out");
  EXPECT_EQ(check.code, 2) << check.text;
  ExpectContains(check.text, "note: 1 damaged in out/cells");
  ExpectContains(check.text, "again: build/retable run selftest/probe --profile quick --out out");
  const Result result = RunProbe();
  EXPECT_EQ(result.code, 0) << result.text;
  ExpectContains(result.text, "is set aside (.damaged)");
  ExpectContains(result.text, "1 measured");
  EXPECT_TRUE(fs::exists(fs::symlink_status(cell.string() + ".damaged")));
  ExpectContains(RunProbe().text, "0 measured, 1 stored before");
}

INSTANTIATE_TEST_SUITE_P(
    All, Damaged,
    ::testing::Values(
        Damage{"Torn",
               [](const fs::path& cell, std::string text) {
                 std::ofstream(cell) << text.substr(0, text.size() / 2);
               }},
        Damage{"Multiplied",
               [](const fs::path& cell, std::string text) {
                 std::ofstream(cell) << Replaced(text, "1.0,", "1.0e3,");
               }},
        Damage{"OfAnotherSchema",
               [](const fs::path& cell, std::string text) {
                 const auto at = text.find("\"schema\": ") + 10;
                 std::ofstream(cell) << text.replace(at, 1, "99");
               }},
        Damage{"WrongAndOk",
               [](const fs::path& cell, std::string text) {
                 std::ofstream(cell) << Replaced(text, "\"ok\": true", "\"ok\": false");
               }},
        Damage{"WithoutSamples",
               [](const fs::path& cell, std::string text) {
                 const auto begin = text.find("\"samples\": [") + 12;
                 std::ofstream(cell) << text.erase(begin, text.find(']', begin) - begin);
               }},
        Damage{"APipe", [](const fs::path& cell, std::string) { mkfifo(cell.c_str(), 0600); }},
        Damage{"ADevice",
               [](const fs::path& cell, std::string) { fs::create_symlink("/dev/zero", cell); }},
        Damage{"AFolder",
               [](const fs::path& cell, std::string) { fs::create_directories(cell / "full"); }},
        Damage{"Huge",
               [](const fs::path& cell, std::string text) {
                 std::ofstream(cell) << text;
                 fs::resize_file(cell, std::uintmax_t{1} << 40);
               }}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(Program, CellsOfAnEarlierVersionAreShownAndMeasuredAgain) {
  Write(kGood);
  ASSERT_EQ(RunProbe().code, 0);
  const fs::path cell = OnlyCell(root_ / "out");
  auto json = nlohmann::json::parse(Slurp(cell));
  json.erase("sha256");
  json["schema"] = 1;
  std::ofstream(cell) << json.dump(1) << "\n";
  const Result check = Run("check --out out");
  ExpectContains(check.text, "note: 1 in out/cells are of an earlier version");
  ExpectContains(Slurp(root_ / "out/selftest/probe.csv"), "good,1");
  const Result again = RunProbe();
  ExpectContains(again.text, "1 cell of an earlier version, without a checksum, counts as not");
  ExpectContains(again.text, "1 measured, 0 stored before");
  ExpectContains(RunProbe().text, "0 measured, 1 stored before");
}

TEST_F(Program, TwoRunsInOneFolderAreRefused) {
  Write(kGood);
  ASSERT_EQ(RunProbe().code, 0);
  // This process stands for the other run: no second one can be too early or too late.
  const int lock = open((Out() + "/.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  const Result second = RunProbe();
  EXPECT_EQ(second.code, 1);
  ExpectContains(second.text, "is in use by another run (process ");
  const std::string note = "note: a run is still writing out; the report shows what is stored";
  ExpectContains(Run("report --out out").text, note);
  close(lock);
  EXPECT_EQ(Run("report --out out").text.find(note), std::string::npos);
  EXPECT_EQ(RunProbe().code, 0);
}

TEST_F(Program, KilledFiveTimesItEndsWithTheSameTable) {
  const std::string toml =
      std::string(kHead) +
      "[settings]\nmilliseconds = 60\n[axes]\nsize = [1, 2, 3, 4, 5, 6, 7, 8]\n" +
      Algorithm("good") + "k = [1, 2, 3]\n" + kTable;
  Write(toml);
  ASSERT_EQ(Run("run selftest/probe --out calm").code, 0);
  std::mt19937 random(static_cast<unsigned>(getpid()));  // when to kill: another time every time
  std::map<std::string, fs::file_time_type> finished;
  for (int i = 0; i < 5; ++i) {
    const pid_t child = Start(fmt::format(
        "env RETABLE_SELFTEST=1 RETABLE_ROOT='{}' '{}' run selftest/probe --jobs 1 --out '{}'",
        root_.string(), RETABLE_PROGRAM, Out()));
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 300));
    kill(-child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    // What was finished before this kill has not been written again.
    for (const auto& [name, time] : finished) {
      EXPECT_EQ(fs::last_write_time(root_ / "out/cells" / name), time) << name;
    }
    std::error_code error;
    for (const auto& file : fs::directory_iterator(root_ / "out/cells", error)) {
      if (file.path().extension() == ".json") {
        finished[file.path().filename().string()] = fs::last_write_time(file.path());
      }
    }
    EXPECT_TRUE(finished.empty() || fs::exists(root_ / "out/run.json")) << "describes the cells";
  }
  const Result last = RunProbe();
  EXPECT_EQ(last.code, 0) << last.text;
  for (const auto& [name, time] : finished) {
    EXPECT_EQ(fs::last_write_time(root_ / "out/cells" / name), time) << name;
  }
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.csv"), Slurp(root_ / "calm/selftest/probe.csv"));
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.tidy.csv"),
            Slurp(root_ / "calm/selftest/probe.tidy.csv"));
}

TEST_F(Program, ShardsFillOneFolderTogether) {
  Write(std::string(kHead) + "[axes]\nsize = [1, 2, 3, 4, 5]\n" + Algorithm("good") + kTable);
  ASSERT_EQ(Run("run selftest/probe --out whole").code, 0);
  ASSERT_EQ(RunProbe("--shard 1/2").code, 0);
  ASSERT_EQ(RunProbe("--shard 2/2").code, 0);
  ExpectContains(RunProbe().text, "0 measured, 5 stored before");
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.tidy.csv"),
            Slurp(root_ / "whole/selftest/probe.tidy.csv"));
  EXPECT_EQ(RunProbe("--shard 3/2").code, 1);
}

TEST_F(Program, AShardChecksNoCellOfAnother) {
  Write(std::string(kHead) + "[axes]\nsize = [1, 2, 3, 4, 5]\n" + Algorithm("good") + kTable);
  ASSERT_EQ(RunProbe("--shard 1/2").code, 0);
  for (const auto& cell : fs::directory_iterator(root_ / "out/cells")) {
    std::ofstream(cell.path(), std::ios::app) << "\n";
  }
  const std::string other = RunProbe("--shard 2/2").text;
  ExpectContains(other, "2 measured, 0 stored before, none left; 2 ok");
  EXPECT_EQ(other.find("damaged"), std::string::npos) << other;
  ExpectContains(RunProbe("--shard 1/2").text, "damaged");
}

// Keys name the sources of the program that was begun.
TEST_F(Program, AProgramThatIsReplacedWhileItRunsIsNotMeasured) {
  Write(std::string(kHead) + "[settings]\nmilliseconds = 400\n[axes]\nsize = [1, 2, 3, 4]\n" +
        Algorithm("good") + kTable);
  const std::string program = (root_ / "program").string(), next = program + ".next";
  fs::copy_file(RETABLE_PROGRAM, program);
  std::ofstream(next) << "#!/bin/sh\nexit 7\n";
  fs::permissions(next, fs::perms::owner_all);
  const std::string command = Command("run selftest/probe --out out --jobs 1 2>&1");
  const std::string replaced = Replaced(command, RETABLE_PROGRAM, program);
  Result result{-1, ""};
  FILE* pipe = popen(replaced.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[4096];
  while (fgets(line, sizeof line, pipe)) {
    result.text += line;
    if (result.text.find("[1/4") != std::string::npos && fs::exists(next))
      fs::rename(next, program);
  }
  EXPECT_EQ(pclose(pipe), 0) << result.text;
  EXPECT_FALSE(fs::exists(next)) << result.text;
  ExpectContains(result.text, "4 measured, 0 stored before, none left; 4 ok");
}

TEST_F(Program, OneCellIsRepeatedByTheCommandThatExplainPrints) {
  Write(std::string(kHead) + "[axes]\nsize = [1, 2, 3]\n" + Algorithm("good") + kTable);
  setenv("RETABLE_TRAINING_ROWS", "50", 1);
  const int code = RunProbe("--profile smoke --set settings.milliseconds=7 --repeats 3").code;
  unsetenv("RETABLE_TRAINING_ROWS");
  ASSERT_EQ(code, 0);
  const std::string key =
      fs::directory_iterator(root_ / "out/cells")->path().filename().string().substr(0, 12);
  const std::string said = Run("explain --out out " + key).text,
                    mark = "repeat      RETABLE_TRAINING_ROWS=50 build/retable ";
  const std::string words = said.substr(said.find(mark) + mark.size());
  EXPECT_EQ(words,
            "run selftest/probe --profile smoke --set=settings.milliseconds=7 --repeats=3 --cell " +
                key + " --out results/repeat --force\n");
  const Result again = Run(words.substr(0, words.size() - 1));
  EXPECT_EQ(again.code, 0) << again.text;
  ExpectContains(again.text, "1 measured, 0 stored before");
  ExpectContains(Run("explain --out results/repeat " + key).text, "cell        " + key);

  const Result none = RunProbe("--cell " + key);  // of other settings
  EXPECT_EQ(none.code, 1) << none.text;
  ExpectContains(none.text, "--cell " + key + ": no cell of these experiments has a key");
  const Result unset = RunProbe("--force --cell \"$NO_SUCH_VARIABLE\"");
  EXPECT_EQ(unset.code, 1) << unset.text;
  ExpectContains(unset.text, "--cell: expected a key or its first digits");
}

TEST_F(Program, ASubmissionThatCannotWorkIsRefusedBeforeItIsMade) {
  Write(kGood);
  const auto refused = [&](const std::string& words, const std::string& why) {
    const Result result = RunProbe(words);
    EXPECT_EQ(result.code, 1) << words << "\n" << result.text;
    ExpectContains(result.text, why);
  };
  refused("--submit torque", "expected slurm");
  refused("--submit slurm --shard 1/2", "leave --shard away");
  refused("--submit slurm --budget soon", "expected a time");
  EXPECT_EQ(Run("run selftest/prob --out out --submit slurm").code, 1);
  const Result shown = RunProbe("--submit 'slurm --array=1-3 --exclusive' --dry-run");
  EXPECT_EQ(shown.code, 0) << shown.text;
  ExpectContains(shown.text, "--array=1-3 ");
  EXPECT_EQ(shown.text.find("dry-run"), std::string::npos) << shown.text;
  ExpectContains(shown.text, "--exclusive --wrap='exec ");
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

TEST_F(Program, ABudgetStopsBeginningCellsAndSaysWhatIsLeft) {
  Write(std::string(kHead) + "[settings]\nmilliseconds = 300\n[axes]\nsize = [1, 2, 3, 4, 5, 6]\n" +
        Algorithm("good") + kTable);
  const Result result = RunProbe("--jobs 1 --budget 0.5s");
  EXPECT_EQ(result.code, 0);
  ExpectContains(result.text, "left for the next run");
  EXPECT_EQ(RunProbe("--budget soon").code, 1);
}

const std::string kTimed = std::string(kHead) + "exclusive = true\n" + Algorithm("simulated") +
                           "[table]\nrows = \"{label}\"\nover = [\"k\"]\ncolumns = [{ name = "
                           "\"time\", metric = \"time\" }]\n";

TEST_F(Program, ABudgetEndsCellsThatRunFarBeyondIt) {
  Write(std::string(kHead) + "[settings]\nmilliseconds = 60000\n" + Algorithm("good") + kTable);
  const auto begun = std::chrono::steady_clock::now();
  const Result result = RunProbe("--budget 0.2s");
  EXPECT_EQ(result.code, 0) << result.text;
  ExpectContains(result.text, "ended, for want of time: selftest/probe");
  ExpectContains(result.text, "0 measured, 0 stored before, 1 left for the next run");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST_F(Program, ABudgetMeasuresOnceThenRefinesWhereItIsLeastSure) {
  Write(Replaced(kTimed, "[table]", "k = [8, 12]\n[table]"));
  const Result result = RunProbe("--profile smoke --budget 2s");
  EXPECT_EQ(result.code, 0);
  ExpectContains(result.text, "2 measured");
  ExpectContains(result.text, "times refined, none left");
  int executions = 0;
  for (const auto& file : fs::directory_iterator(root_ / "out/cells")) {
    const auto cell = nlohmann::json::parse(Slurp(file.path()));
    const auto samples = cell.at("metrics").at(0).at("samples").size();
    const int times = cell.at("facts").value("executions", 1);
    EXPECT_EQ(samples, 15u * static_cast<unsigned>(times));
    executions += times;
  }
  EXPECT_GT(executions, 2);
}

TEST_F(Program, ContendersTakeTurnsInRounds) {
  Write(Replaced(kTimed, "label = \"simulated\"\n", "label = \"k{k}\"\nk = [8, 12]\n"));
  const Result result = RunProbe("--profile smoke --rounds 3");
  EXPECT_EQ(result.code, 0) << result.text;
  ExpectContains(result.text, "2 measured, 0 stored before, 4 times refined, none left");
  // There and back: k8 k12, k12 k8, k8 k12.
  std::string order;
  std::istringstream lines(result.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[refined]")) order += line.find("k12") != std::string::npos ? "B" : "A";
  }
  EXPECT_EQ(order, "BAAB");
  for (const auto& file : fs::directory_iterator(root_ / "out/cells")) {
    const auto cell = nlohmann::json::parse(Slurp(file.path()));
    EXPECT_EQ(cell.at("metrics").at(0).at("samples").size(), 45u);
    EXPECT_EQ(cell.at("facts").at("executions"), 3);
  }
  ExpectContains(RunProbe("--profile smoke --rounds 3").text, "0 measured, 2 stored before, none");
  // The same command with more rounds goes on; a later run has an environment of its own.
  ExpectContains(RunProbe("--profile smoke --rounds 5").text,
                 "0 measured, 2 stored before, 4 times refined, none left");
  // What another commit measured is not pooled, and that is said. The variable makes this run's
  // environment another than the first one's, which within one second may be the same.
  for (const auto& file : fs::directory_iterator(root_ / "out/runs")) fs::remove(file);
  setenv("OMP_PLACES", "cores", 1);
  const Result elsewhere = RunProbe("--profile smoke --rounds 6");
  unsetenv("OMP_PLACES");
  ExpectContains(elsewhere.text, "2 stored timed cells are of another commit or machine");
  ExpectContains(elsewhere.text, "2 stored before, 2 timed cells of fewer than 6 rounds");
}

// The time left comes from what cells like these took before.
TEST_F(Program, TimeLeftIsEstimatedFromStoredDurations) {
  const std::string slow = Replaced(kGood, "[table]", "[settings]\nmilliseconds = 400\n[table]");
  Write(Replaced(slow, "[settings]", "k = [1]\n[settings]"));
  ASSERT_EQ(RunProbe("--jobs 1").code, 0);
  Write(Replaced(slow, "[settings]", "k = [1, 2, 3, 4, 5, 6]\n[settings]"));
  const std::string text = RunProbe("--jobs 1").text;
  // After the first of five, four of about 0.4 s are left.
  const auto at = text.find("[1/5, ");
  ASSERT_NE(at, std::string::npos) << text;
  const double left = std::atof(text.c_str() + at + 6);
  EXPECT_GT(left, 1.4);
  EXPECT_LT(left, 8) << text;
}

// A script that starts the program, slowed down or not: another version of it.
std::string Version(const fs::path& folder, const std::string& name, const char* slowdown) {
  const fs::path path = folder / name;
  std::ofstream(path) << "#!/bin/sh\nRETABLE_SELFTEST_SLOWDOWN=" << slowdown << " exec '"
                      << RETABLE_PROGRAM << "' \"$@\"\n";
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

TEST_F(Program, TheSameProgramIsTheSameAndASlowdownOfFivePercentIsFound) {
  Write(kTimed);
  const Result noise = Run("noise selftest/probe --out out --blocks 8");
  ASSERT_EQ(noise.code, 0) << noise.text;
  ExpectContains(noise.text, "noise floor 1.");
  const std::string same = Version(root_, "same", "1");
  const std::string slow = Version(root_, "slow", "1.05");
  const Result aa =
      Run("compare --strict --out out --programs '" + same + "' '" + same + "' selftest/probe");
  EXPECT_EQ(aa.code, 0);
  ExpectContains(aa.text, "1 same");
  ExpectContains(aa.text, "A/A run of");
  const Result ab =
      Run("compare --strict --out out --programs '" + same + "' '" + slow + "' selftest/probe");
  EXPECT_EQ(ab.code, 5);
  ExpectContains(ab.text, "1 slower");
  EXPECT_EQ(Run("compare --out out --programs '" + slow + "' '" + same + "' selftest/probe").code,
            0);
  ExpectContains(Run("compare --programs /no/such '" + same + "' selftest/probe").text,
                 "does not exist");
}

TEST_F(Program, FoldersAreComparedUnderTheMeasuredFloor) {
  Write(kTimed);
  ASSERT_EQ(Run("run selftest/probe --profile smoke --out a").code, 0);
  ASSERT_EQ(Run("run selftest/probe --profile smoke --out b").code, 0);
  // No floor is stored: it is measured now.
  const Result measured = Run("compare a b --strict");
  EXPECT_EQ(measured.code, 0);
  ExpectContains(measured.text, "measuring the noise floor: 1 cell 6 times");
  ExpectContains(measured.text, "27 pairs");  // 15 of six executions, 12 with what a and b store
  ExpectContains(measured.text, "0 faster, 0 slower, 1 same");
  ASSERT_EQ(Run("noise selftest/probe --out b").code, 0);
  const Result same = Run("compare a b --strict");
  EXPECT_EQ(same.code, 0);
  ExpectContains(same.text, "environment: the same");
  ExpectContains(same.text, "1 same");
  const std::string slow = "cd '" + root_.string() +
                           "' && RETABLE_SELFTEST=1 RETABLE_SELFTEST_SLOWDOWN=1.05 "
                           "RETABLE_SELFTEST_COUNT=executions RETABLE_ROOT=. '" RETABLE_PROGRAM
                           "' run selftest/probe --profile smoke --out c >/dev/null 2>&1";
  ASSERT_EQ(std::system(slow.c_str()), 0);
  // Of equal keys, so the difference would count as noise, were no floor known.
  fs::copy_file(root_ / "b/noise.json", root_ / "c/noise.json");
  const Result slower = Run("compare a c --strict");
  EXPECT_EQ(slower.code, 5) << slower.text;
  ExpectContains(slower.text, "1 slower");
  ExpectContains(slower.text, "the cells' keys are equal");
  // Another machine's results are named as such.
  auto environment = nlohmann::json::parse(Slurp(root_ / "b/environment.json"));
  environment["cpu"]["model"] = "an abacus";
  std::ofstream(root_ / "b/environment.json") << environment.dump();
  ExpectContains(Run("compare a b").text, "| an abacus");
  // Nor is anything measured for it.
  fs::remove(root_ / "b/noise.json");
  ExpectContains(Run("compare a b").text, "noise floor 30.0 %: assumed;");
}

// Two commits of a small repository, whose program is this one, slowed down in the second.
TEST_F(Program, TwoCommitsAreBuiltAndComparedInTurns) {
  Write(kTimed);
  const std::string repository = root_.string();
  const auto commit = [&](const char* slowdown) {
    std::ofstream(root_ / "CMakeLists.txt")
        << "cmake_minimum_required(VERSION 3.22)\nproject(version LANGUAGES NONE)\n"
        << "file(WRITE ${CMAKE_BINARY_DIR}/retable \"#!/bin/sh\\nRETABLE_SELFTEST_SLOWDOWN="
        << slowdown << " exec '" << RETABLE_PROGRAM << "' \\\"$@\\\"\\n\")\n"
        << "file(CHMOD ${CMAKE_BINARY_DIR}/retable PERMISSIONS OWNER_READ OWNER_WRITE "
           "OWNER_EXECUTE)\nadd_custom_target(retable)\n";
    const std::string git = "git -C '" + repository + "' -c user.name=a -c user.email=a@b ";
    return std::system((git + "init -q 2>/dev/null; " + git + "add CMakeLists.txt && " + git +
                        "commit -q -m " + slowdown)
                           .c_str());
  };
  ASSERT_EQ(commit("1"), 0);
  ASSERT_EQ(commit("1.05"), 0);
  const Result slower = Run("compare --strict --commits HEAD~1 HEAD selftest/probe");
  EXPECT_EQ(slower.code, 5) << slower.text;
  ExpectContains(slower.text, "building HEAD~1");
  ExpectContains(slower.text, "1 slower");
  // The second time nothing is built; the program at hand is ".".
  const Result same = Run("compare --strict --commits HEAD~1 . selftest/probe");
  EXPECT_EQ(same.code, 0) << same.text;
  EXPECT_EQ(same.text.find("building"), std::string::npos);
  ExpectContains(Run("compare --commits nonsense . selftest/probe").text, "git knows no commit");
  // A build that was interrupted goes on.
  for (const auto& entry : fs::directory_iterator(root_ / "build/commits")) {
    if (entry.is_directory()) fs::remove(entry.path() / "build/retable");
  }
  ExpectContains(Run("compare --commits HEAD~1 . selftest/probe").text, "building HEAD~1");
  // Where nothing is timed nothing is built.
  fs::remove_all(root_ / "build/commits");
  Write(std::string(kHead) + Algorithm("good") + kTable);
  const Result untimed = Run("compare --commits HEAD~1 HEAD selftest/probe");
  EXPECT_EQ(untimed.code, 6);
  ExpectContains(untimed.text, "nothing to compare: these experiments time nothing");
  EXPECT_FALSE(fs::exists(root_ / "build/commits"));
}

// A folder that several commands filled is told by artifact, not by the last of them.
TEST_F(Program, AMixedFolderSaysWhereEachArtifactComesFrom) {
  Write(std::string(kHead) + Algorithm("good") + "k = [1, 2]\n" + kTable);
  ASSERT_EQ(RunProbe("--profile smoke").code, 0);
  Write(std::string(kHead) + Algorithm("good") + "k = [1, 2, 3]\n" + kTable);
  ASSERT_EQ(RunProbe("--profile paper").code, 0);
  const auto meta = nlohmann::json::parse(Slurp(root_ / "out/selftest/probe.meta.json"));
  const auto& origins = meta.at("provenance");
  ASSERT_EQ(origins.size(), 2u) << origins.dump();
  // Oldest first, to the second: both may have begun within one.
  const bool in_order = origins[0].at("profile") == "smoke";
  const auto& smoke = origins[in_order ? 0 : 1];
  const auto& paper = origins[in_order ? 1 : 0];
  EXPECT_EQ(smoke.at("profile"), "smoke");
  EXPECT_EQ(smoke.at("cells"), 2);
  EXPECT_EQ(paper.at("profile"), "paper");
  EXPECT_EQ(paper.at("cells"), 1);
  EXPECT_LE(origins[0].at("started"), origins[1].at("started"));
  EXPECT_EQ(origins[0].at("started").get<std::string>().substr(0, 2), "20");
  EXPECT_NE(origins[0].at("machine").get<std::string>().find("thread"), std::string::npos);
  const Result check = Run("check --out out");
  ExpectContains(check.text, "measured with profile smoke, 20");
  ExpectContains(check.text, "measured with profile paper, 20");
}

TEST_F(Program, HistoryHasALineForEachFolder) {
  Write(kTimed);
  for (const char* folder : {"a", "results/b"}) {
    ASSERT_EQ(Run(std::string("run selftest/probe --profile smoke --out ") + folder).code, 0);
  }
  const Result history = Run("history selftest/probe --in a");
  EXPECT_EQ(history.code, 0);
  ExpectContains(history.text, "selftest/probe: simulated, time (s)");
  EXPECT_EQ(std::count(history.text.begin(), history.text.end(), '\n'), 3) << history.text;
  const auto json = nlohmann::json::parse(Run("history 'selftest/*' --json").text);
  ASSERT_EQ(json.at("selftest/probe").size(), 1u);
  const auto& point = json.at("selftest/probe").at(0);
  EXPECT_EQ(point.at("folder"), "b");
  EXPECT_EQ(point.at("device"), "cpu");
  EXPECT_NEAR(point.at("median").get<double>(), 1e-3, 1e-4);
  EXPECT_LE(point.at("low").get<double>(), point.at("median").get<double>());
  EXPECT_EQ(Run("history nothing/here").code, 6);
  EXPECT_EQ(Run("history selftest/probe --in no/such/folder").code, 1);
  // A folder that cannot be read is named and keeps nothing else from being shown.
  fs::create_directories(root_ / "results/torn/selftest");
  std::ofstream(root_ / "results/torn/run.json") << "{}";
  std::ofstream(root_ / "results/torn/selftest/probe.meta.json") << "{ torn";
  const Result torn = Run("history selftest/probe");
  EXPECT_EQ(torn.code, 0);
  ExpectContains(torn.text, "left out of the history");
  ExpectContains(torn.text, "results/torn/selftest/probe.meta.json");
  ExpectContains(torn.text, "selftest/probe: simulated, time (s)");
}

TEST_F(Program, SharesOfTheCeilingStandInTheTidyTable) {
  Write(kTimed);
  ASSERT_EQ(Run("run selftest/probe --out out --profile smoke").code, 0);
  EXPECT_FALSE(fs::exists(root_ / "out/ceilings.json"));  // no time for it
  std::ofstream(root_ / "out/ceilings.json")
      << R"([{"device": "cpu, 1 thread", "name": "copy", "value": 2, "unit": "GB/s", "note": ""}])";
  ASSERT_EQ(Run("run selftest/probe --out out --profile smoke").code, 0);
  std::ifstream file(root_ / "out/selftest/probe.tidy.csv");
  std::string header, row;
  std::getline(file, header);
  std::getline(file, row);
  ExpectContains(header, "key,share,ceiling");
  ExpectContains(row, "\"copy, 2 GB/s\"");
  const std::size_t end = row.find(",\"copy"), begin = row.rfind(',', end - 1) + 1;
  const double share = std::stod(row.substr(begin, end - begin));
  EXPECT_NEAR(share, 0.5, 0.02);  // a megabyte in a millisecond is 1 GB/s
  fs::path cell;
  for (const auto& f : fs::directory_iterator(root_ / "out/cells")) cell = f.path();
  ExpectContains(Run("explain --out out " + cell.stem().string().substr(0, 10)).text,
                 "of the ceiling copy, 2 GB/s");
}

// What a first run left there, killed or without a GPU, keeps no later one from measuring.
TEST_F(Program, CeilingsThatAreNotThereAreMeasuredByALaterRun) {
  Write(kTimed);
  fs::create_directories(root_ / "out");
  std::ofstream(root_ / "out/ceilings.json") << "[]";
  ASSERT_EQ(RunProbe().code, 0);
  const std::string measured = Slurp(root_ / "out/ceilings.json");
  ExpectContains(measured, "cpu, 1 thread");
  ASSERT_EQ(RunProbe("--force").code, 0);
  EXPECT_EQ(Slurp(root_ / "out/ceilings.json"), measured);
}

TEST_F(Program, ASlurmArrayFillsOneFolderCellForCell) {
  Write(std::string(kHead) + "[axes]\nsize = [1, 2, 3, 4, 5]\n" + Algorithm("good") + kTable);
  ASSERT_EQ(Run("run selftest/probe --out whole").code, 0);
  // What sbatch --array=1-2 sets for its tasks, at the same time.
  const auto task = [&](int id) {
    return Start(fmt::format(
        "env RETABLE_SELFTEST=1 RETABLE_ROOT='{}' SLURM_ARRAY_TASK_ID={} SLURM_ARRAY_TASK_MIN=1 "
        "SLURM_ARRAY_TASK_COUNT=2 '{}' run selftest/probe --shard auto --out '{}'",
        root_.string(), id, RETABLE_PROGRAM, Out()));
  };
  const pid_t first = task(1), second = task(2);
  for (const pid_t child : {first, second}) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_FALSE(fs::exists(root_ / "out/.lock"));
  ExpectContains(RunProbe().text, "0 measured, 5 stored before");
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.tidy.csv"),
            Slurp(root_ / "whole/selftest/probe.tidy.csv"));
  ExpectContains(RunProbe("--shard auto").text, "neither Slurm nor MPI");
}

// A machine on which others work: as many processors' worth as the file says.
class Busy : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    setenv("RETABLE_SELFTEST_BUSY", (root_ / "others").c_str(), 1);
    Others(1.5);
    Write(kTimed +
          "[[claim]]\nid = \"fast\"\ntext = \"it is fast\"\ncheck = "
          "'cell(\"simulated\", \"time\") < 0.0014'\n"
          "[[claim]]\nid = \"slow\"\ntext = \"it is slow\"\ncheck = "
          "'cell(\"simulated\", \"time\") > 0.0014'\n");
    std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
        << "row,column,value,unit,kind,tolerance,page,table,note\n"
           "simulated,time,0.5,s,time,,3,T,\n";
  }
  void TearDown() override {
    unsetenv("RETABLE_SELFTEST_BUSY");
    Program::TearDown();
  }
  void Others(double processors) { std::ofstream(root_ / "others") << processors; }
};

TEST_F(Busy, IsSaidInTheFirstLineInTheFilesAndBesideTheCell) {
  const Result run = RunProbe();
  EXPECT_EQ(run.code, 0) << run.text;
  const std::string first = run.text.substr(0, run.text.find('\n'));
  ExpectContains(first, "the machine is busy");
  ExpectContains(first, "other processes took 1.5 of ");
  ExpectContains(first, "--wait-quiet waits");
  ExpectContains(run.text, "not steady: other processes took 1.5 of ");
  ExpectContains(run.text, "1 of 1 timed cells not steady");
  const auto environment = nlohmann::json::parse(Slurp(root_ / "out/environment.json"));
  EXPECT_EQ(environment.at("activity").at("others_processors"), 1.5);
  EXPECT_EQ(environment.at("busy").size(), 2u);
  const auto record = nlohmann::json::parse(Slurp(root_ / "out/run.json"));
  EXPECT_EQ(record.at("unsteady"), 1);
  EXPECT_EQ(record.at("timed"), 1);
  ExpectContains(TidyStatus(), "other processes took 1.5 of ");
}

TEST_F(Busy, AClaimOnItNeitherHoldsNorFailsAndItsPublishedCellIsMarked) {
  ASSERT_EQ(RunProbe().code, 0);
  const std::string claims = Slurp(root_ / "out/claims.csv");
  ExpectContains(claims, "fast,it is fast,,UNSTEADY");
  ExpectContains(claims, "slow,it is slow,,UNSTEADY");
  ExpectContains(Slurp(root_ / "out/verdicts.csv"), "; not steady: other processes took 1.5 of ");
  EXPECT_EQ(Run("check --out out --strict").code, 0);
  Others(0);  // a quiet machine again: the same claims are judged
  const Result quiet = RunProbe("--force");
  ExpectContains(quiet.text.substr(0, quiet.text.find('\n')), "the machine is quiet");
  ExpectContains(Slurp(root_ / "out/claims.csv"), "fast,it is fast,,HOLDS");
  ExpectContains(Slurp(root_ / "out/claims.csv"), "slow,it is slow,,FAILS");
  EXPECT_EQ(Slurp(root_ / "out/verdicts.csv").find("not steady"), std::string::npos);
  EXPECT_EQ(Run("check --out out --strict").code, 4);
}

TEST_F(Busy, WaitQuietWaitsAtMostAsLongAsIsSaid) {
  const Result waited = RunProbe("--wait-quiet=1s");
  EXPECT_EQ(waited.code, 0) << waited.text;
  ExpectContains(waited.text, "waiting for a quiet machine, ");
  ExpectContains(waited.text, "at most: other processes took 1.5 of ");
  ExpectContains(waited.text, "the machine did not become quiet: cells are measured and marked");
  ExpectContains(Slurp(root_ / "out/claims.csv"), "UNSTEADY");
  EXPECT_EQ(RunProbe("--wait-quiet=soon").code, 1);
}

TEST_F(Busy, WaitQuietGoesOnWhenTheMachineIsQuiet) {
  const pid_t run = Start(fmt::format(
      "env RETABLE_SELFTEST=1 RETABLE_SELFTEST_COUNT='{0}/executions' RETABLE_ROOT='{0}' '{1}' run "
      "selftest/probe --wait-quiet --out '{2}'",
      root_.string(), RETABLE_PROGRAM, Out()));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(kill(run, 0), 0);
  EXPECT_FALSE(fs::exists(root_ / "out/claims.csv")) << "it did not wait";
  Others(0);
  int status = 0;
  waitpid(run, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ExpectContains(Slurp(root_ / "out/claims.csv"), "HOLDS");
}

// The forecast of the first line, the time left and the duration at the end are of one estimate;
// no line of progress is without what is left.
TEST_F(Program, EveryLineOfProgressSaysWhatIsLeft) {
  Write(Replaced(kGood, "[table]",
                 "k = [1, 2, 3, 4]\n[settings]\nmilliseconds = 300\n[expected]\nquick = "
                 "1.2\n[table]"));
  const Result run = RunProbe("--jobs 2");
  ASSERT_EQ(run.code, 0) << run.text;
  ExpectContains(run.text, "4 cells to measure, 0 stored; about 1.3 s on ");
  std::istringstream lines(run.text);
  int progress = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("[")) continue;
    ++progress;
    ExpectContains(line, " s left]");
  }
  EXPECT_EQ(progress, 4);
  const auto record = nlohmann::json::parse(Slurp(root_ / "out/run.json"));
  EXPECT_NEAR(record.at("expected_seconds").get<double>(), 1.3, 0.01);  // tables included
}

TEST_F(Program, ARunEndsWithFiveLines) {
  Write(kGood +
        "[[claim]]\nid = \"one\"\ntext = \"good is 1\"\ncheck = 'cell(\"good\", "
        "\"product\") == 1'\n");
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance,page,table,note\n"
         "good,product,1.05,1,accuracy,0.1,3,Table 1,\n";
  const Result run = Run("run selftest/probe --out out 2>/dev/null #");
  ASSERT_EQ(run.code, 0);
  EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 5) << run.text;
  ExpectContains(run.text, "1 measured, 0 stored before, none left; 1 ok; took ");
  ExpectContains(run.text, "verdicts  [########################################] 1 MATCH, 0 TREND");
  ExpectContains(run.text, "\nclaims    1 hold, 0 fail, of 1\nmissing   no published cell\n");
  ExpectContains(run.text, "report    not drawn yet: build/retable report --out out\n");
}

TEST_F(Program, WhatWasNotRunIsFollowedByWhyAndHowOften) {
  Write(Replaced(kGood, "[\"here\"]", "[\"here\", \"gone\"]"));
  const std::string why = "1 not_run (1: the data set is not at hand)";
  ExpectContains(RunProbe().text, why);
  ExpectContains(RunProbe("--dry-run").text, "1 not run (1: the data set is not at hand)");
  const auto record = nlohmann::json::parse(Slurp(root_ / "out/run.json"));
  EXPECT_EQ(record.at("reasons").at("not_run").at("the data set is not at hand"), 1);
}

TEST_F(Program, AValueFromAPartOfItsCellsIsShownAndNotJudged) {
  Write(Replaced(kGood, "[table]", "[axes]\nsize = [1, 3]\n[table]") +
        "[[claim]]\nid = \"one\"\ntext = \"good is 1\"\ncheck = 'cell(\"good\", "
        "\"product\") == 1'\n");
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance,page,table,note\n"
         "good,product,1,1,accuracy,0.1,3,Table 1,\n";
  const std::string plan = RunProbe("--dry-run").text;
  const std::size_t key = plan.find_first_not_of(' ', plan.find("\nmiss") + 5);
  const Result run = RunProbe("--cell " + plan.substr(key, plan.find(' ', key) - key));
  ASSERT_EQ(run.code, 0) << run.text;
  ExpectContains(run.text, "(1 measured in part)");
  ExpectContains(Slurp(root_ / "out/selftest/probe.csv"), "good,");
  EXPECT_EQ(Slurp(root_ / "out/selftest/probe.csv").find("NOT-RUN"), std::string::npos);
  ExpectContains(Slurp(root_ / "out/verdicts.csv"), "NOT-JUDGED,1 of 2 cells is not measured yet");
  const std::string claims = Slurp(root_ / "out/claims.csv");
  ExpectContains(claims, "NO-DATA");
  ExpectContains(claims, "1 of 2 cells is not measured yet [good, product]");
  ASSERT_EQ(RunProbe().code, 0);
  ExpectContains(Slurp(root_ / "out/claims.csv"), "one,good is 1,,FAILS");
}

TEST_F(Program, SmokeJudgesNothingAndSaysSoOfEveryTable) {
  Write(kGood +
        "[[claim]]\nid = \"two\"\ntext = \"good is 2\"\ncheck = 'cell(\"good\", \"product\") == "
        "2'\n");
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance,page,table,note\n"
         "good,product,50,1,accuracy,0.1,3,Table 1,\n";
  const Result run = RunProbe("--profile smoke");
  ASSERT_EQ(run.code, 0) << run.text;
  ExpectContains(run.text, "(1 at sizes too small to judge)");
  ExpectContains(Slurp(root_ / "out/verdicts.csv"),
                 "NOT-JUDGED,the sizes of the smoke profile are too small to judge");
  ExpectContains(Slurp(root_ / "out/claims.csv"), "two,good is 2,,NOT-JUDGED,\"cell(good");
  const auto meta = nlohmann::json::parse(Slurp(root_ / "out/selftest/probe.meta.json"));
  EXPECT_EQ(meta.at("judged"), false);
  EXPECT_EQ(meta.at("judged_why"), "the sizes of the smoke profile are too small to judge");
  EXPECT_EQ(Run("check --out out --strict").code, 0);
  // The same at sizes that count: planted differences are found.
  ASSERT_EQ(RunProbe().code, 0);
  EXPECT_EQ(Run("check --out out --strict").code, 4);
}

TEST_F(Program, ClaimsAndVerdictsAreJudgedAndStrictHasItsExitCode) {
  Write(kGood +
        "[[claim]]\nid = \"one\"\ntext = \"good is 1\"\ncheck = 'cell(\"good\", \"product\") == "
        "1'\n" +
        "[[claim]]\nid = \"two\"\ntext = \"good is 2\"\ncheck = 'cell(\"good\", \"product\") == "
        "2'\n");
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance,page,table,note\n"
         "good,product,1.05,1,accuracy,0.1,3,Table 1,\n";
  ASSERT_EQ(RunProbe().code, 0);
  const std::string claims = Slurp(root_ / "out/claims.csv");
  ExpectContains(claims, "one,good is 1,,HOLDS");
  ExpectContains(claims, "two,good is 2,,FAILS");
  ExpectContains(Slurp(root_ / "out/verdicts.csv"), "MATCH");
  EXPECT_EQ(Run("check --out out").code, 0);
  EXPECT_EQ(Run("check --out out --strict").code, 4);
}

TEST_F(Program, PublishedValuesOfAFolderThatTheExperimentDoesNotHaveAreNamed) {
  Write(kGood);
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance\ngood,product,7,1,accuracy,\n";
  ASSERT_EQ(RunProbe().code, 0);
  const std::string note =
      "note: out has other published values than experiments/, and is judged by its own: "
      "selftest/probe; ";
  EXPECT_EQ(Run("check --out out").text.find(note), std::string::npos);
  std::ofstream(root_ / "out/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance\ngood,product,1,1,accuracy,\n";
  ExpectContains(Run("check --out out").text, note);
  ExpectContains(Run("report --out out").text, note);
  fs::remove(root_ / "out/selftest/probe.paper.csv");
  ExpectContains(Run("check --out out").text, note);
  ASSERT_EQ(RunProbe().code, 0);
  EXPECT_EQ(Run("check --out out").text.find(note), std::string::npos);
  fs::remove(root_ / "experiments/selftest/probe.paper.csv");
  ExpectContains(Run("check --out out").text, note);
  ASSERT_EQ(RunProbe().code, 0);
  EXPECT_EQ(Run("check --out out").text.find(note), std::string::npos);
}

// What a reproduction must not hide, planted one by one.
class Planted : public Program {
 protected:
  // Contenders "simulated" with k = 1 and 2 and the published cells; the result of `check
  // --strict`.
  Result Strict(const std::string& cells, const std::string& environment = "") {
    Write(
        std::string(kHead) +
        "[[algorithm]]\nname = \"simulated\"\nlabel = \"k {k}\"\nk = [1, 2]\n[table]\nrows = "
        "\"{dataset}\"\ncolumns = [{ name = \"one\", metric = \"time\", where = { label = \"k 1\" "
        "} }, { name = \"two\", metric = \"time\", where = { label = \"k 2\" } }, { name = "
        "\"two over one\", ratio = [\"two\", \"one\"] }]\n" +
        R"([[claim]]
id = "short"
text = "Short."
where = "here"
check = 'all(c in columns if known(cell("here", c)): cell("here", c) < 5)'
)");
    std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
        << "row,column,value,unit,kind,tolerance,page,table,note\n" + cells;
    if (!environment.empty()) setenv("RETABLE_SELFTEST_WRONG", environment.c_str(), 1);
    run_ = RunProbe("--force").code;
    unsetenv("RETABLE_SELFTEST_WRONG");
    verdicts_ = Slurp(root_ / "out/verdicts.csv");
    return Run("check --out out --strict");
  }

  int run_ = -1;
  std::string verdicts_;
};

TEST_F(Planted, NothingPasses) {
  const Result strict = Strict("here,one,0.5,s,time,,3,T,\n");
  EXPECT_EQ(run_, 0);
  EXPECT_EQ(strict.code, 0) << strict.text;
  ExpectContains(Slurp(root_ / "out/claims.csv"), "short,Short.,here,HOLDS");
  ExpectContains(verdicts_, "DIFFERENT-HW,an absolute time of another machine");
}

TEST_F(Planted, AWrongAnswerInATimedRowIsFailedAndNoOtherHardware) {
  const Result strict = Strict(
      "here,one,0.5,s,time,,3,T,\nhere,two,0.5,s,time,,3,T,\nhere,two over one,1,x,ratio,,3,T,\n",
      "2");
  EXPECT_EQ(run_, 3);
  EXPECT_EQ(strict.code, 4);
  ExpectContains(strict.text, "FAILED            2");
  ExpectContains(strict.text, "DIFFERENT-HW      1");
  ExpectContains(
      strict.text,
      "failed: selftest/probe [here, two]: wrong_result: difference = 1 against nothing");
  ExpectContains(strict.text, "failed: selftest/probe [here, two over one]: wrong_result");
  ExpectContains(Slurp(root_ / "out/selftest/probe.csv"), "FAILED,FAILED");
  // The claim does not hold by leaving the wrong answer out.
  ExpectContains(Slurp(root_ / "out/claims.csv"), "short,Short.,here,NO-DATA");
}

TEST_F(Planted, TenTimesOffInTheRightOrderIsNoPass) {
  Write(std::string(kHead) + "[[algorithm]]\nname = \"good\"\nlabel = \"k {k}\"\nk = [1, 2]\n" +
        kTable);
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance,page,table,note\n"
         "k 1,product,10,1,accuracy,0.1,3,T,\nk 2,product,20,1,accuracy,0.1,3,T,\n";
  ASSERT_EQ(RunProbe().code, 0);
  const Result strict = Run("check --out out --strict");
  EXPECT_EQ(strict.code, 4);
  ExpectContains(strict.text, "ORDER-ONLY        2");
  ExpectContains(strict.text, "TREND             0");
  ExpectContains(strict.text, "MATCH             0");
}

TEST_F(Planted, ABrokenBoundIsAMismatch) {
  EXPECT_EQ(Strict("here,two over one,<=1.5,x,bound,,3,T,\n").code, 0);
  const Result strict = Strict("here,two over one,<=0.5,x,bound,,3,T,\n");
  EXPECT_EQ(strict.code, 4);
  ExpectContains(verdicts_, "MISMATCH,at most 0.5 was published");
}

TEST_F(Planted, AWrongAnswerFailsInASmokeRunToo) {
  Write(std::string(kHead) + Algorithm("wrong") + kTable);
  std::ofstream(root_ / "experiments/selftest/probe.paper.csv")
      << "row,column,value,unit,kind,tolerance,page,table,note\n"
         "wrong,product,1,1,accuracy,0.1,3,T,\n";
  EXPECT_EQ(RunProbe("--profile smoke").code, 3);
  EXPECT_EQ(Run("check --out out --strict").code, 4);
}

TEST_F(Program, ExplainShowsOneCell) {
  Write(kGood);
  ASSERT_EQ(RunProbe().code, 0);
  fs::path cell;
  for (const auto& file : fs::directory_iterator(root_ / "out/cells")) cell = file.path();
  const Result shown = Run("explain --out out " + cell.stem().string().substr(0, 10));
  EXPECT_EQ(shown.code, 0);
  ExpectContains(shown.text, "good on here (cpu), selftest/probe");
  ExpectContains(shown.text, "metric      product");
  EXPECT_EQ(Run("explain --out out zzzz").code, 1);
}

// README names one number; `list` has the sum that it is.
TEST(Forecast, ReadmeAgreesWithList) {
  std::string text, all;
  FILE* pipe = popen("export RETABLE_ROOT='" RETABLE_SOURCE_DIR "'; '" RETABLE_PROGRAM
                     "' list --protocols && '" RETABLE_PROGRAM "' list",
                     "r");
  char buffer[4096];
  while (pipe && fgets(buffer, sizeof buffer, pipe)) {
    all = buffer;  // the last line
    text += buffer;
  }
  ASSERT_EQ(pclose(pipe), 0);
  for (const char* family : {"quantiles/", "shuffle/", "treeshap/", "extratrees/", "shapley/"}) {
    if (!text.starts_with(family) && text.find("\n" + std::string(family)) == text.npos)
      GTEST_SKIP() << "a build without " << family;
  }
  ASSERT_TRUE(all.starts_with("all ")) << all;
  std::smatch found;
  const std::regex line(R"(all +.* s +(\d+) min (\d+) s .*)");
  ASSERT_TRUE(std::regex_search(all, found, line)) << all;
  const double quick = 60 * std::stod(found[1]) + std::stod(found[2]);
  ASSERT_GT(quick, 60);
  EXPECT_LT(quick, 20 * 60) << "the quick profile is to take less than 20 minutes";
  const std::string readme = Slurp(RETABLE_SOURCE_DIR "/README.md");
  const std::string phrase = "the quick profile takes about ";
  const auto at = readme.find(phrase);
  ASSERT_NE(at, std::string::npos);
  EXPECT_NEAR(60 * std::stod(readme.substr(at + phrase.size())), quick, quick / 4);
}

TEST_F(Program, ListKnowsTheExperimentAndItsFields) {
  Write(kGood);
  ExpectContains(Run("list").text, "selftest/probe");
  // A family that is not in the program is named, not listed.
  fs::create_directories(root_ / "experiments/absent");
  std::ofstream(root_ / "experiments/absent/table.toml") << Replaced(
      std::string(kHead) + Algorithm("good") + kTable, "selftest/probe", "absent/table");
  const std::string listed = Run("list").text;
  EXPECT_EQ(listed.find("absent/table"), std::string::npos) << listed;
  ExpectContains(listed, "not in this build: absent");
  fs::remove_all(root_ / "experiments/absent");
  const auto json = nlohmann::json::parse(Run("list --json").text);
  EXPECT_EQ(json.at(0).at("id"), "selftest/probe");
  ExpectContains(Run("list --fields").text, "`claim[].check`");
  const std::string protocols = Run("list --protocols").text;
  ExpectContains(protocols, "selftest/behaviour");
  ExpectContains(protocols, "  axes.size = 1  # an axis\n");
  ExpectContains(protocols, "  settings.milliseconds = 5  # how long a good cell takes\n");
}

TEST_F(Program, WrongWordsAreAnsweredWithTheNearest) {
  Write(kGood);
  ExpectContains(Run("rnu").text, "unknown command \"rnu\" (did you mean \"run\"?");
  ExpectContains(RunProbe("--profil smoke").text,
                 "unknown option --profil (did you mean \"--profile\"?");
  ExpectContains(Run("doctor now").text, "doctor takes no \"now\"");
  ExpectContains(RunProbe("--jobs 0").text, "not in range 1 to");
  ExpectContains(RunProbe("--jobs 2.0").text, "--jobs: 2.0 is not a whole number");
  ExpectContains(RunProbe("--rounds null").text, "--rounds: null is not a whole number");
  ExpectContains(RunProbe("--only passed").text, "passed not in {failed}");
  const Result folder = RunProbe("--machine '" + root_.string() + "'");
  EXPECT_EQ(folder.code, 1);
  ExpectContains(folder.text, "cannot be read");
}

TEST_F(Program, WhatIsWrongInEveryFileIsSaidOnce) {
  Write(kGood);
  Write(Replaced(kGood, "selftest/probe", "selftest/other"), "other");
  const Result typo = RunProbe("--set sede=7");
  EXPECT_EQ(typo.code, 1);
  EXPECT_EQ(std::count(typo.text.begin(), typo.text.end(), '\n'), 1) << typo.text;
}

TEST_F(Program, AStandardOutputThatIsFullIsAFailure) {
  Write(kGood);
  const Result full = Run("list 2>&1 >/dev/full #");
  EXPECT_EQ(full.code, 2);
  ExpectContains(full.text, "the standard output could not be written");
  EXPECT_EQ(Run("frobnicate 2>&1 >/dev/full #").code, 1);
}

TEST_F(Program, AKeyThatIsTooShortNamesItsCells) {
  Write(std::string(kHead) + Algorithm("good") + "k = [1, 2]\n" + kTable);
  ASSERT_EQ(RunProbe().code, 0);
  const Result two = Run("explain --out out ''");
  EXPECT_EQ(two.code, 1);
  ExpectContains(two.text, "2 cells begin with \"\": give more digits, such as ");
}

TEST_F(Program, AFolderWithoutResultsSaysHowToGetThem) {
  const Result result = Run("check --out nowhere");
  EXPECT_EQ(result.code, 1);
  ExpectContains(result.text, "no results here");
}

TEST_F(Program, AChangedLabelIsNotMeasuredAgainAChangedParameterIs) {
  Write(kGood);
  ASSERT_EQ(RunProbe().code, 0);
  Write(Replaced(kGood, "label = \"good\"", "label = \"Good (1)\""));
  ExpectContains(RunProbe().text, "0 measured, 1 stored before");
  Write(Replaced(kGood, "label = \"good\"\n", "label = \"good\"\nk = 2\n"));
  ExpectContains(RunProbe().text, "1 measured");
}

}  // namespace
}  // namespace retable

// How the program ends where a limit of the machine, a signal or a contender ends it: a clear line
// and a status of the contract.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/program_testing.hpp"

namespace retable {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Whether `is` comes true soon.
template <class Is>
bool Soon(const Is& is, double seconds = 20) {
  const auto begin = Clock::now();
  while (!is()) {
    if (Since(begin) > seconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class ProgramEnds : public Program {
 protected:
  // The program in the background, in a process group of its own; what it says goes to root_/log.
  pid_t Background(const std::string& arguments) const {
    const std::string command = "exec >'" + (root_ / "log").string() + "' 2>&1; " +
                                Replaced(Command(arguments), "&& ", "&& exec env ");
    const pid_t child = fork();
    if (child == 0) {
      setpgid(0, 0);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    return child;
  }

  std::string Log() const { return Slurp(root_ / "log"); }

  int Stored() const {
    std::error_code none;
    int cells = 0;
    for (const auto& file : fs::directory_iterator(root_ / "out/cells", none)) {
      cells += file.path().extension() == ".json";
    }
    return cells;
  }

  // Under a limit of the shell: "-s 64".
  Result RunUnder(const std::string& limit, const std::string& arguments) const {
    Result result{-1, ""};
    const std::string command = "ulimit " + limit + "; exec 2>&1; " + Command(arguments);
    FILE* pipe = popen(("{ " + command + "; echo \"status $?\"; } | cat").c_str(), "r");
    char buffer[4096];
    while (pipe && fgets(buffer, sizeof buffer, pipe)) result.text += buffer;
    if (pipe) pclose(pipe);
    const std::size_t status = result.text.rfind("status ");
    if (status != std::string::npos) result.code = std::atoi(result.text.c_str() + status + 7);
    return result;
  }

  bool Says(const std::string& text) const {
    return Soon([&] { return Log().find(text) != std::string::npos; });
  }
};

int StatusOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

const std::string kQuickThenLong = std::string(kHead) + Algorithm("good") + Algorithm("hangs") +
                                   "[settings]\nmilliseconds = 10\n" + kTable;

class Interrupted : public ProgramEnds, public ::testing::WithParamInterface<int> {};

TEST_P(Interrupted, FirstFinishesTheCellSecondStopsAtOnce) {
  Write(kQuickThenLong);
  const pid_t run = Background("run selftest/probe --out out --jobs 1");
  ASSERT_TRUE(Soon([&] { return Stored() == 1; })) << Log();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the second cell has begun
  auto asked = Clock::now();
  kill(run, GetParam());
  ASSERT_TRUE(Says("finishing selftest/probe hangs on here, again to stop now")) << Log();
  EXPECT_LT(Since(asked), 1.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(kill(run, 0), 0) << "it still works on the cell";
  asked = Clock::now();
  kill(run, GetParam());
  EXPECT_EQ(StatusOf(run), 130);
  EXPECT_LT(Since(asked), 1.0);
  ExpectContains(Log(), "interrupted; 1 measured and kept in out");
  EXPECT_EQ(Stored(), 1);
  Write(Replaced(kQuickThenLong, Algorithm("hangs"), ""));
  ExpectContains(RunProbe().text, "0 measured, 1 stored before");
}

TEST_P(Interrupted, OnceTheCellInHandIsFinishedAndKept) {
  Write(std::string(kHead) + "[settings]\nmilliseconds = 1500\n" + Algorithm("good") +
        "k = [1, 2, 3]\n" + kTable);
  const pid_t run = Background("run selftest/probe --out out --jobs 1");
  ASSERT_TRUE(Says("3 cells to measure")) << Log();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(run, GetParam());
  EXPECT_EQ(StatusOf(run), 130);
  EXPECT_EQ(Stored(), 1) << Log();
  ExpectContains(RunProbe().text, "2 measured, 1 stored before");
}

TEST_P(Interrupted, WhileATimedCellIsMeasuredOnceMore) {
  Write(std::string(kHead) + "exclusive = true\n" + Algorithm("simulated") + kTable);
  const pid_t run = Background("run selftest/probe --out out --rounds 100 --profile smoke");
  ASSERT_TRUE(Says("[refined]")) << Log();
  kill(run, GetParam());
  EXPECT_EQ(StatusOf(run), 130);
  EXPECT_EQ(Stored(), 1);
  EXPECT_EQ(TidyStatus(), "") << "tables are made at the end of a whole run";
  ExpectContains(Run("check --out out").text, "claims");
}

INSTANTIATE_TEST_SUITE_P(By, Interrupted, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& row) { return row.param == SIGINT ? "INT" : "TERM"; });

TEST_F(ProgramEnds, NothingFailedIsNothingToRun) {
  Write(kGood);
  const Result empty = RunProbe("--only failed");
  EXPECT_EQ(empty.code, 6) << empty.text;
  ExpectContains(empty.text, "nothing to run: no cell of these experiments has failed in out");
  EXPECT_FALSE(fs::exists(root_ / "out"));
  ASSERT_EQ(RunProbe().code, 0);
  EXPECT_EQ(RunProbe("--only failed").code, 6);
}

#if !defined(RETABLE_SANITIZED)  // a sanitised program reserves terabytes of addresses
TEST_F(ProgramEnds, MoreMemoryThanThereIsSaysSo) {
  const Result result =
      RunUnder("-v 2000000", "permutations --d 60000 --n 1000000 --method MC >/dev/null");
  EXPECT_EQ(result.code, 2) << result.text;
  ExpectContains(result.text, "out of memory: an allocation was refused");
  EXPECT_EQ(result.text.find("std::"), std::string::npos) << result.text;
  const Result sample = Run("shuffle sample --of 1000000000000 --take 1000000000000");
  EXPECT_EQ(sample.code, 1) << sample.text;
  ExpectContains(sample.text, "more than this machine has");
}

TEST_F(ProgramEnds, TooSmallAStackIsALine) {
  Write(kGood);
  for (const char* words : {"list", "run selftest/probe --out out", "shuffle rows --in x"}) {
    const Result result = RunUnder("-s 64", words);
    EXPECT_EQ(result.code, 1) << words << result.text;
    ExpectContains(result.text, "the stack is limited to 64 KB, and at least 1024 are needed");
  }
}
#endif

TEST_F(ProgramEnds, AFileBeyondItsLimitIsALine) {
  Write(kGood);
  const Result verb = RunUnder("-f 1", "permutations --d 30 --n 400 --out p.csv");
  EXPECT_EQ(verb.code, 2) << verb.text;
  ExpectContains(verb.text, "cannot write p.csv: File too large");
  EXPECT_FALSE(fs::exists(root_ / "p.csv"));
  const Result run = RunUnder("-f 1", "run selftest/probe --out out");
  EXPECT_EQ(run.code, 1) << run.text;
  ExpectContains(run.text, "raise the limit (ulimit -f)");
}

TEST_F(ProgramEnds, NumbersBeyondTheirTypeAreRefused) {
  for (const char* words : {"permutations --d 3 --n 4 --seed 18446744073709551616",
                            "permutations --d 3 --n 99999999999999999999",
                            "shuffle sample --of 10 --take 3 --seed 99999999999999999999999",
                            "shuffle rows --in x --seed 0x10000000000000000",
                            "shuffle sample --of 10 --take 3 --seed -1"}) {
    const Result result = Run(words);
    EXPECT_EQ(result.code, 1) << words << "\n" << result.text;
  }
  EXPECT_EQ(Run("shuffle sample --of 10 --take 3 --seed 18446744073709551615").code, 0);
  Write(kGood);
  EXPECT_EQ(RunProbe("--repeats 99999999999999999999").code, 1);
  EXPECT_EQ(RunProbe("--set seed=18446744073709551616").code, 1);
}

TEST_F(ProgramEnds, BytesThatAreNoTextAreReplacedNotThrown) {
  Write(std::string(kHead) + Algorithm("garbles") + kTable);
  for (const std::string& folder : {std::string("out"), std::string("o\377ut")}) {
    const Result run = Run("run selftest/probe --out " + folder);
    EXPECT_EQ(run.code, 2) << run.text;
    ExpectContains(run.text, "failed");
    EXPECT_EQ(run.text.find("json.exception"), std::string::npos) << run.text;
    int files = 0;
    for (const auto& file : fs::recursive_directory_iterator(root_ / folder)) {
      if (file.path().extension() != ".json") continue;
      ++files;
      EXPECT_TRUE(nlohmann::json::accept(Slurp(file.path()))) << file.path();
    }
    EXPECT_GE(files, 4);
  }
}

// A contender in another language, in a table of its own.
std::string Contender(const std::string& command) {
  return Replaced(Replaced(std::string(kHead), "selftest/behaviour", "shuffle/throughput"),
                  "\"here\"", "\"sequence\"") +
         "repeats = 1\nexclusive = true\n[[algorithm]]\nname = \"External\"\nlabel = \"theirs\"\n"
         "command = \"" +
         command +
         "\"\n[axes]\nw = [8]\nextra = [0]\nitem_bytes = [8]\n[settings]\nbudget = 0.05\n[table]\n"
         "rows = \"{label}\"\ncolumns = [{ name = \"rate\", metric = \"rate\" }]\n";
}

struct BadContender {
  const char* name;
  const char* script;
  int code;
  const char* status;
  const char* reason;
};

class BadContenders : public ProgramEnds, public ::testing::WithParamInterface<BadContender> {};

TEST_P(BadContenders, AreFailedCellsWithWhatTheySaid) {
  std::ofstream(root_ / "theirs.py") << GetParam().script;
  Write(Contender(GetParam().name == std::string("Absent") ? "/no/such/program"
                                                           : "python3 theirs.py"));
  const Result run = RunProbe();
  EXPECT_EQ(run.code, GetParam().code) << run.text;
  ExpectContains(TidyStatus(), GetParam().status);
  ExpectContains(TidyStatus(), GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadContenders,
    ::testing::Values(
        BadContender{"Absent", "", 2, "failed", "/no/such/program: not found"},
        BadContender{"NoModule", "import no_such_module\n", 2, "failed",
                     "line 1, in <module> | import no_such_module | ModuleNotFoundError: No module "
                     "named 'no_such_module'"},
        BadContender{"NoPython", "this is no Python\n", 2, "failed", "SyntaxError"},
        BadContender{"Latin", "import sys\nsys.stderr.buffer.write(b'caf\\xe9\\n')\nsys.exit(3)\n",
                     2, "failed", "caf\xEF\xBF\xBD"},
        BadContender{"Babbles", "print('hello')\n", 2, "failed", "its first line must be"},
        BadContender{"Lacks", "print('{\"unavailable\": \"no cheese\"}')\n", 0, "not_run",
                     "is not available: no cheese"}),
    [](const auto& row) { return std::string(row.param.name); });

// One that works for ever on what it is given, started by a script that stays.
constexpr const char* kStubborn = R"PY(
import json, os, sys, time
def say(reply): print(json.dumps(reply), flush=True)
open("pid-%d" % os.getpid(), "w").close()
say({"ready": "stubborn 1"})
for line in sys.stdin:
    break
else:
    sys.exit()
while True:
    time.sleep(1)
)PY";

class Orphans : public ProgramEnds {
 protected:
  // The process that was the nth to leave a file pid-N: numbers begin anew where they end.
  pid_t Busy(std::size_t nth) const {
    std::vector<std::pair<fs::file_time_type, pid_t>> pids;
    for (const auto& file : fs::directory_iterator(root_)) {
      const std::string name = file.path().filename().string();
      if (name.starts_with("pid-")) {
        pids.emplace_back(file.last_write_time(), std::atoi(name.c_str() + 4));
      }
    }
    std::sort(pids.begin(), pids.end());
    return pids.size() < nth ? 0 : pids[nth - 1].second;
  }

  static bool Lives(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(status, text);
    return !text.empty() && text.find(") Z ") == std::string::npos;
  }

  void ExpectNoOrphan(std::size_t processes) {
    const pid_t run = Background("run selftest/probe --out out --profile smoke");
    ASSERT_TRUE(Soon([&] { return Busy(processes) > 0; })) << Log();
    const pid_t contender = Busy(processes);
    ASSERT_TRUE(Lives(contender));
    kill(run, SIGKILL);
    StatusOf(run);
    EXPECT_TRUE(Soon([&] { return !Lives(contender); }, 5)) << "it outlived the run";
    if (Lives(contender)) kill(contender, SIGKILL);
  }
};

// The first process of each is the plan's question whether it is available.
TEST_F(Orphans, AResidentContenderDiesWithTheRun) {
  std::ofstream(root_ / "theirs.py") << kStubborn;
  Write(Contender("python3 theirs.py"));
  ExpectNoOrphan(2);
}

TEST_F(Orphans, SoDoesOneThatAScriptStarted) {
  std::ofstream(root_ / "theirs.py") << kStubborn;
  std::ofstream(root_ / "theirs.sh") << "python3 theirs.py\necho end\n";
  Write(Contender("sh theirs.sh"));
  ExpectNoOrphan(2);
}

}  // namespace
}  // namespace retable

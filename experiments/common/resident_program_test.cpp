// Contenders in another language: good ones, and every way of being a bad one.

#include "experiments/common/resident_program.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/temporary_folder.hpp"

namespace retable::experiments {
namespace {

// A contender of the standard library only: reverses the bytes of one array.
const char* const kReverse = R"PY(
import json, sys
source, target = sys.stdin.buffer, sys.stdout.buffer
def say(reply, data=b""):
    target.write(json.dumps(reply).encode() + b"\n" + data); target.flush()
say({"ready": "reverse 1"})
for line in source:
    request = json.loads(line)
    do = request["do"]
    if do == "load":
        size = 1
        for extent in request["arrays"][0]["shape"]: size *= extent
        data, mood = source.read(size), request.get("mood")
        say({"ok": True})
    elif do == "run":
        if mood == "quits": sys.exit(3)
        if mood == "fails": say({"ok": False, "error": "out of cheese"}); continue
        if mood == "numbers": say({"ok": False, "error": 5}); continue
        if mood == "hurries": say({"ok": True}, b'{"ok": true}\n'); continue
        if mood == "babbles": target.write(b"hello?\n"); target.flush(); continue
        result = data[::-1]
        say({"ok": True})
    elif do == "answer":
        kind = "complex" if mood == "odd" else "uint8"
        shape = [1 << 30, 1 << 30] if mood == "huge" else ["3"] if mood == "texts" else [len(result)]
        if mood == "shapeless": say({"ok": True, "arrays": [{"name": "out", "type": kind}]}); continue
        if mood == "listless": say({"ok": True, "arrays": "out"}); continue
        say({"ok": True, "arrays": [{"name": "out", "type": kind, "shape": shape}]}, result)
    else:
        say({"ok": True})
)PY";

class Resident : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.path() / "reverse.py";
    std::ofstream(path_) << kReverse;
    command_ = "python3 '" + path_ + "'";
    setenv("RETABLE_ROOT", RETABLE_SOURCE_DIR, 1);
  }

  static SentArray Bytes(std::string_view text) {
    return {"items", "uint8", {text.size()}, std::as_bytes(std::span(text))};
  }

  // What a contender of this mood says at "run" or "answer".
  std::string Complaint(const char* mood) {
    ResidentProgram program(command_);
    program.Load({{"mood", mood}}, {Bytes("abc")});
    try {
      program.Run();
      program.Answer({});
    } catch (const std::exception& problem) {
      return problem.what();
    }
    return "";
  }

  TemporaryFolder folder_;
  std::string path_, command_;
};

TEST_F(Resident, LoadsRunsAndAnswersAgainAndAgain) {
  ResidentProgram program(command_);
  EXPECT_EQ(program.description(), "reverse 1");
  for (const std::string& text :
       {std::string("retable"), std::string(), std::string(1 << 20, 'x')}) {
    program.Load({{"task", "reverse"}}, {Bytes(text)});
    program.Run();
    const auto answer = program.Answer({});
    ASSERT_EQ(answer.size(), 1u);
    const std::string back(reinterpret_cast<const char*>(answer[0].bytes.data()),
                           answer[0].bytes.size());
    EXPECT_EQ(back, std::string(text.rbegin(), text.rend()));
  }
  EXPECT_GT(program.RoundTrip(), 0);
  EXPECT_LT(program.RoundTrip(), 0.5);
  EXPECT_NE(DescribeResident(program).find("reverse 1, resident"), std::string::npos);
}

TEST_F(Resident, EveryMisbehaviourHasItsReason) {
  EXPECT_NE(Complaint("quits").find("exit code 3"), std::string::npos);
  EXPECT_NE(Complaint("fails").find("out of cheese"), std::string::npos);
  EXPECT_NE(Complaint("numbers").find("failed"), std::string::npos);
  EXPECT_NE(Complaint("hurries").find("answered before it was asked"), std::string::npos);
  EXPECT_NE(Complaint("babbles").find("not an answer: hello?"), std::string::npos);
  EXPECT_NE(Complaint("odd").find("unknown type of array \"complex\""), std::string::npos);
  EXPECT_NE(Complaint("huge").find("more than 2^40"), std::string::npos);
  for (const char* mood : {"texts", "shapeless", "listless"}) {
    EXPECT_NE(Complaint(mood).find(command_ + ": \"arrays\" is a list of"), std::string::npos)
        << mood;
  }
}

TEST_F(Resident, WhatLacksSomethingIsKnownBeforeItIsPlanned) {
  EXPECT_THROW(ResidentProgram(""), std::invalid_argument);
  EXPECT_THROW(ResidentProgram("echo hello"), std::runtime_error);
  EXPECT_THROW(ResidentProgram("true"), std::runtime_error);
  const std::string lacks = "echo '{\"unavailable\": \"no module named cheese\"}'";
  EXPECT_THROW(ResidentProgram{lacks}, ProgramUnavailable);
  EXPECT_NE(StateOfResident(lacks).lack.value_or("").find("no module named cheese"),
            std::string::npos);
  EXPECT_THROW(ResidentProgram("sleep 60", 10), std::runtime_error);
  EXPECT_THROW(ResidentProgram("sh -c 'printf \\{; exec sleep 60'", 50), std::runtime_error);
  // What is not there at all is a failure, which its cell reports.
  EXPECT_FALSE(StateOfResident("/no/such/program").lack);
  EXPECT_FALSE(StateOfResident(command_).lack);
  harness::CellConfig cell;
  cell.algorithm = "External";
  cell.parameters["command"] = lacks;
  EXPECT_TRUE(WhyNotExternal(cell));
  cell.algorithm = "std::shuffle";
  EXPECT_FALSE(WhyNotExternal(cell));
}

TEST_F(Resident, WhatItStartedEndsWithTheQuestionWhatItLacks) {
  const std::string note = folder_.path() / "child";
  for (const char* end : {"cat", "exit 1"}) {  // it stays, or ends before it is ended
    StateOfResident("sleep 1000 >/dev/null & echo $! > '" + note +
                    "'; echo '{\"ready\": \"parent\"}'; " + end);
    pid_t child = 0;
    std::ifstream(note) >> child;
    ASSERT_GT(child, 0) << end;
    const auto state = [&] {
      std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
      std::string word, status = "gone";
      stat >> word >> word >> status;
      return status;
    };
    for (int i = 0; i < 200 && state() != "gone" && state() != "Z"; ++i) usleep(10000);
    EXPECT_TRUE(state() == "gone" || state() == "Z") << state() << " after " << end;
    kill(child, SIGKILL);
  }
}

// As the experiments name the user's Python.
TEST_F(Resident, RetablePythonMayHoldSpaces) {
  const auto python = folder_.path() / "my user's python";
  std::ofstream(python) << "#!/bin/sh\nexec python3 \"$@\"\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  setenv("RETABLE_PYTHON", python.c_str(), 1);
  const ResidentProgram program("\"${RETABLE_PYTHON:-python3}\" '" + path_ + "'");
  unsetenv("RETABLE_PYTHON");
  EXPECT_EQ(program.description(), "reverse 1");
}

}  // namespace
}  // namespace retable::experiments

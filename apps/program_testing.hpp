#pragma once
//! @file
//! For tests that start the program from outside, as a user does.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace retable {

namespace fs = std::filesystem;

inline std::string Slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Result {
  int code;
  std::string text;  //!< standard output and error together
};

inline const char* const kHead = R"(version = 1
id = "selftest/probe"
protocol = "selftest/behaviour"
title = "Probe"
question = "Does it?"
citation = "nobody"
datasets = ["here"]
)";

inline const char* const kTable = R"(
[table]
rows = "{label}"
over = ["size", "k"]
columns = [{ name = "product", metric = "product", statistic = "mean" }]
)";

inline std::string Algorithm(const std::string& name) {
  return fmt::format("[[algorithm]]\nname = \"{}\"\nlabel = \"{}\"\n", name, name);
}

// A folder of its own with one experiment; the program is told to look there.
class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "retable-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "experiments/selftest");
    fs::create_directories(root_ / "plots");
  }

  void TearDown() override {
    std::error_code ignored;
    fs::permissions(root_, fs::perms::owner_all, ignored);
    fs::remove_all(root_, ignored);
  }

  void Write(const std::string& toml, const std::string& name = "probe") {
    std::ofstream(root_ / "experiments/selftest" / (name + ".toml")) << toml;
  }

  std::string Out() const { return (root_ / "out").string(); }

  std::string Command(const std::string& arguments) const {
    return fmt::format(
        "cd '{0}' && RETABLE_SELFTEST=1 RETABLE_SELFTEST_COUNT='{0}/executions' "
        "RETABLE_ROOT='{0}' NO_COLOR=1 RETABLE_CACHE='{0}/cache' '{1}' {2}",
        root_.string(), RETABLE_PROGRAM, arguments);
  }

  Result Run(const std::string& arguments) const {
    Result result{-1, ""};
    FILE* pipe = popen((Command(arguments) + " 2>&1").c_str(), "r");
    char buffer[4096];
    while (pipe && fgets(buffer, sizeof buffer, pipe)) result.text += buffer;
    const int status = pipe ? pclose(pipe) : -1;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }

  Result RunProbe(const std::string& more = "") const {
    return Run("run selftest/probe --out out " + more);
  }

  std::string TidyStatus() const {
    // status and reason of the single cell
    std::ifstream file(root_ / "out/selftest/probe.tidy.csv");
    std::string header, row;
    std::getline(file, header);
    std::getline(file, row);
    return row;
  }

  fs::path root_;
};

inline void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "looked for: " << part << "\nin: " << text;
}

inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

inline const std::string kGood = std::string(kHead) + Algorithm("good") + kTable;

// Starts the program in the background, in a process group of its own.
inline pid_t Start(const std::string& command) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    execl("/bin/sh", "sh", "-c", ("exec " + command.substr(command.find("env "))).c_str(), nullptr);
    _exit(127);
  }
  return child;
}

}  // namespace retable

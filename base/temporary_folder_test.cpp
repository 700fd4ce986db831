#include "base/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace retable {
namespace {

TEST(TemporaryFolder, GoesWithAllInIt) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder, other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    std::filesystem::create_directory(path / "inner");
    std::ofstream(path / "inner/file") << "x";
    EXPECT_TRUE(std::filesystem::exists(path / "inner/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolder, WhatAKilledProcessLeftGoesAndLivingOnesAreSpared) {
  const TemporaryFolder inside;  // and what is made below lies in it
  const char* old = std::getenv("TMPDIR");
  const std::string before = old ? old : "";
  setenv("TMPDIR", inside.path().c_str(), 1);
  const auto make = [](bool die) {
    const pid_t child = fork();
    if (child != 0) return child;
    execlp("/proc/self/exe", "base_tests", "--gtest_also_run_disabled_tests",
           die ? "--gtest_filter=*MakeOneAndDie" : "--gtest_filter=*MakeOneAndLook", nullptr);
    _exit(127);
  };
  int status = 0;
  waitpid(make(true), &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_FALSE(std::filesystem::is_empty(inside.path()));
  waitpid(make(false), &status, 0);
  EXPECT_EQ(status, 0) << "the next process found what the killed one left";
  if (old) setenv("TMPDIR", before.c_str(), 1);
  if (!old) unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::exists(inside.path()));
}

// The children of the test above.
TEST(TemporaryFolder, DISABLED_MakeOneAndDie) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  raise(SIGKILL);
}
TEST(TemporaryFolder, DISABLED_MakeOneAndLook) {
  std::filesystem::create_directory(std::filesystem::temp_directory_path() / "retable-report");
  const TemporaryFolder folder;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path().parent_path())) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{"retable-report", folder.path().filename().string()}));
}

}  // namespace
}  // namespace retable

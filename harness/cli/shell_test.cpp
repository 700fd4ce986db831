#include "harness/cli/shell.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

TEST(ShellWord, QuotesWhatAShellWouldTouch) {
  EXPECT_EQ(ShellWord("results/latest"), "results/latest");
  EXPECT_EQ(ShellWord("--set=repeats=3"), "--set=repeats=3");
  EXPECT_EQ(ShellWord("*"), "'*'");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("$HOME;`id`"), "'$HOME;`id`'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace retable::harness

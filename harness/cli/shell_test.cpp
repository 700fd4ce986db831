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

TEST(ShellWords, StandBetweenSpacesThatNoQuoteHolds) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(ShellWords("python3  a.py\t--x"), (Words{"python3", "a.py", "--x"}));
  EXPECT_EQ(ShellWords(" --comment='a b' "), (Words{"--comment=a b"}));
  EXPECT_EQ(ShellWords("\"it's\" ''"), (Words{"it's", ""}));
  EXPECT_EQ(ShellWords(" "), Words{});
}

}  // namespace
}  // namespace retable::harness

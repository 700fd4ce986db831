#include "base/glob.hpp"

#include <gtest/gtest.h>

#include <string>

namespace retable {
namespace {

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_FALSE(GlobMatches("", "a"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_TRUE(GlobMatches("a*c", "abbc"));
  EXPECT_TRUE(GlobMatches("*ab*ab", "xabyabab"));
  EXPECT_FALSE(GlobMatches("*ab*ab", "xaby"));
  EXPECT_TRUE(GlobMatches("a?c*", "abc"));
  EXPECT_FALSE(GlobMatches("a[b]c", "abc"));
  EXPECT_TRUE(GlobMatches("KLL (m=*)", "KLL (m=50)"));
  EXPECT_FALSE(GlobMatches(std::string(100, '*') + "b", std::string(10000, 'a')));  // no blow-up
}

TEST(Glob, MatchesIds) {
  EXPECT_TRUE(GlobMatches("*", "quantiles/table2"));
  EXPECT_TRUE(GlobMatches("quantiles/fig*", "quantiles/fig10"));
  EXPECT_FALSE(GlobMatches("quantiles/fig?", "quantiles/fig10"));
}

}  // namespace
}  // namespace retable

#include "base/text/suggest.hpp"

#include <gtest/gtest.h>

namespace retable {
namespace {

TEST(EditDistance, CountsEachKindOfEdit) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("abc", "abc"), 0u);
  EXPECT_EQ(EditDistance("abc", "abd"), 1u);
  EXPECT_EQ(EditDistance("abc", "abcd"), 1u);
  EXPECT_EQ(EditDistance("abcd", "bcd"), 1u);
  EXPECT_EQ(EditDistance("abcd", "abdc"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("ca", "abc"), 3u);  // 2 in the unrestricted form
}

TEST(Nearest, FindsSlips) {
  const std::vector<std::string> known = {"ME-central", "ME-naive", "KLL", "Legendre"};
  EXPECT_EQ(Nearest("ME-cenrtal", known), "ME-central");
  EXPECT_EQ(Nearest("me-naive", known), "ME-naive");
  EXPECT_EQ(Nearest("KL", known), "KLL");
  EXPECT_EQ(Nearest("legendr", known), "Legendre");
}

TEST(Nearest, KeepsSilentWhenNothingIsNear) {
  EXPECT_FALSE(Nearest("anything", {}));
  EXPECT_FALSE(Nearest("zzzzzzzz", {"KLL", "ME-central"}));
  EXPECT_FALSE(Nearest("", {"KLL"}));
}

TEST(Nearest, TakesAPartOfExactlyOneName) {
  EXPECT_EQ(Nearest("table2", {"quantiles/table2", "quantiles/fig1"}), "quantiles/table2");
  EXPECT_FALSE(Nearest("table", {"quantiles/table2", "quantiles/table3"}));
}

TEST(Nearest, FirstOfEqualsWins) {
  EXPECT_EQ(Nearest("fig", {"fig1", "fig2"}), "fig1");
}

TEST(DidYouMean, NamesTheNearestAndTheKnown) {
  EXPECT_EQ(DidYouMean("al", {"a1", "b"}), " (did you mean \"a1\"? known: a1, b)");
  EXPECT_EQ(DidYouMean("zzzz", {"a", "b"}), " (known: a, b)");
  EXPECT_EQ(DidYouMean("x", {}), "");
}

TEST(DidYouMean, CapsTheList) {
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i) many.push_back("name" + std::to_string(i));
  const std::string text = DidYouMean("zzzzzzzzzzzzzz", many);
  EXPECT_NE(text.find("name7 and 12 more)"), std::string::npos) << text;
  EXPECT_EQ(text.find("name8"), std::string::npos) << text;
}

}  // namespace
}  // namespace retable

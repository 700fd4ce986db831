#include "base/cuda/tuned.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace retable {
namespace {

constexpr TunedConstant kItems{"family/items", 64, {32, 128}, "items a thread moves"};

class TunedValues : public testing::Test {
 protected:
  void TearDown() override { ClearTuned(); }
};

TEST_F(TunedValues, AreStandardUntilAFileSaysOtherwise) {
  EXPECT_EQ(Tuned(kItems), 64u);
  ReadTuned("# a comment\n\nfamily/items 128  # faster\nfamily/gone 3\n", "file");
  EXPECT_EQ(Tuned(kItems), 128u);
  EXPECT_EQ(WriteTuned(), "family/gone 3\nfamily/items 128\n");
  ClearTuned();
  EXPECT_EQ(Tuned(kItems), 64u);
}

TEST_F(TunedValues, AreTriedWithTheStandardOneFirstAndNoZeroThatFillsTheArray) {
  EXPECT_EQ(ValuesOf(kItems), (std::vector<std::uint64_t>{64, 32, 128}));
  EXPECT_EQ(ValuesOf({"family/items", 32, {32}, ""}), std::vector<std::uint64_t>{32});
}

TEST_F(TunedValues, ADamagedFileIsRefusedWholeWithItsLine) {
  for (const char* damaged : {"family/items", "family/items x", "family/items 0", "family/items -1",
                              "family/items 1 2", "family/items 99999999999999999999"}) {
    try {
      ReadTuned(std::string("family/items 32\n") + damaged + "\n", "cards/90-50.txt");
      FAIL() << damaged;
    } catch (const std::invalid_argument& problem) {
      EXPECT_NE(std::string(problem.what()).find("cards/90-50.txt:2: "), std::string::npos)
          << problem.what();
    }
    EXPECT_EQ(Tuned(kItems), 64u) << damaged;
  }
}

}  // namespace
}  // namespace retable

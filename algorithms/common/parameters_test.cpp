#include "algorithms/common/parameters.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace retable {
namespace {

TEST(Parameters, AnIntIsRefusedWhereItWouldBeCut) {
  const auto read = [](std::int64_t value, int least = 0) {
    return IntParameter({{"threads", value}}, "threads", 7, least);
  };
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(IntParameter({}, "threads", 7), 7);
  EXPECT_EQ(read(0), 0);
  EXPECT_EQ(read(kMost), kMost);
  EXPECT_EQ(read(-1, -1), -1);
  EXPECT_THROW(read(kMost + 1), std::invalid_argument);
  EXPECT_THROW(read(-2, -1), std::invalid_argument);
  EXPECT_THROW(read(std::numeric_limits<std::int64_t>::min()), std::invalid_argument);
  EXPECT_THROW(IntParameter({{"threads", 2.0}}, "threads", 0), std::invalid_argument);
  try {
    read(4294967298);
    FAIL() << "it was cut to 2";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "parameter \"threads\" must be an integer from 0 to 2147483647, not 4294967298");
  }
}

}  // namespace
}  // namespace retable

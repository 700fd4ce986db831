#include "base/cuda/unroll.hpp"

#include <gtest/gtest.h>

namespace {

TEST(Unroll, LoopsComputeWhatTheyComputedBefore) {
  int sum = 0;
  RETABLE_UNROLL
  for (int i = 0; i < 10; ++i) sum += i;
  RETABLE_UNROLL_ALL
  for (int i = 0; i < 40; ++i) sum += i;
  RETABLE_ROLLED
  for (int i = 0; i < 10; ++i) sum -= i;
  EXPECT_EQ(sum, 780);
}

}  // namespace

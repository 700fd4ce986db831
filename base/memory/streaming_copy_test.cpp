#include "base/memory/streaming_copy.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace retable {
namespace {

TEST(StreamingCopy, CopiesAnyNumberToAnyPlace) {
  std::vector<double> from(70);
  std::iota(from.begin(), from.end(), 1.0);
  for (std::size_t count = 0; count <= 64; ++count) {
    for (std::size_t at = 0; at < 4; ++at) {
      std::vector<double> to(72, -1.0);
      StreamingCopy(from.data() + at % 3, count, to.data() + at);
      FinishStreaming();
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= at && i < at + count;
        ASSERT_EQ(to[i], inside ? from[at % 3 + i - at] : -1.0) << count << " at " << at;
      }
    }
  }
}

TEST(StreamingCopy, SmallResultsStayInTheCaches) {
  EXPECT_FALSE(OutgrowsCaches(1 << 16));
  EXPECT_TRUE(OutgrowsCaches(std::size_t{1} << 40));
}

}  // namespace
}  // namespace retable

#include "base/simd_target.hpp"

#include <gtest/gtest.h>

namespace retable {
namespace {

TEST(SimdTarget, NarrowerVectorsAreChosenWhereWiderOnesAreForbidden) {
  const Simd best = DetectSimd();
  widest_vectors = 256;
  EXPECT_LE(DetectSimd(), Simd::kAvx2);
  EXPECT_LE(DetectSimd(), best);
  widest_vectors = 128;
  EXPECT_EQ(DetectSimd(), Simd::kPlain);
  widest_vectors = 512;
  EXPECT_EQ(DetectSimd(), best);
}

TEST(SimdTarget, AFunctionIsCalledWithTheWidthOfTheBestVectors) {
  const int width = ByWidestVectors([]<int W>() RETABLE_INLINED { return W; });
  EXPECT_EQ(width, 2 << static_cast<int>(DetectSimd()));
}

RETABLE_CLONES int Sum(const int* values, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum;
}

#if defined(RETABLE_X86)
RETABLE_AVX2 int SumAvx2(const int* values, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum;
}
RETABLE_AVX512 int SumAvx512(const int* values, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum;
}
#endif

TEST(SimdTarget, TargetsThatTheProcessorHasRun) {
  int values[37];
  for (int i = 0; i < 37; ++i) values[i] = i;
  EXPECT_EQ(Sum(values, 37), 666);
#if defined(RETABLE_X86)
  if (HasAvx2()) {
    EXPECT_EQ(SumAvx2(values, 37), 666);
  }
  if (HasAvx512()) {
    EXPECT_EQ(SumAvx512(values, 37), 666);
  }
#endif
}

}  // namespace
}  // namespace retable

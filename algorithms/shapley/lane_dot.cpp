#include "algorithms/shapley/lane_dot.hpp"
#include "base/simd_target.hpp"

namespace retable::shapley {
namespace {

using Eight = double __attribute__((vector_size(64), aligned(8), may_alias));

// Inlined into one function for each instruction set; contraction is off, so all agree.
RETABLE_ALWAYS_INLINE double Dot(const double* a, const double* b, std::size_t n) {
  Eight sum[4] = {};
  for (std::size_t i = 0; i < n; i += kDotLanes) {
    const auto* x = reinterpret_cast<const Eight*>(a + i);
    const auto* y = reinterpret_cast<const Eight*>(b + i);
    sum[0] += x[0] * y[0];
    sum[1] += x[1] * y[1];
    sum[2] += x[2] * y[2];
    sum[3] += x[3] * y[3];
  }
  sum[0] += sum[2];  // lanes 16 apart
  sum[1] += sum[3];
  sum[0] += sum[1];  // 8
  double lane[8];
  for (int k = 0; k < 8; ++k) lane[k] = sum[0][k];
  for (int width = 4; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
  }
  return lane[0];
}

using Function = double (*)(const double*, const double*, std::size_t);

double DotPlain(const double* a, const double* b, std::size_t n) {
  return Dot(a, b, n);
}

#if defined(RETABLE_X86)
RETABLE_AVX2 double DotAvx2(const double* a, const double* b, std::size_t n) {
  return Dot(a, b, n);
}
RETABLE_AVX512 double DotAvx512(const double* a, const double* b, std::size_t n) {
  return Dot(a, b, n);
}
#endif

Function Choose() {
#if defined(RETABLE_X86)
  if (HasAvx512()) return DotAvx512;
  if (HasAvx2()) return DotAvx2;
#endif
  return DotPlain;
}

}  // namespace

double LaneDot(const double* a, const double* b, std::size_t n) {
  static const Function dot = Choose();
  return dot(a, b, n);
}

}  // namespace retable::shapley

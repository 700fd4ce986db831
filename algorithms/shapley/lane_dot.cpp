#include "algorithms/shapley/lane_dot.hpp"

#include <cstring>

#include "base/cuda/unroll.hpp"
#include "base/simd_target.hpp"

namespace retable::shapley {
namespace {

using Two = double __attribute__((vector_size(16)));
using Four = double __attribute__((vector_size(32)));
using Eight = double __attribute__((vector_size(64)));

// Inlined into one function for each instruction set, with its vectors; contraction is off, so all
// agree.
template <class Vector>
RETABLE_ALWAYS_INLINE double Dot(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t kWidth = sizeof(Vector) / sizeof(double), kVectors = kDotLanes / kWidth;
  Vector sum[kVectors] = {};
  for (std::size_t i = 0; i < n; i += kDotLanes) {
    RETABLE_UNROLL_ALL
    for (std::size_t v = 0; v < kVectors; ++v) {
      Vector x, y;
      std::memcpy(&x, a + i + v * kWidth, sizeof x);
      std::memcpy(&y, b + i + v * kWidth, sizeof y);
      sum[v] += x * y;
    }
  }
  double lane[kDotLanes];
  std::memcpy(lane, sum, sizeof lane);
  for (std::size_t width = kDotLanes / 2; width > 0; width /= 2) {
    for (std::size_t k = 0; k < width; ++k) lane[k] += lane[k + width];
  }
  return lane[0];
}

using Function = double (*)(const double*, const double*, std::size_t);

double DotPlain(const double* a, const double* b, std::size_t n) {
  return Dot<Two>(a, b, n);
}

#if defined(RETABLE_X86)
RETABLE_AVX2 double DotAvx2(const double* a, const double* b, std::size_t n) {
  return Dot<Four>(a, b, n);
}
RETABLE_AVX512 double DotAvx512(const double* a, const double* b, std::size_t n) {
  return Dot<Eight>(a, b, n);
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

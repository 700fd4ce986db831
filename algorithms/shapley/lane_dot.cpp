#include "algorithms/shapley/lane_dot.hpp"

#include <cstring>

#include "base/cuda/unroll.hpp"
#include "base/simd_target.hpp"

namespace retable::shapley {
namespace {

// Inlined into one function for each instruction set, with its vectors; contraction is off, so all
// agree.
template <int W>
RETABLE_ALWAYS_INLINE double Dot(const double* a, const double* b, std::size_t n) {
  typedef double Vector __attribute__((vector_size(8 * W)));
  constexpr std::size_t kWidth = W, kVectors = kDotLanes / kWidth;
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

}  // namespace

double LaneDot(const double* a, const double* b, std::size_t n) {
  return ByWidestVectors([&]<int W>() RETABLE_INLINED { return Dot<W>(a, b, n); });
}

}  // namespace retable::shapley

// Quadrature tree SHAP compiled for the build's own instruction set; see
// quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

namespace {

constexpr int kVectorBytes = 16;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace

SimdFunction<float> SimdBaselineFloat(int points, bool pairs) {
  return Function<float, 4>(points, pairs);
}
SimdFunction<double> SimdBaselineDouble(int points, bool pairs) {
  return Function<double, 4>(points, pairs);
}

}  // namespace retable::treeshap

// Quadrature tree SHAP compiled for the build's own instruction set; see
// quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

namespace {

constexpr int kVectorBytes = 16;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace

SimdKernels<float> SimdBaselineFloat(int points) {
  return KernelsOf<float, 4>(points);
}
SimdKernels<double> SimdBaselineDouble(int points) {
  return KernelsOf<double, 4>(points);
}

}  // namespace retable::treeshap

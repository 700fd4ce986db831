// Quadrature tree SHAP compiled for AVX2; see quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

#if defined(__AVX2__)

namespace {

constexpr int kVectorBytes = 32;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace

SimdKernels<float> SimdAvx2Float(int points) {
  return KernelsOf<float, 2, 3, 4, 6, 8>(points);
}
SimdKernels<double> SimdAvx2Double(int points) {
  return KernelsOf<double, 2, 3, 4, 6, 8>(points);
}

#else

SimdKernels<float> SimdAvx2Float(int) {
  return {};
}
SimdKernels<double> SimdAvx2Double(int) {
  return {};
}

#endif

}  // namespace retable::treeshap

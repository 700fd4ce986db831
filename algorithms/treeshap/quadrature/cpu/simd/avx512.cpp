// Quadrature tree SHAP compiled for AVX-512; see quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

#if defined(__AVX512F__)

namespace {

constexpr int kVectorBytes = 64;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace

SimdKernels<float> SimdAvx512Float(int points) {
  return KernelsOf<float, 2, 3, 4, 6, 8>(points);
}
SimdKernels<double> SimdAvx512Double(int points) {
  return KernelsOf<double, 2, 3, 4, 6, 8>(points);
}

#else

SimdKernels<float> SimdAvx512Float(int) {
  return {};
}
SimdKernels<double> SimdAvx512Double(int) {
  return {};
}

#endif

}  // namespace retable::treeshap

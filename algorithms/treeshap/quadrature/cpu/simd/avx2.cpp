// Quadrature tree SHAP compiled for AVX2; see quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

#if defined(__AVX2__)

namespace {

constexpr int kVectorBytes = 32;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace

SimdFunction<float> SimdAvx2Float(int points, bool pairs) {
  return Function<float, 2, 3, 4, 6, 8>(points, pairs);
}
SimdFunction<double> SimdAvx2Double(int points, bool pairs) {
  return Function<double, 2, 3, 4, 6, 8>(points, pairs);
}

#else

SimdFunction<float> SimdAvx2Float(int, bool) {
  return nullptr;
}
SimdFunction<double> SimdAvx2Double(int, bool) {
  return nullptr;
}

#endif

}  // namespace retable::treeshap

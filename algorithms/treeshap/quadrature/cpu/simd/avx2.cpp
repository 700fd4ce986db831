// Quadrature tree SHAP compiled for AVX2; see quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

#if defined(__AVX2__)
namespace {

constexpr int kVectorBytes = 32;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace
#endif

template <class T>
SimdKernels<T> SimdAvx2([[maybe_unused]] int points) {
#if defined(__AVX2__)
  return KernelsOf<T, 2, 3, 4, 5, 6, 7, 8>(points);
#else
  return {};
#endif
}

template SimdKernels<float> SimdAvx2(int);
template SimdKernels<double> SimdAvx2(int);

}  // namespace retable::treeshap

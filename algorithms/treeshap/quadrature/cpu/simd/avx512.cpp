// Quadrature tree SHAP compiled for AVX-512; see quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

#if defined(__AVX512F__)
namespace {

constexpr int kVectorBytes = 64;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace
#endif

template <class T>
SimdKernels<T> SimdAvx512([[maybe_unused]] int points) {
#if defined(__AVX512F__)
  return KernelsOf<T, 2, 3, 4, 5, 6, 7, 8>(points);
#else
  return {};
#endif
}

template SimdKernels<float> SimdAvx512(int);
template SimdKernels<double> SimdAvx512(int);

}  // namespace retable::treeshap

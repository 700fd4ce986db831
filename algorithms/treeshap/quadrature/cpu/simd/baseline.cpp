// Quadrature tree SHAP compiled for the build's own instruction set; see
// quadrature/cpu/simd/row_block.hpp.
#include "algorithms/treeshap/quadrature/cpu/simd/row_block.hpp"

namespace retable::treeshap {

namespace {

constexpr int kVectorBytes = 16;

#include "algorithms/treeshap/quadrature/cpu/simd/row_block.inc"

}  // namespace

template <class T>
SimdKernels<T> SimdBaseline(int points) {
  return KernelsOf<T, 4>(points);
}

template SimdKernels<float> SimdBaseline(int);
template SimdKernels<double> SimdBaseline(int);

}  // namespace retable::treeshap

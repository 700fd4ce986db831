// Quadrature tree SHAP compiled for the build's own instruction set; see quadrature_simd.hpp.
#include "algorithms/treeshap/quadrature_simd.hpp"

namespace retable::treeshap {

namespace {

#include "algorithms/treeshap/quadrature_simd.inc"

}  // namespace

SimdFunction<float> SimdBaselineFloat() {
  return RunBlock<float>;
}
SimdFunction<double> SimdBaselineDouble() {
  return RunBlock<double>;
}

}  // namespace retable::treeshap

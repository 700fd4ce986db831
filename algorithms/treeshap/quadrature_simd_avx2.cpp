// Quadrature tree SHAP compiled for AVX2; see quadrature_simd.hpp.
#include "algorithms/treeshap/quadrature_simd.hpp"

namespace retable::treeshap {

#if defined(__AVX2__)

namespace {

#include "algorithms/treeshap/quadrature_simd.inc"

}  // namespace

SimdFunction<float> SimdAvx2Float() {
  return RunBlock<float>;
}
SimdFunction<double> SimdAvx2Double() {
  return RunBlock<double>;
}

#else

SimdFunction<float> SimdAvx2Float() {
  return nullptr;
}
SimdFunction<double> SimdAvx2Double() {
  return nullptr;
}

#endif

}  // namespace retable::treeshap

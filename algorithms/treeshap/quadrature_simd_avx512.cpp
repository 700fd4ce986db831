// Quadrature tree SHAP compiled for AVX-512; see quadrature_simd.hpp.
#include "algorithms/treeshap/quadrature_simd.hpp"

namespace retable::treeshap {

#if defined(__AVX512F__)

namespace {

#include "algorithms/treeshap/quadrature_simd.inc"

}  // namespace

SimdFunction<float> SimdAvx512Float() {
  return RunBlock<float>;
}
SimdFunction<double> SimdAvx512Double() {
  return RunBlock<double>;
}

#else

SimdFunction<float> SimdAvx512Float() {
  return nullptr;
}
SimdFunction<double> SimdAvx512Double() {
  return nullptr;
}

#endif

}  // namespace retable::treeshap

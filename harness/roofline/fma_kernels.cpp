#include "harness/roofline/fma_kernels.hpp"

#include "base/simd_target.hpp"
#include "harness/timing/timing.hpp"

namespace retable::harness {
namespace {

constexpr int kChains = 12;

// x <- 0.5 x + 1 stays near 2 for ever: no overflow, no subnormals.
template <typename T>
std::int64_t Portable(std::int64_t steps) {
  constexpr int kLanes = 32;
  T x[kLanes] = {};
  for (std::int64_t s = 0; s < steps; ++s) {
    for (T& lane : x) lane = lane * T(0.5) + T(1);
  }
  KeepAlive(x);
  return steps * kLanes * 2;
}

#if defined(RETABLE_X86)

#define RETABLE_FMA_KERNEL(TARGET, NAME, VECTOR, LANES, PREFIX, SUFFIX)                \
  TARGET std::int64_t NAME(std::int64_t steps) {                                       \
    VECTOR x[kChains];                                                                 \
    const VECTOR half = PREFIX##_set1_##SUFFIX(0.5F), one = PREFIX##_set1_##SUFFIX(1); \
    for (VECTOR & chain : x) chain = one;                                              \
    for (std::int64_t s = 0; s < steps; ++s) {                                         \
      for (VECTOR & chain : x) chain = PREFIX##_fmadd_##SUFFIX(chain, half, one);      \
    }                                                                                  \
    KeepAlive(x);                                                                      \
    return steps * kChains * LANES * 2;                                                \
  }
RETABLE_FMA_KERNEL(RETABLE_AVX2, Avx2Double, __m256d, 4, _mm256, pd)
RETABLE_FMA_KERNEL(RETABLE_AVX2, Avx2Float, __m256, 8, _mm256, ps)
RETABLE_FMA_KERNEL(RETABLE_AVX512, Avx512Double, __m512d, 8, _mm512, pd)
RETABLE_FMA_KERNEL(RETABLE_AVX512, Avx512Float, __m512, 16, _mm512, ps)

#endif

}  // namespace

const FmaKernels& BestFmaKernels() {
  static const FmaKernels portable{"portable", &Portable<double>, &Portable<float>};
#if defined(RETABLE_X86)
  static const FmaKernels avx2{"AVX2", &Avx2Double, &Avx2Float};
  static const FmaKernels avx512{"AVX-512", &Avx512Double, &Avx512Float};
  if (HasAvx512()) return avx512;
  if (HasAvx2()) return avx2;
#endif
  return portable;
}

}  // namespace retable::harness

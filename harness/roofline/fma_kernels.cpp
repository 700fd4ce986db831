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

RETABLE_AVX2 std::int64_t Avx2Double(std::int64_t steps) {
  __m256d x[kChains];
  const __m256d half = _mm256_set1_pd(0.5), one = _mm256_set1_pd(1);
  for (__m256d& chain : x) chain = one;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (__m256d& chain : x) chain = _mm256_fmadd_pd(chain, half, one);
  }
  KeepAlive(x);
  return steps * kChains * 4 * 2;
}

RETABLE_AVX2 std::int64_t Avx2Float(std::int64_t steps) {
  __m256 x[kChains];
  const __m256 half = _mm256_set1_ps(0.5F), one = _mm256_set1_ps(1);
  for (__m256& chain : x) chain = one;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (__m256& chain : x) chain = _mm256_fmadd_ps(chain, half, one);
  }
  KeepAlive(x);
  return steps * kChains * 8 * 2;
}

RETABLE_AVX512 std::int64_t Avx512Double(std::int64_t steps) {
  __m512d x[kChains];
  const __m512d half = _mm512_set1_pd(0.5), one = _mm512_set1_pd(1);
  for (__m512d& chain : x) chain = one;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (__m512d& chain : x) chain = _mm512_fmadd_pd(chain, half, one);
  }
  KeepAlive(x);
  return steps * kChains * 8 * 2;
}

RETABLE_AVX512 std::int64_t Avx512Float(std::int64_t steps) {
  __m512 x[kChains];
  const __m512 half = _mm512_set1_ps(0.5F), one = _mm512_set1_ps(1);
  for (__m512& chain : x) chain = one;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (__m512& chain : x) chain = _mm512_fmadd_ps(chain, half, one);
  }
  KeepAlive(x);
  return steps * kChains * 16 * 2;
}

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

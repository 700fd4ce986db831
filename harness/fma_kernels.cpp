#include "harness/fma_kernels.hpp"

#include "harness/timing.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

#if defined(__x86_64__)

__attribute__((target("avx2,fma"))) std::int64_t Avx2Double(std::int64_t steps) {
  __m256d x[kChains];
  const __m256d half = _mm256_set1_pd(0.5), one = _mm256_set1_pd(1);
  for (__m256d& chain : x) chain = one;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (__m256d& chain : x) chain = _mm256_fmadd_pd(chain, half, one);
  }
  KeepAlive(x);
  return steps * kChains * 4 * 2;
}

__attribute__((target("avx2,fma"))) std::int64_t Avx2Float(std::int64_t steps) {
  __m256 x[kChains];
  const __m256 half = _mm256_set1_ps(0.5F), one = _mm256_set1_ps(1);
  for (__m256& chain : x) chain = one;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (__m256& chain : x) chain = _mm256_fmadd_ps(chain, half, one);
  }
  KeepAlive(x);
  return steps * kChains * 8 * 2;
}

__attribute__((target("avx512f"))) std::int64_t Avx512Double(std::int64_t steps) {
  __m512d x[kChains];
  const __m512d half = _mm512_set1_pd(0.5), one = _mm512_set1_pd(1);
  for (__m512d& chain : x) chain = one;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (__m512d& chain : x) chain = _mm512_fmadd_pd(chain, half, one);
  }
  KeepAlive(x);
  return steps * kChains * 8 * 2;
}

__attribute__((target("avx512f"))) std::int64_t Avx512Float(std::int64_t steps) {
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
#if defined(__x86_64__)
  static const FmaKernels avx2{"AVX2", &Avx2Double, &Avx2Float};
  static const FmaKernels avx512{"AVX-512", &Avx512Double, &Avx512Float};
  if (__builtin_cpu_supports("avx512f")) return avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
#endif
  return portable;
}

}  // namespace retable::harness

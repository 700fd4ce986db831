#include "algorithms/shuffle/fisher_yates/random_indices.hpp"

#include <algorithm>

#include "base/simd_target.hpp"

namespace retable::shuffle {
namespace {

constexpr std::uint32_t kCount = RandomIndices::kCount;
constexpr int kLanes = 4;
using State = std::uint64_t[4][kLanes];

std::uint64_t Rotated(std::uint64_t x, int bits) {
  return (x << bits) | (x >> (64 - bits));
}

// The next word of each lane.
void Step(State& s, std::uint64_t word[kLanes]) {
  for (int l = 0; l < kLanes; ++l) {
    word[l] = Rotated(s[0][l] + s[3][l], 23) + s[0][l];
    const std::uint64_t shifted = s[1][l] << 17;
    s[2][l] ^= s[0][l];
    s[3][l] ^= s[1][l];
    s[1][l] ^= s[2][l];
    s[0][l] ^= s[3][l];
    s[2][l] ^= shifted;
    s[3][l] = Rotated(s[3][l], 45);
  }
}

// products[k]: random word k times bound - k. Returns whether some low half is below its bound.
bool Multiply(State& s, std::uint32_t bound, std::uint64_t products[kCount]) {
  bool low = false;
  const std::uint32_t many = std::min(bound, kCount);
  for (std::uint32_t k = 0; k < many; k += 2 * kLanes) {
    std::uint64_t word[kLanes];
    Step(s, word);
    for (std::uint32_t j = 0; j < 2 * kLanes && k + j < many; ++j) {
      const std::uint64_t half = j % 2 == 0 ? word[j / 2] & 0xFFFFFFFFu : word[j / 2] >> 32;
      products[k + j] = half * (bound - k - j);
      low |= static_cast<std::uint32_t>(products[k + j]) < bound - k - j;
    }
  }
  return low;
}

#if defined(RETABLE_X86)
template <int kBits>
RETABLE_AVX2 RETABLE_ALWAYS_INLINE __m256i Rotated(__m256i x) {
  return _mm256_or_si256(_mm256_slli_epi64(x, kBits), _mm256_srli_epi64(x, 64 - kBits));
}

// Draws the indices; or, where some low half is below its bound, nothing. Bounds past the last may
// be negative: their lanes hold nothing of use.
RETABLE_AVX2 bool DrawAvx2(State& state, std::uint32_t bound, std::uint32_t index[kCount]) {
  auto* const rows = reinterpret_cast<__m256i*>(state);
  __m256i s0 = rows[0], s1 = rows[1], s2 = rows[2], s3 = rows[3];
  const __m256i low_half = _mm256_set1_epi64x(0xFFFFFFFF), one = _mm256_set1_epi64x(1);
  __m256i even = _mm256_sub_epi64(_mm256_set1_epi64x(bound), _mm256_setr_epi64x(0, 2, 4, 6));
  __m256i below = _mm256_setzero_si256();
  for (std::uint32_t k = 0; k < std::min(bound, kCount); k += 2 * kLanes) {
    const __m256i word = _mm256_add_epi64(Rotated<23>(_mm256_add_epi64(s0, s3)), s0);
    const __m256i shifted = _mm256_slli_epi64(s1, 17);
    s2 = _mm256_xor_si256(s2, s0);
    s3 = _mm256_xor_si256(s3, s1);
    s1 = _mm256_xor_si256(s1, s2);
    s0 = _mm256_xor_si256(s0, s3);
    s2 = _mm256_xor_si256(s2, shifted);
    s3 = Rotated<45>(s3);
    const __m256i odd = _mm256_sub_epi64(even, one);
    const __m256i p0 = _mm256_mul_epu32(word, even);
    const __m256i p1 = _mm256_mul_epu32(_mm256_srli_epi64(word, 32), odd);
    // Negative where the low half is below the bound.
    below = _mm256_or_si256(below, _mm256_sub_epi64(_mm256_and_si256(p0, low_half), even));
    below = _mm256_or_si256(below, _mm256_sub_epi64(_mm256_and_si256(p1, low_half), odd));
    const __m256i indices = _mm256_blend_epi32(_mm256_srli_epi64(p0, 32), p1, 0xAA);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(index + k), indices);
    even = _mm256_sub_epi64(even, _mm256_set1_epi64x(2 * kLanes));
  }
  if (_mm256_movemask_pd(_mm256_castsi256_pd(below)) != 0) return false;
  rows[0] = s0, rows[1] = s1, rows[2] = s2, rows[3] = s3;
  return true;
}
#endif

}  // namespace

RandomIndices::RandomIndices(const Philox4x32& random, std::uint64_t stream)
    : random_(random), stream_(stream) {
  for (std::uint64_t b = 0; b < 8; ++b) {
    const PhiloxBlock block = random.Block(b, stream);
    state_[b / 2][b % 2 * 2] = block.half(0);
    state_[b / 2][b % 2 * 2 + 1] = block.half(1);
  }
}

void RandomIndices::Draw(std::uint32_t bound, std::uint32_t index[kCount]) {
#if defined(RETABLE_X86)
  if (HasAvx2() && DrawAvx2(state_, bound, index)) return;
#endif
  std::uint64_t products[kCount];
  const bool low = Multiply(state_, bound, products);
  for (std::uint32_t k = 0; k < std::min(bound, kCount); ++k) {
    const std::uint32_t mine = bound - k;
    // 2^32 mod mine is below mine, so that most products need no division.
    while (low && static_cast<std::uint32_t>(products[k]) < mine &&
           static_cast<std::uint32_t>(products[k]) < (0u - mine) % mine) {
      const std::uint64_t redraw = redrawn_++;
      products[k] = std::uint64_t{random_.Block(8 + redraw / 4, stream_).word[redraw % 4]} * mine;
    }
    index[k] = static_cast<std::uint32_t>(products[k] >> 32);
  }
}

}  // namespace retable::shuffle

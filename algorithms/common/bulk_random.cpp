#include "algorithms/common/bulk_random.hpp"

#include "base/simd_target.hpp"

namespace retable {
namespace {

// Philox blocks whose counters differ in the low word, as four rows of words.
template <int kCount>
void Blocks(const Philox4x32& random, const std::uint32_t* low, std::uint32_t high,
            std::uint64_t stream, std::uint32_t* words) {
  for (int l = 0; l < kCount; ++l) {
    const PhiloxBlock block = random(low[l], high, static_cast<std::uint32_t>(stream),
                                     static_cast<std::uint32_t>(stream >> 32));
    for (int w = 0; w < 4; ++w) words[kCount * w + l] = block.word[w];
  }
}

#if defined(RETABLE_X86)

// The same with a word in the low half of each 64-bit lane. The wide product takes nothing else, so
// what gathers in the high halves does no harm, and no lane ever moves: six instructions a round.
// Left to itself the compiler multiplies 64 by 64 bits: eight times the work.

template <int kCount>
RETABLE_AVX512 void BlocksAvx512(const Philox4x32& random, const std::uint32_t* low,
                                 std::uint32_t high, std::uint64_t stream, std::uint32_t* words) {
  constexpr __mmask8 kAll = 0xFF;
  constexpr int kVectors = kCount / 8;
  const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
  __m512i c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    c0[v] = _mm512_maskz_cvtepu32_epi64(
        kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(low + 8 * v)));
    c1[v] = _mm512_set1_epi64(high);
    c2[v] = _mm512_set1_epi64(static_cast<std::uint32_t>(stream));
    c3[v] = _mm512_set1_epi64(static_cast<std::uint32_t>(stream >> 32));
  }
  std::uint32_t k0 = random.key[0], k1 = random.key[1];
  for (int round = 0; round < 10; ++round) {
    const __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
    for (int v = 0; v < kVectors; ++v) {
      const __m512i p0 = _mm512_maskz_mul_epu32(kAll, c0[v], m0);
      const __m512i p1 = _mm512_maskz_mul_epu32(kAll, c2[v], m1);
      c0[v] = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(kAll, p1, 32), c1[v], key0, 0x96);
      c2[v] = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(kAll, p0, 32), c3[v], key1, 0x96);
      c1[v] = p1;
      c3[v] = p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int v = 0; v < kVectors; ++v) {
    const __m512i rows[4] = {c0[v], c1[v], c2[v], c3[v]};
    for (int w = 0; w < 4; ++w) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + kCount * w + 8 * v),
                          _mm512_maskz_cvtepi64_epi32(kAll, rows[w]));
    }
  }
}

// 16 registers hold four times four rows: 16 blocks at most together.
template <int kCount>
RETABLE_AVX2 void BlocksAvx2(const Philox4x32& random, const std::uint32_t* low, std::uint32_t high,
                             std::uint64_t stream, std::uint32_t* words) {
  constexpr int kVectors = kCount < 16 ? kCount / 4 : 4;
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
  const __m256i evens = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
  for (int done = 0; done < kCount; done += 4 * kVectors) {
    __m256i c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t* first = low + done + 4 * v;
      c0[v] = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)));
      c1[v] = _mm256_set1_epi64x(high);
      c2[v] = _mm256_set1_epi64x(static_cast<std::uint32_t>(stream));
      c3[v] = _mm256_set1_epi64x(static_cast<std::uint32_t>(stream >> 32));
    }
    std::uint32_t k0 = random.key[0], k1 = random.key[1];
    for (int round = 0; round < 10; ++round) {
      const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
      for (int v = 0; v < kVectors; ++v) {
        const __m256i p0 = _mm256_mul_epu32(c0[v], m0), p1 = _mm256_mul_epu32(c2[v], m1);
        c0[v] = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c1[v], key0));
        c2[v] = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c3[v], key1));
        c1[v] = p1;
        c3[v] = p0;
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int v = 0; v < kVectors; ++v) {
      const __m256i rows[4] = {c0[v], c1[v], c2[v], c3[v]};
      for (int w = 0; w < 4; ++w) {
        const __m256i row = _mm256_permutevar8x32_epi32(rows[w], evens);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(words + kCount * w + done + 4 * v),
                         _mm256_castsi256_si128(row));
      }
    }
  }
}

#endif

}  // namespace

template <int kCount>
void FillBlocksOf(const Philox4x32& random, const std::uint32_t* low, std::uint32_t high,
                  std::uint64_t stream, std::uint32_t* words) {
#if defined(RETABLE_X86)
  if (HasAvx512()) return BlocksAvx512<kCount>(random, low, high, stream, words);
  if (HasAvx2()) return BlocksAvx2<kCount>(random, low, high, stream, words);
#endif
  Blocks<kCount>(random, low, high, stream, words);
}

template void FillBlocksOf<8>(const Philox4x32&, const std::uint32_t*, std::uint32_t, std::uint64_t,
                              std::uint32_t*);
template void FillBlocksOf<32>(const Philox4x32&, const std::uint32_t*, std::uint32_t,
                               std::uint64_t, std::uint32_t*);

}  // namespace retable

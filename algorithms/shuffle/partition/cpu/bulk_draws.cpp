#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"

#include "algorithms/common/bulk_random.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {

namespace {

void ScaleHalves(const std::uint32_t* words, std::uint32_t digits, std::uint16_t* digit) {
  for (int w = 0; w < 4; ++w) {
    for (int l = 0; l < 32; ++l) {
      const std::uint32_t word = words[w * 32 + l];
      digit[w * 64 + l] = static_cast<std::uint16_t>(((word & 0xFFFFu) * digits) >> 16);
      digit[w * 64 + 32 + l] = static_cast<std::uint16_t>(((word >> 16) * digits) >> 16);
    }
  }
}

#if defined(RETABLE_X86)

// The high half of a 16-bit product is the digit. Of 32 words the even halves are the digits of 32
// slots in order, the odd ones those of the next 32.
RETABLE_AVX2 void ScaleHalvesAvx2(const std::uint32_t* words, std::uint32_t digits,
                                  std::uint16_t* digit) {
  const __m256i factor = _mm256_set1_epi16(static_cast<short>(digits));
  const __m256i low = _mm256_set1_epi32(0xFFFF);
  for (int w = 0; w < 128; w += 16) {
    const auto* in = reinterpret_cast<const __m256i*>(words + w);
    const __m256i a = _mm256_mulhi_epu16(_mm256_loadu_si256(in), factor);
    const __m256i b = _mm256_mulhi_epu16(_mm256_loadu_si256(in + 1), factor);
    const __m256i even = _mm256_packus_epi32(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
    const __m256i odd = _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16));
    std::uint16_t* out = digit + w / 32 * 64 + w % 32;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permute4x64_epi64(even, 0xD8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32), _mm256_permute4x64_epi64(odd, 0xD8));
  }
}

RETABLE_AVX512 void ScaleHalvesAvx512(const std::uint32_t* words, std::uint32_t digits,
                                      std::uint16_t* digit) {
  constexpr __mmask32 kAll = 0xFFFFFFFF;
  const __m512i factor = _mm512_set1_epi16(static_cast<short>(digits));
  alignas(64) std::uint16_t even[32];
  for (std::uint16_t l = 0; l < 32; ++l) even[l] = static_cast<std::uint16_t>(2 * l);
  const __m512i evens = _mm512_load_si512(even);
  const __m512i odds = _mm512_maskz_add_epi16(kAll, evens, _mm512_set1_epi16(1));
  for (int w = 0; w < 4; ++w) {
    const __m512i a = _mm512_maskz_mulhi_epu16(kAll, _mm512_loadu_si512(words + 32 * w), factor);
    const __m512i b =
        _mm512_maskz_mulhi_epu16(kAll, _mm512_loadu_si512(words + 32 * w + 16), factor);
    _mm512_storeu_si512(digit + 64 * w, _mm512_permutex2var_epi16(a, evens, b));
    _mm512_storeu_si512(digit + 64 * w + 32, _mm512_permutex2var_epi16(a, odds, b));
  }
}

#endif

}  // namespace

// The first counter of each 32 blocks is a multiple of 32, so the low word never wraps within them.
void FillDigits(const Philox4x32& random, std::uint64_t stream, std::uint64_t group,
                std::uint32_t digits, std::uint16_t digit[256]) {
  alignas(64) std::uint32_t words[128];
  FillBlocks<32>(random, group * 32, stream, words);
#if defined(RETABLE_X86)
  if (HasAvx512()) return ScaleHalvesAvx512(words, digits, digit);
  if (HasAvx2()) return ScaleHalvesAvx2(words, digits, digit);
#endif
  ScaleHalves(words, digits, digit);
}

void FillSwapBlocks(const Philox4x32& random, std::uint64_t bucket, std::uint32_t group,
                    std::uint32_t words[128]) {
  FillBlocks<32>(random, SwapIndex(group * 32), InMemoryStream(bucket), words);
}

void FillSwapBlocksOf(const Philox4x32& random, std::uint64_t bucket, const std::uint32_t block[32],
                      std::uint32_t words[128]) {
  FillBlocksOf<32>(random, block, static_cast<std::uint32_t>(SwapIndex(0) >> 32),
                   InMemoryStream(bucket), words);
}

}  // namespace retable::shuffle

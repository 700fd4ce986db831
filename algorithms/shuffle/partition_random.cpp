#include "algorithms/shuffle/partition_random.hpp"

#include "algorithms/shuffle/philox_bulk.hpp"
#include "algorithms/shuffle/vector_code.hpp"

namespace retable::shuffle {

namespace {

RETABLE_CLONES void ScaleHalves(const std::uint32_t* words, std::uint32_t digits,
                                std::uint16_t* digit) {
  for (int w = 0; w < 4; ++w) {
    for (int l = 0; l < 32; ++l) {
      const std::uint32_t word = words[w * 32 + l];
      digit[w * 64 + l] = static_cast<std::uint16_t>(((word & 0xFFFFu) * digits) >> 16);
      digit[w * 64 + 32 + l] = static_cast<std::uint16_t>(((word >> 16) * digits) >> 16);
    }
  }
}

#if defined(RETABLE_X86)

// The high half of a 16-bit product is the digit; the even halves of 32 words, then the odd ones,
// are those of 64 slots in order.
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
  std::uint32_t words[128];
  FillBlocks32(random, group * 32, stream, words);
#if defined(RETABLE_X86)
  if (HasAvx512()) return ScaleHalvesAvx512(words, digits, digit);
#endif
  ScaleHalves(words, digits, digit);
}

void FillSwapBlocks(const Philox4x32& random, std::uint64_t leaf, std::uint32_t group,
                    std::uint32_t words[128]) {
  FillBlocks32(random, SwapIndex(group * 32), LeafStream(leaf), words);
}

void FillSwapBlocksOf(const Philox4x32& random, std::uint64_t leaf, const std::uint32_t block[32],
                      std::uint32_t words[128]) {
  FillBlocksOf(random, block, static_cast<std::uint32_t>(SwapIndex(0) >> 32), LeafStream(leaf),
               words);
}

}  // namespace retable::shuffle

#include "algorithms/shuffle/rectangle/generalised_feistel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {

namespace {

constexpr std::uint64_t kFewRounds = std::uint64_t{1} << 12;  // 12 half-rounds from so many on

// The even a near sqrt(n) whose rectangle exceeds n least: the fewer values are cycle-walked,
// the fewer warps wait for a second evaluation. Few items get a rectangle of at least 256.
void SetSides(FeistelCipher& cipher, std::uint64_t n) {
  const std::uint64_t least_side = n < kFewRounds ? 12 : 26;
  n = std::max<std::uint64_t>(n, 256);
  const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  std::uint64_t least = ~std::uint64_t{0};
  const auto try_side = [&](std::uint64_t a) {
    const std::uint64_t b = (n + a - 1) / a;
    if (a < least_side || b < least_side || a * b - n >= least) return;
    least = a * b - n;
    cipher.a = static_cast<std::uint32_t>(a);
    cipher.b = static_cast<std::uint32_t>(b);
  };
  const std::uint64_t middle = (root + 1) & ~std::uint64_t{1};
  for (std::uint64_t d = 0; d <= std::min<std::uint64_t>(128, root * 2 / 3); d += 2) {
    try_side(middle - d);
    try_side(middle + d);
  }
}

}  // namespace

FeistelCipher MakeFeistelCipher(std::uint64_t n, std::uint64_t seed) {
  if (n > (std::uint64_t{1} << 31)) {
    throw std::invalid_argument("the rectangle cipher takes up to 2^31 items, not " +
                                std::to_string(n));
  }
  FeistelCipher cipher;
  cipher.n = static_cast<std::uint32_t>(n);
  SetSides(cipher, n);
  cipher.reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / cipher.b);
  cipher.half_rounds = n < kFewRounds ? 14 : 12;
  SetKeys(cipher, seed);
  return cipher;
}

void SetKeys(FeistelCipher& cipher, std::uint64_t seed) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  for (int r = 0; r < cipher.half_rounds; r += 4) {
    const PhiloxBlock block =
        random.Block(kMaxRounds + 1 + static_cast<std::uint64_t>(r) / 4, kKeyStream);
    std::copy_n(block.word, 4, cipher.key + r);
  }
}

#if defined(RETABLE_X86)
namespace {

constexpr std::size_t kVectors = 4;  // side by side, so that none waits for its products

RETABLE_AVX2 inline __m256i All(std::uint32_t x) {
  return _mm256_set1_epi32(static_cast<int>(x));
}

// FeistelCipher::AddMixed. A product fills the places of two numbers: those at even and at odd
// places are multiplied apart.
RETABLE_AVX2 inline __m256i AddMixed8(__m256i side, __m256i other, __m256i key, __m256i length) {
  const __m256i factor = _mm256_set1_epi64x(0xD2511F53u);
  const __m256i keyed = _mm256_xor_si256(other, key);
  __m256i even = _mm256_mul_epu32(keyed, factor);
  __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(keyed, 32), factor);
  even = _mm256_mul_epu32(_mm256_xor_si256(even, _mm256_srli_epi64(even, 32)), length);
  odd = _mm256_mul_epu32(_mm256_xor_si256(odd, _mm256_srli_epi64(odd, 32)), length);
  const __m256i scaled = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  const __m256i sum = _mm256_add_epi32(side, scaled);
  return _mm256_min_epu32(sum, _mm256_sub_epi32(sum, length));
}

// FeistelCipher::Encrypt of 8 kVectors values.
RETABLE_AVX2 void EncryptBlock(const FeistelCipher& cipher, std::uint32_t* values) {
  const __m256i a = All(cipher.a), b = All(cipher.b), reciprocal = All(cipher.reciprocal);
  auto* vectors = reinterpret_cast<__m256i*>(values);
  __m256i left[kVectors], right[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) {
    const __m256i x = _mm256_loadu_si256(vectors + i);
    const __m256i even = _mm256_mul_epu32(x, reciprocal);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), reciprocal);
    const __m256i quotient = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    const __m256i rest = _mm256_sub_epi32(x, _mm256_mullo_epi32(quotient, b));
    right[i] = _mm256_min_epu32(rest, _mm256_sub_epi32(rest, b));
    left[i] =
        _mm256_add_epi32(quotient, _mm256_add_epi32(All(1), _mm256_cmpeq_epi32(right[i], rest)));
  }
  for (int r = 0; r < cipher.half_rounds; r += 2) {
    const __m256i to_left = All(cipher.key[r]), to_right = All(cipher.key[r + 1]);
    for (std::size_t i = 0; i < kVectors; ++i) left[i] = AddMixed8(left[i], right[i], to_left, a);
    for (std::size_t i = 0; i < kVectors; ++i) right[i] = AddMixed8(right[i], left[i], to_right, b);
  }
  for (std::size_t i = 0; i < kVectors; ++i) {
    _mm256_storeu_si256(vectors + i, _mm256_add_epi32(_mm256_mullo_epi32(left[i], b), right[i]));
  }
}

}  // namespace
#endif

void CycleWalkMany(const FeistelCipher& cipher, std::uint32_t* values, std::size_t count) {
  std::size_t i = 0;
#if defined(RETABLE_X86)
  constexpr std::size_t kBlock = 8 * kVectors;
  for (; i + kBlock <= count && HasAvx2(); i += kBlock) {
    EncryptBlock(cipher, values + i);
    for (std::size_t j = i; j < i + kBlock; ++j) {
      if (values[j] >= cipher.n) values[j] = cipher.CycleWalk(values[j]);
    }
  }
#endif
  for (; i < count; ++i) values[i] = cipher.CycleWalk(values[i]);
}

bool FindWalkEnds(const FeistelCipher& cipher, WalkEnds& ends) {
  const std::uint64_t excess = std::uint64_t{cipher.a} * cipher.b - cipher.n;
  if (excess > WalkEnds::kMost) return false;
  for (std::uint32_t e = 0; e < excess; ++e) {
    // A cycle of values from n on is met by no value below n.
    std::uint32_t y = cipher.Encrypt(cipher.n + e);
    for (std::uint32_t step = 1; y >= cipher.n && step < excess; ++step) y = cipher.Encrypt(y);
    ends.end[e] = y < cipher.n ? y : 0;
  }
  return true;
}

namespace {

template <class Item>
void FeistelShuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed) {
  const FeistelCipher cipher = MakeFeistelCipher(n, seed);
  ParallelBlocks(n, kHostBlock, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint32_t order[kHostBatch];
    for (std::uint64_t j = begin; j < end; j += kHostBatch) {
      const std::uint64_t count = std::min(kHostBatch, end - j);
      std::iota(order, order + count, static_cast<std::uint32_t>(j));
      CycleWalkMany(cipher, order, count);
      for (std::uint64_t k = 0; k < count; ++k) out[j + k] = in[order[k]];
    }
  });
}

RETABLE_REGISTER(Shuffler, rectangle,
                 {.name = "Rectangle",
                  .summary = "Feistel network on an a x b rectangle barely over n; no scan",
                  .citation = "ours, after Black and Rogaway 2002",
                  .make = [](const Parameters&) {
                    return MakeItemMethod([](auto... a) { FeistelShuffle(a...); });
                  }});

}  // namespace
}  // namespace retable::shuffle

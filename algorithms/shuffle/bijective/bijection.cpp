#include "algorithms/shuffle/bijective/bijection.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/items.hpp"
#include "base/simd_target.hpp"

namespace retable::shuffle {
namespace {

// Bits of the smallest power of two >= n, at least `least`.
int DomainBits(std::uint64_t n, int least) {
  if (n > kMaxBijection) {
    throw std::invalid_argument(
        "n = " + std::to_string(n) +
        " is over the limit of bijections, 2^63 = " + std::to_string(kMaxBijection));
  }
  return std::max(least, CeilLog2(n));
}

VariablePhilox Cipher(int bits, std::uint64_t seed, int rounds) {
  VariablePhilox cipher;
  cipher.left_bits = static_cast<std::uint32_t>(bits / 2);
  cipher.right_bits = static_cast<std::uint32_t>(bits - bits / 2);
  // Of 63 bits the right half has 32: a shift by so many would be no shift.
  cipher.left_mask = ~std::uint32_t{0} >> (32 - cipher.left_bits);
  cipher.right_mask = ~std::uint32_t{0} >> (32 - cipher.right_bits);
  cipher.rounds = rounds;
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  for (int i = 0; i < rounds; ++i) {
    cipher.key[i] = random.Block(static_cast<std::uint64_t>(i) / 4, kKeyStream).word[i % 4];
  }
  return cipher;
}

// 64 values side by side: the rounds are outermost, so that each is a loop without dependencies.
RETABLE_CLONES void Encrypt64(const std::uint32_t* keys, int rounds, std::uint32_t left_bits,
                              std::uint32_t right_bits, std::uint64_t first, std::uint64_t mask,
                              std::uint64_t* values) {
  const std::uint32_t left_mask = ~std::uint32_t{0} >> (32 - left_bits);
  const std::uint32_t right_mask = ~std::uint32_t{0} >> (32 - right_bits);
  const std::uint32_t shift = right_bits - left_bits;
  std::uint32_t left[64], right[64];
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t x = (first + static_cast<std::uint64_t>(i)) & mask;
    left[i] = static_cast<std::uint32_t>(x >> right_bits);
    right[i] = static_cast<std::uint32_t>(x) & right_mask;
  }
  for (int r = 0; r < rounds; ++r) {
    const std::uint32_t key = keys[r];
    for (int i = 0; i < 64; ++i) {
      // The 64-bit constant in its halves: the product's high word is that of the low half plus
      // high half times left.
      const std::uint64_t product = std::uint64_t{0xB1CE6E93u} * left[i];
      const std::uint32_t high = static_cast<std::uint32_t>(product >> 32) + 0xD2B74407u * left[i];
      const std::uint32_t low =
          (static_cast<std::uint32_t>(product) << shift) | (right[i] >> left_bits);
      left[i] = (high ^ key ^ right[i]) & left_mask;
      right[i] = low & right_mask;
    }
  }
  for (int i = 0; i < 64; ++i) {
    values[i] = (static_cast<std::uint64_t>(left[i]) << right_bits) | right[i];
  }
}

void EncryptMany(const VariablePhilox& f, std::uint64_t add, std::uint64_t first,
                 std::uint64_t count, std::uint64_t* values) {
  const std::uint64_t mask = f.size() - 1;
  std::uint64_t i = 0;
  for (; i + 64 <= count; i += 64) {
    Encrypt64(f.key, f.rounds, f.left_bits, f.right_bits, first + i + add, mask, values + i);
  }
  for (; i < count; ++i) values[i] = f((first + i + add) & mask);
}

}  // namespace

void EvaluateMany(const Lcg& f, std::uint64_t first, std::uint64_t count, std::uint64_t* values) {
  for (std::uint64_t i = 0; i < count; ++i) values[i] = f(first + i);
}

void EvaluateMany(const VariablePhilox& f, std::uint64_t first, std::uint64_t count,
                  std::uint64_t* values) {
  EncryptMany(f, 0, first, count, values);
}

void EvaluateMany(const WhitenedPhilox& f, std::uint64_t first, std::uint64_t count,
                  std::uint64_t* values) {
  EncryptMany(f.cipher, f.add, first, count, values);
}

Lcg MakeLcg(std::uint64_t n, std::uint64_t seed) {
  const PhiloxBlock random = Philox4x32::FromSeed(seed).Block(0, kKeyStream);
  const std::uint64_t mask = (std::uint64_t{1} << DomainBits(n, 0)) - 1;
  return {(random.half(0) | 1) & (mask | 1), random.half(1) & mask, mask};
}

VariablePhilox MakeVariablePhilox(std::uint64_t n, std::uint64_t seed, int rounds) {
  if (rounds < 1 || rounds > kMaxRounds) {
    throw std::invalid_argument("rounds = " + std::to_string(rounds) + ": 1 to 64 are possible");
  }
  return Cipher(DomainBits(n, 4), seed, rounds);
}

int WhitenedRounds(int bits) {
  return bits <= 10 ? 32 : bits <= 15 ? 20 : 12;
}

WhitenedPhilox MakeWhitenedPhilox(std::uint64_t n, std::uint64_t seed) {
  const int bits = DomainBits(n, 8);
  WhitenedPhilox whitened{Cipher(bits, seed, WhitenedRounds(bits)), 0};
  whitened.add =
      Philox4x32::FromSeed(seed).Block(kMaxRounds, kKeyStream).half(0) & (whitened.size() - 1);
  return whitened;
}

}  // namespace retable::shuffle

#include "algorithms/shuffle/bijection.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/items.hpp"

namespace retable::shuffle {
namespace {

VariablePhilox Cipher(int bits, std::uint64_t seed, int rounds) {
  VariablePhilox cipher;
  cipher.left_bits = static_cast<std::uint32_t>(bits / 2);
  cipher.right_bits = static_cast<std::uint32_t>(bits - bits / 2);
  cipher.left_mask = (1u << cipher.left_bits) - 1;
  cipher.right_mask = (1u << cipher.right_bits) - 1;
  cipher.rounds = rounds;
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  for (int i = 0; i < rounds; ++i) {
    cipher.key[i] = random.Block(static_cast<std::uint64_t>(i) / 4, kKeyStream).word[i % 4];
  }
  return cipher;
}

}  // namespace

Lcg MakeLcg(std::uint64_t n, std::uint64_t seed) {
  const PhiloxBlock random = Philox4x32::FromSeed(seed).Block(0, kKeyStream);
  const std::uint64_t mask = (std::uint64_t{1} << CeilLog2(n)) - 1;
  return {(random.half(0) | 1) & (mask | 1), random.half(1) & mask, mask};
}

VariablePhilox MakeVariablePhilox(std::uint64_t n, std::uint64_t seed, int rounds) {
  if (rounds < 1 || rounds > kMaxRounds) {
    throw std::invalid_argument("rounds = " + std::to_string(rounds) + ": 1 to 64 are possible");
  }
  return Cipher(std::max(4, CeilLog2(n)), seed, rounds);
}

int MendedRounds(int bits) {
  return bits <= 10 ? 32 : bits <= 15 ? 20 : 12;
}

MendedPhilox MakeMendedPhilox(std::uint64_t n, std::uint64_t seed) {
  const int bits = std::max(8, CeilLog2(n));
  MendedPhilox mended{Cipher(bits, seed, MendedRounds(bits)), 0};
  mended.add =
      Philox4x32::FromSeed(seed).Block(kMaxRounds, kKeyStream).half(0) & (mended.size() - 1);
  return mended;
}

}  // namespace retable::shuffle

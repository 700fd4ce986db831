#pragma once
//! @file
//! Keyed bijections of [0, 2^b): the paper's two and a whitened third.
//!
//! Problem: thread i must know its item's place without asking any other thread. A bijection f of
//! [0, N), N a power of two, gives it: item f(i) goes to place i, and for n < N the values >= n are
//! dropped and the rest compacted in order (the paper's proposition 1: that keeps uniformity).
//!   Lcg             a x + c mod N, a odd: two keys, at most N^2/2 permutations; fails every test.
//!   VariablePhilox  a Feistel network with a multiplication (Salmon et al. 2011 generalised to any
//!                   width by Mitchell et al. 2022, listing 1); 24 rounds in the paper.
//!   WhitenedPhilox    the same after one keyed addition of full width.
//! Why whitened: a round of VariablePhilox is a fixed bijection followed by xors of keys into one
//! half. The xor of a constant is a product of N/2 transpositions, an even permutation when N >= 4,
//! and the fixed bijection is applied an even number of times, so with an even number of rounds
//! only even permutations can occur when n = N >= 16: half of the n! never appear. x -> x + k mod N
//! with k odd is one N-cycle, which is odd; a random k balances the parities. It costs one
//! instruction. Rounds by width: the worst-pair total variation falls with width and rounds (at 24
//! rounds 1.2e-2 for 5 bits, 5e-7 for 8; at 12 rounds 1.4e-7 for 16 bits); so the domain has at
//! least 8 bits, small widths take 32 rounds and wide ones 12. Cost: 5 to 8 instructions a round
//! and value. Memory: none. Deterministic on every machine.

#include <cstdint>

#include "algorithms/common/philox.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::shuffle {

inline constexpr int kMaxRounds = 64;

//! The largest n of a bijection: its halves are words of 32 bits, and a domain of 2^64 has no size.
inline constexpr std::uint64_t kMaxBijection = std::uint64_t{1} << 63;

//! Sub-streams of a seed, so that no two uses share bits.
enum Stream : std::uint64_t {
  kKeyStream = 0x10,
  kDartStream = 0x11,
  kSortStream = 0x12,
  kSwapStream = 0x13,
  kCoinStream = 0x14,
};

//! y = a x + c mod 2^bits (the paper's equation 1).
struct Lcg {
  std::uint64_t a = 1, c = 0, mask = 0;

  RETABLE_HD std::uint64_t operator()(std::uint64_t x) const { return (a * x + c) & mask; }
  RETABLE_HD std::uint64_t size() const { return mask + 1; }
};

//! The paper's listing 1 over 2^bits values, 4 <= bits <= 63.
struct VariablePhilox {
  std::uint32_t left_bits = 0, right_bits = 0;
  std::uint32_t left_mask = 0, right_mask = 0;
  std::int32_t rounds = 0;
  std::uint32_t key[kMaxRounds] = {};

  //! kRounds > 0 fixes the number of rounds at compile time; 0 reads it.
  template <int kRounds = 0>
  RETABLE_HD std::uint64_t Encrypt(std::uint64_t x) const {
    constexpr std::uint64_t kM0 = 0xD2B74407B1CE6E93ull;
    std::uint32_t left = static_cast<std::uint32_t>(x >> right_bits);
    std::uint32_t right = static_cast<std::uint32_t>(x) & right_mask;
    const int count = kRounds > 0 ? kRounds : rounds;
    const std::uint32_t shift = right_bits - left_bits;
    RETABLE_UNROLL
    for (int i = 0; i < count; ++i) {
      const std::uint64_t product = kM0 * left;
      const std::uint32_t high = static_cast<std::uint32_t>(product >> 32);
      const std::uint32_t low =
          (static_cast<std::uint32_t>(product) << shift) | (right >> left_bits);
      left = (high ^ key[i] ^ right) & left_mask;
      right = low & right_mask;
    }
    return (static_cast<std::uint64_t>(left) << right_bits) | right;
  }
  RETABLE_HD std::uint64_t operator()(std::uint64_t x) const { return Encrypt<0>(x); }
  RETABLE_HD std::uint64_t size() const { return std::uint64_t{1} << (left_bits + right_bits); }
};

//! VariablePhilox after x + k mod 2^bits: both parities occur.
struct WhitenedPhilox {
  VariablePhilox cipher;
  std::uint64_t add = 0;

  template <int kRounds = 0>
  RETABLE_HD std::uint64_t Encrypt(std::uint64_t x) const {
    return cipher.Encrypt<kRounds>((x + add) & (cipher.size() - 1));
  }
  RETABLE_HD std::uint64_t operator()(std::uint64_t x) const { return Encrypt<0>(x); }
  RETABLE_HD std::uint64_t size() const { return cipher.size(); }
};

//! values[i] = f(first + i) for i < count, in vector code.
void EvaluateMany(const Lcg& f, std::uint64_t first, std::uint64_t count, std::uint64_t* values);
void EvaluateMany(const VariablePhilox& f, std::uint64_t first, std::uint64_t count,
                  std::uint64_t* values);
void EvaluateMany(const WhitenedPhilox& f, std::uint64_t first, std::uint64_t count,
                  std::uint64_t* values);

//! The LCG over the smallest power of two >= n. These three
//! @throws std::invalid_argument for n > kMaxBijection.
Lcg MakeLcg(std::uint64_t n, std::uint64_t seed);
//! The paper's cipher over the smallest power of two >= max(n, 16). 1 <= rounds <= 64.
//! @throws std::invalid_argument for other rounds.
VariablePhilox MakeVariablePhilox(std::uint64_t n, std::uint64_t seed, int rounds = 24);
//! The whitened cipher over the smallest power of two >= max(n, 256), rounds by WhitenedRounds.
WhitenedPhilox MakeWhitenedPhilox(std::uint64_t n, std::uint64_t seed);
//! 32 rounds up to 10 bits, 20 up to 15, 12 from 16 on.
int WhitenedRounds(int bits);

}  // namespace retable::shuffle

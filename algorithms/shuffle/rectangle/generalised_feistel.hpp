#pragma once
//! @file
//! A keyed bijection of {0..n-1} for any n, without compaction: a generalised Feistel cipher.
//!
//! Problem: VariablePhilox needs a power of two, so at n = 2^k + 1 every other value is evaluated
//! in vain and the places of the rest need a scan; inside the cache that costs more than the
//! gather. Approach (Black and Rogaway 2002): write x as (left, right) in an a x b rectangle with a
//! b barely over n, and let each half-round add a keyed function of one side to the other, modulo
//! its length:
//!     left += f(right, key) mod a,   right += f(left, key') mod b,
//! f being the mixed words of a 32 x 32-bit product as in Philox, scaled to the side by
//! multiplication. Cycle-walking maps values >= n again: a few of them. a is even, so that both
//! parities occur (adding s modulo an even a is s (a - 1) transpositions). Half-rounds: 14, and 12
//! from 2^12 items on. With random functions and sides of s values the best generic attack on 6 of
//! them needs a few orders, and s times as many for each further one (Patarin 2001): 2^28 and more
//! here. These functions are simpler; the battery rejects 4 half-rounds and none from 6 on, at 10^7
//! orders none of 14. Cost:
//! about 7 instructions a half-round, one evaluation an item. Memory: none. Deterministic on every
//! machine.

#include <cstddef>
#include <cstdint>

#include "algorithms/common/philox.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::shuffle {

struct FeistelCipher {
  static constexpr int kMaxHalfRounds = 16;  // a multiple of four: keys come four at a time
  std::uint32_t n = 1;
  std::uint32_t a = 16, b = 16;  //!< sides, a even, a b >= n
  std::uint32_t reciprocal = 0;  //!< floor(2^32 / b)
  std::uint32_t key[kMaxHalfRounds] = {};
  std::int32_t half_rounds = 14;

  //! side + f(other, key) mod length.
  static RETABLE_HD std::uint32_t AddMixed(std::uint32_t side, std::uint32_t other,
                                           std::uint32_t key, std::uint32_t length) {
    const std::uint64_t product = static_cast<std::uint64_t>(0xD2511F53u) * (other ^ key);
    const std::uint32_t mixed =
        static_cast<std::uint32_t>(product >> 32) ^ static_cast<std::uint32_t>(product);
    const std::uint32_t sum =
        side + static_cast<std::uint32_t>((static_cast<std::uint64_t>(mixed) * length) >> 32);
    const std::uint32_t over = sum - length;
    return sum < over ? sum : over;  // the smaller as unsigned is the sum modulo the length
  }
  //! One application of a cipher's half-rounds, x < a b; of any type with these members.
  template <class Cipher>
  static RETABLE_HD std::uint32_t EncryptBy(const Cipher& cipher, std::uint32_t x,
                                            int half_rounds) {
    std::uint32_t left =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(x) * cipher.reciprocal) >> 32);
    std::uint32_t right = x - left * cipher.b;
    if (right >= cipher.b) {
      right -= cipher.b;
      ++left;
    }
    RETABLE_UNROLL
    for (int r = 0; r < half_rounds; r += 2) {
      left = AddMixed(left, right, cipher.key[r], cipher.a);
      right = AddMixed(right, left, cipher.key[r + 1], cipher.b);
    }
    return left * cipher.b + right;
  }
  template <int kHalfRounds = 0>
  RETABLE_HD std::uint32_t Encrypt(std::uint32_t x) const {
    return EncryptBy(*this, x, kHalfRounds > 0 ? kHalfRounds : half_rounds);
  }
  //! The bijection of {0..n-1}.
  template <int kHalfRounds = 0>
  RETABLE_HD std::uint32_t CycleWalk(std::uint32_t x) const {
    std::uint32_t y = Encrypt<kHalfRounds>(x);
    while (y >= n) y = Encrypt<kHalfRounds>(y);
    return y;
  }
};

//! @throws std::invalid_argument for n > 2^31.
FeistelCipher MakeFeistelCipher(std::uint64_t n, std::uint64_t seed);
//! Another seed for the same n: a tenth of the time, as the sides stay.
void SetKeys(FeistelCipher& cipher, std::uint64_t seed);

//! Replaces each of the values, below n, by its CycleWalk, in vector code.
void CycleWalkMany(const FeistelCipher& cipher, std::uint32_t* values, std::size_t count);

//! Ends of the cycle walks of the few values n .. a b - 1, so that a device need not wait for a
//! second application: CycleWalk(x) is Encrypt(x), or end[Encrypt(x) - n] where that is not below
//! n.
struct WalkEnds {
  static constexpr std::uint32_t kMost = 4;
  std::uint32_t end[kMost] = {};
};
//! False when there are more of them than kMost.
bool FindWalkEnds(const FeistelCipher& cipher, WalkEnds& ends);

}  // namespace retable::shuffle

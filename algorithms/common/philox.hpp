#pragma once
//! @file
//! Philox4x32-10: random bits as a pure function of a key and a counter.
//!
//! Problem: a stream which any thread may enter anywhere, on the CPU and the GPU, with the same
//! bits on every machine. Approach: ten rounds of a 32x32->64 multiplication and a key schedule
//! turn a 128-bit counter into 128 random bits. There is no state, so draw number i costs the same
//! as the first and needs no skipping ahead. It passes TestU01's BigCrush. Cost: 20 wide
//! multiplications a block of four words; nothing is stored. Source: Salmon, Moraes, Dror, Shaw,
//! "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3; constants from its table 2
//! and known answers from the Random123 distribution.

#include <cstdint>

#include "base/cuda/host_device.hpp"

namespace retable {

//! Four random words.
struct PhiloxBlock {
  std::uint32_t word[4];

  //! The two 64-bit halves: half(0) is made of words 0 (low) and 1, half(1) of words 2 and 3.
  RETABLE_HD std::uint64_t half(int i) const {
    return (static_cast<std::uint64_t>(word[2 * i + 1]) << 32) | word[2 * i];
  }
};

//! The generator under one key (a seed).
struct Philox4x32 {
  std::uint32_t key[2];

  //! The generator of a 64-bit seed: low word first.
  static RETABLE_HD Philox4x32 FromSeed(std::uint64_t seed) {
    return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  }

  //! The block at a 128-bit counter, given as four words, lowest first.
  RETABLE_HD PhiloxBlock operator()(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                                    std::uint32_t c3) const {
    std::uint32_t k0 = key[0];
    std::uint32_t k1 = key[1];
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * c0;
      const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c2;
      const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<std::uint32_t>(p1);
      c3 = static_cast<std::uint32_t>(p0);
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
  }

  //! The block number `index` of sub-stream `stream`: 2^64 streams of 2^64 blocks under each key.
  RETABLE_HD PhiloxBlock Block(std::uint64_t index, std::uint64_t stream = 0) const {
    return (*this)(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                   static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32));
  }
};

//! 53 random bits as a double in [0, 1): every value is a multiple of 2^-53.
RETABLE_HD double UniformDouble(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 1.1102230246251565e-16;
}

//! 53 random bits as a double in (0, 1], for logarithms.
RETABLE_HD double UniformDoubleOpenBelow(std::uint64_t bits) {
  return static_cast<double>((bits >> 11) + 1) * 1.1102230246251565e-16;
}

//! The high 64 bits of a 64x64-bit product.
RETABLE_HD std::uint64_t MultiplyHigh64(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;  // one instruction
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
}

//! An integer in [0, n) from 64 random bits by multiplication (Lemire 2019, without the rejection
//! step): the bias is below n / 2^64 and the cost is one draw always. n >= 1.
RETABLE_HD std::uint64_t UniformBelow(std::uint64_t bits, std::uint64_t n) {
  return MultiplyHigh64(bits, n);
}

}  // namespace retable

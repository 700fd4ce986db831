#pragma once
//! @file
//! Philox4x32-10 with the keys of its ten rounds made beforehand.
//!
//! Philox4x32 adds to its key from round to round: 20 additions a block, a quarter of its
//! instructions. As a kernel argument these keys lie in constant memory, from where an exclusive or
//! takes them at no cost. Same blocks as Philox4x32.

#include <cstdint>

#include "algorithms/common/philox.hpp"
#include "base/cuda/unroll.hpp"

namespace retable::shuffle {

struct PhiloxRounds {
  Philox4x32 generator;      //!< the same without the rounds' keys
  std::uint32_t key[10][2];  //!< round keys

  static PhiloxRounds From(const Philox4x32& generator) {
    PhiloxRounds made{generator, {}};
    std::uint32_t low = generator.key[0], high = generator.key[1];
    for (auto& round : made.key) {
      round[0] = low;
      round[1] = high;
      low += 0x9E3779B9u;
      high += 0xBB67AE85u;
    }
    return made;
  }

  //! Philox4x32::Block.
  RETABLE_HD PhiloxBlock Block(std::uint64_t index, std::uint64_t stream = 0) const {
    auto c0 = static_cast<std::uint32_t>(index), c1 = static_cast<std::uint32_t>(index >> 32);
    auto c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
    RETABLE_UNROLL
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * c0;
      const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c2;
      c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ key[round][0];
      c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ key[round][1];
      c1 = static_cast<std::uint32_t>(p1);
      c3 = static_cast<std::uint32_t>(p0);
    }
    return {{c0, c1, c2, c3}};
  }
};

}  // namespace retable::shuffle

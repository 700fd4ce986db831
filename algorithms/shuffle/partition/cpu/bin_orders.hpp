#pragma once
//! @file
//! The orders of small bins of the partition shuffle, looked up in place of made by swaps.
//!
//! The swap targets of a bin of `size` slots are the digits of x = floor(word size! / 2^32)
//! (partition/partition.hpp), so x names the order: one multiplication and one read in place of a
//! chain of size - 1 dependent swaps. 46,233 orders of up to eight slots: 185 kB, of which all but
//! the last 161 kB are read often.

#include <cstdint>
#include <vector>

#include "algorithms/shuffle/tuning.hpp"

namespace retable::shuffle {

struct BinOrders {
  std::uint32_t count[kTabledBin + 1];  //!< size!
  std::uint32_t first[kTabledBin + 1];  //!< begin of the orders of a size
  //! Order x of a size in nibbles: place j takes the slot in nibble j; places past the bin their
  //! own.
  std::vector<std::uint32_t> take;

  //! The table, made at the first call. O(sum of size! size).
  static const BinOrders& Table();
};

//! The other form of an order: slot r goes to the place in nibble r.
inline std::uint32_t InverseOrder(std::uint32_t take) {
  std::uint32_t go = 0;
  for (std::uint32_t j = 0; j < kTabledBin; ++j) go |= j << (4 * ((take >> (4 * j)) & 15u));
  return go;
}

}  // namespace retable::shuffle

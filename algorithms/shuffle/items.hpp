#pragma once
//! @file
//! The three item types that shufflers move, and the dispatch from a size to a type.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace retable::shuffle {

struct alignas(16) Item16 {
  std::uint64_t half[2];
};

//! Calls f with a value of the type of that size: 4 -> uint32_t, 8 -> uint64_t, 16 -> Item16.
//! @throws std::invalid_argument for another size.
template <class F>
void WithItemType(std::size_t item_bytes, F&& f) {
  switch (item_bytes) {
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    case 16:
      return f(Item16{});
    default:
      throw std::invalid_argument("items of " + std::to_string(item_bytes) +
                                  " bytes: 4, 8 or 16 are moved directly");
  }
}

//! Calls f(in, out) with pointers to items of that size. @throws as WithItemType
template <class F>
void WithItems(const void* in, void* out, std::size_t item_bytes, F&& f) {
  WithItemType(item_bytes, [&](auto item) {
    using Item = decltype(item);
    f(static_cast<const Item*>(in), static_cast<Item*>(out));
  });
}

//! Writes an item behind those of its part, and asks for the line that the part will want next:
//! with hundreds of parts each line is new to the cache, and a processor waits for those it writes
//! to.
template <class Item>
inline void Append(Item* place, const Item& item) {
#if defined(__GNUC__)
  __builtin_prefetch(reinterpret_cast<const char*>(place) + 64, 1);
#endif
  *place = item;
}

//! What no part of n items has that are split at random into so many parts: 16 standard deviations
//! over the mean. More is an error, once in 10^57 shuffles.
inline std::uint64_t MostItems(std::uint64_t n, std::uint64_t parts) {
  const double mean = static_cast<double>(n) / static_cast<double>(parts);
  return std::min(n, static_cast<std::uint64_t>(mean + 16 * std::sqrt(mean) + 64));
}

//! ceil(log2(n)); 0 for n = 0 and 1, 64 over 2^63.
inline constexpr int CeilLog2(std::uint64_t n) {
  return n < 2 ? 0 : static_cast<int>(std::bit_width(n - 1));
}

}  // namespace retable::shuffle

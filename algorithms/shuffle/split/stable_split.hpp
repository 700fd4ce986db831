#pragma once
//! @file
//! A stable split of items by random digits, on all threads of a CPU.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {

//! Copies the n items of `in` to `out`, ordered stably by digits of {0..digits-1}, and returns
//! where each digit's part begins, and n. for_each_digit(begin, end, visit) calls visit(i, digit)
//! for the items [begin, end) in turn; begin is a multiple of 2^18. Ranges of the input are counted
//! and then moved in parallel: a range's counts fix its places. Time O(n), memory a counter a digit
//! and range.
template <class Item, class ForEachDigit>
std::vector<std::uint64_t> SplitByDigits(std::uint32_t digits, const Item* in, Item* out,
                                         std::uint64_t n, ForEachDigit&& for_each_digit) {
  const std::uint64_t ranges = (n + kSplitRange - 1) / kSplitRange;
  std::vector<std::uint64_t> place(ranges * digits, 0), start(digits + std::uint64_t{1}, 0);
  const auto visit_range = [&](std::uint64_t range, auto&& visit) {
    for_each_digit(range * kSplitRange, std::min(n, (range + 1) * kSplitRange), visit);
  };
  ParallelFor(ranges, [&](std::uint64_t r) {
    std::uint64_t* count = &place[r * digits];
    visit_range(r, [&](std::uint64_t, std::uint32_t digit) { ++count[digit]; });
  });
  std::uint64_t sum = 0;
  for (std::uint64_t d = 0; d < digits; ++d) {
    start[d] = sum;
    for (std::uint64_t r = 0; r < ranges; ++r) {
      const std::uint64_t count = place[r * digits + d];
      place[r * digits + d] = sum;
      sum += count;
    }
  }
  start[digits] = sum;
  ParallelFor(ranges, [&](std::uint64_t r) {
    std::uint64_t* next = &place[r * digits];
    visit_range(r,
                [&](std::uint64_t i, std::uint32_t digit) { Append(out + next[digit]++, in[i]); });
  });
  return start;
}

}  // namespace retable::shuffle

#pragma once
//! @file
//! The bijective shuffle on the CPU: evaluate, drop what is out of range, close up, gather.
//!
//! Algorithm 1 of Mitchell et al. 2022. The domain is cut into blocks; blocks count their valid
//! values in parallel, a scan of the counts gives each block its place, and blocks then write their
//! items. The bijection is evaluated twice (once when n is the whole domain), which is cheaper than
//! storing an index per value. O(N) work, N < 2 max(n, 16); memory one counter a block.

#include <cstdint>
#include <vector>

#include "algorithms/shuffle/parallel.hpp"

namespace retable::shuffle {

template <class Bijection, class Item>
void BijectiveShuffle(const Bijection& f, const Item* in, Item* out, std::uint64_t n) {
  constexpr std::uint64_t kBlock = std::uint64_t{1} << 14;
  const std::uint64_t domain = f.size();
  const std::uint64_t blocks = (domain + kBlock - 1) / kBlock;
  const auto end = [&](std::uint64_t b) {
    return (b + 1) * kBlock < domain ? (b + 1) * kBlock : domain;
  };
  std::vector<std::uint64_t> start(blocks + 1, 0);
  if (n == domain) {
    for (std::uint64_t b = 0; b < blocks; ++b) start[b + 1] = end(b);
  } else {
    ParallelFor(blocks, [&](std::uint64_t b) {
      std::uint64_t valid = 0;
      for (std::uint64_t x = b * kBlock; x < end(b); ++x) valid += f(x) < n;
      start[b + 1] = valid;
    });
    for (std::uint64_t b = 0; b < blocks; ++b) start[b + 1] += start[b];
  }
  ParallelFor(blocks, [&](std::uint64_t b) {
    Item* target = out + start[b];
    for (std::uint64_t x = b * kBlock; x < end(b); ++x) {
      const std::uint64_t source = f(x);
      if (source < n) *target++ = in[source];
    }
  });
}

}  // namespace retable::shuffle

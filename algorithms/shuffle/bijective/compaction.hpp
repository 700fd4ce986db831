#pragma once
//! @file
//! The bijective shuffle on the CPU: evaluate, drop what is out of range, compact, gather.
//!
//! Algorithm 1 of Mitchell et al. 2022. The domain is cut into blocks; blocks count their valid
//! values in parallel, a scan of the counts gives each block its place, and blocks then write their
//! items. The bijection is evaluated twice (once when n is the whole domain), which is cheaper than
//! storing an index per value. O(N) work, N < 2 max(n, 16); memory one counter a block.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {

template <class Bijection, class Item>
void BijectiveShuffle(const Bijection& f, const Item* in, Item* out, std::uint64_t n) {
  constexpr std::uint64_t kBlock = kHostBlock, kBatch = kHostBatch;
  const std::uint64_t domain = f.size();
  const std::uint64_t blocks = (domain + kBlock - 1) / kBlock;
  // Calls use(values, count) for batches of a block.
  const auto for_batches = [&](std::uint64_t block, auto&& use) {
    std::uint64_t values[kBatch];
    const std::uint64_t end = std::min(domain, (block + 1) * kBlock);
    for (std::uint64_t x = block * kBlock; x < end; x += kBatch) {
      const std::uint64_t count = std::min(kBatch, end - x);
      EvaluateMany(f, x, count, values);
      use(values, count);
    }
  };
  std::vector<std::uint64_t> start(blocks + 1, 0);
  if (n == domain) {
    for (std::uint64_t b = 0; b < blocks; ++b) start[b + 1] = std::min(domain, (b + 1) * kBlock);
  } else if (blocks > 1) {
    ParallelFor(blocks, [&](std::uint64_t b) {
      std::uint64_t valid = 0;
      for_batches(b, [&](const std::uint64_t* values, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) valid += values[i] < n;
      });
      start[b + 1] = valid;
    });
    for (std::uint64_t b = 0; b < blocks; ++b) start[b + 1] += start[b];
  }
  ParallelFor(blocks, [&](std::uint64_t b) {
    Item* target = out + start[b];
    for_batches(b, [&](const std::uint64_t* values, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        if (values[i] < n) *target++ = in[values[i]];
      }
    });
  });
}

}  // namespace retable::shuffle

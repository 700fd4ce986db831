//! @file
//! Dart throwing: every item is thrown at a table of 2n places until it hits a free one;
//! compaction of the table gives the order.
//!
//! Threads race for places by compare-and-swap, so one seed gives different orders from run to run
//! when there are several threads: that is the method's known weakness, and `deterministic` says
//! so. With independent uniform throws the filled places are uniform whoever wins. Expected O(n)
//! work, 2n places of extra memory. Sources: Reif and Miller 1985; Mitchell et al. 2022, section 6
//! (a table of 2n).

#include <atomic>
#include <vector>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

constexpr std::uint64_t kBlock = 1 << 14;
constexpr std::uint64_t kFree = ~std::uint64_t{0};

// An exactly uniform place for throw number t of item i.
std::uint64_t Throw(const Philox4x32& random, std::uint64_t i, std::uint64_t& t,
                    std::uint64_t places) {
  const std::uint64_t threshold = (0 - places) % places;
  for (;; ++t) {
    const std::uint64_t bits = random.Block(i, kDartStream + (t << 8)).half(0);
    if (bits * places >= threshold) return MultiplyHigh64(bits, places);
  }
}

template <class Item>
void DartThrowing(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed) {
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  const std::uint64_t places = 2 * n;
  std::vector<std::atomic<std::uint64_t>> table(places);
  ParallelBlocks(places, kBlock, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t p = begin; p < end; ++p) table[p].store(kFree, std::memory_order_relaxed);
  });
  ParallelBlocks(n, kBlock, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      for (std::uint64_t t = 0;; ++t) {
        std::uint64_t expected = kFree;
        auto& place = table[Throw(random, i, t, places)];
        if (place.compare_exchange_strong(expected, i, std::memory_order_relaxed)) break;
      }
    }
  });
  const std::uint64_t blocks = (places + kBlock - 1) / kBlock;
  std::vector<std::uint64_t> start(blocks + 1, 0);
  ParallelBlocks(places, kBlock, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t count = 0;
    for (std::uint64_t p = begin; p < end; ++p) count += table[p].load() != kFree;
    start[begin / kBlock + 1] = count;
  });
  for (std::uint64_t b = 0; b < blocks; ++b) start[b + 1] += start[b];
  ParallelBlocks(places, kBlock, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t target = start[begin / kBlock];
    for (std::uint64_t p = begin; p < end; ++p) {
      const std::uint64_t i = table[p].load(std::memory_order_relaxed);
      if (i != kFree) out[target++] = in[i];
    }
  });
}

RETABLE_REGISTER(Shuffler, dart_throwing,
                 {.name = "DartThrowing",
                  .summary = "throws items at 2n places until free, then compacts them",
                  .citation = "Reif and Miller 1985; Mitchell et al. 2022, section 6",
                  .make = [](const Parameters&) {
                    return MakeItemMethod([](auto... a) { DartThrowing(a...); },
                                          /*deterministic=*/false);
                  }});

}  // namespace
}  // namespace retable::shuffle

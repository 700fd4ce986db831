//! @file
//! std::shuffle of the C++ library with mt19937_64: what a C++ programmer gets without a thought.
//! Sequential, O(n), in place on the output. At most 2^64 seeds' worth of permutations.

#include <algorithm>
#include <memory>
#include <random>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

class StdShuffle final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    std::mt19937_64 random(seed);
    WithItems(in, out, item_bytes, [&](const auto* source, auto* items) {
      std::copy_n(source, n, items);
      std::shuffle(items, items + n, random);
    });
  }
};

RETABLE_REGISTER(Shuffler, std_shuffle,
                 {.name = "std::shuffle",
                  .summary = "the C++ library's Fisher-Yates with mt19937_64",
                  .citation = "ISO C++ [alg.random.shuffle]; Knuth, TAOCP 2, 3.4.2P",
                  .make = [](const Parameters&) { return std::make_unique<StdShuffle>(); }});

}  // namespace
}  // namespace retable::shuffle

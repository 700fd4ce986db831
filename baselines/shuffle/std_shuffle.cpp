//! @file
//! std::shuffle of the C++ library with mt19937_64: what a C++ programmer gets without a thought.
//! Sequential, O(n), in place on the output. At most 2^64 seeds' worth of permutations.

#include <algorithm>
#include <random>

#include "algorithms/shuffle/item_method.hpp"

namespace retable::shuffle {
namespace {

template <class Item>
void StdShuffle(const Item* in, Item* items, std::uint64_t n, std::uint64_t seed) {
  std::copy_n(in, n, items);
  std::shuffle(items, items + n, std::mt19937_64(seed));
}

RETABLE_REGISTER(Shuffler, std_shuffle,
                 {.name = "std::shuffle",
                  .summary = "the C++ library's Fisher-Yates with mt19937_64",
                  .citation = "ISO C++ [alg.random.shuffle]; Knuth, TAOCP 2, 3.4.2P",
                  .make = [](const Parameters&) {
                    return MakeItemMethod([](auto... a) { StdShuffle(a...); });
                  }});

}  // namespace
}  // namespace retable::shuffle

//! @file
//! Rao-Sandelius: split at random in two, recurse, finish small parts by Fisher-Yates.
//!
//! Each item draws a bit; zeros go to the front and ones to the back, in place, as Bacher, Bodini,
//! Hwang, Tsai (ACM TALG 13(2), 2017) do; the halves are independent tasks. Every order is equally
//! likely: it is a sort by independent random bit strings. O(n log n) work. The authors' program
//! (github.com/axel-bacher/mergeshuffle) makes the first split on one thread, the second on two. On
//! all threads instead: the first levels of the tree are one pass, in which an item's bits of all
//! these levels name its part; blocks of items count their bits, prefix sums give each block its
//! places in each part, and the blocks move their items. Deterministic: the bits of a part, or of a
//! block of the first pass, come from a stream named by it, not from the thread.
//! Sources: Rao 1961; Sandelius 1962; Bacher, Bodini, Hollender, Lumbroso 2015, arXiv:1508.03167.

#include <algorithm>
#include <stdexcept>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/item_method.hpp"
#include "algorithms/shuffle/split/stable_split.hpp"
#include "base/parallel.hpp"
#include "baselines/shuffle/fisher_yates.hpp"

namespace retable::shuffle {
namespace {

constexpr std::int64_t kSmall = 1 << 16;      // Fisher-Yates up to it: it stays in the cache
constexpr std::uint64_t kParallel = 1 << 18;  // tasks below are not worth a thread
constexpr int kFirstLevels = 8;               // of the first pass: 256 open lines fit in the cache

// Moves items whose bit is 1 to the back; returns how many stay in front. The order within each
// side is of no matter: it is shuffled afterwards, independently.
template <class Item>
std::uint64_t Split(Item* items, std::uint64_t n, PhiloxEngine& random) {
  std::uint64_t front = 0, back = n, bits = 0;
  int left = 0;
  while (front < back) {
    if (left == 0) {
      bits = random();
      left = 64;
    }
    // Branch-free: swap with the last undecided item when the bit is 1.
    const std::uint64_t one = bits & 1;
    const std::uint64_t other = one ? back - 1 : front;
    const Item a = items[front], b = items[other];
    items[front] = b;
    items[other] = a;
    front += 1 - one;
    back -= one;
    bits >>= 1;
    --left;
  }
  return front;
}

// `part` numbers the nodes of the binary tree, the root being 1.
template <class Item>
void RaoSandelius(Item* items, std::uint64_t n, std::uint64_t small, std::uint64_t seed,
                  std::uint64_t part) {
  PhiloxEngine random(seed, kCoinStream + (part << 8));
  if (n <= small) return FisherYates(items, n, random);
  const std::uint64_t front = Split(items, n, random);
  const auto recurse = [&](std::uint64_t side) {
    if (side == 0) {
      RaoSandelius(items, front, small, seed, 2 * part);
    } else {
      RaoSandelius(items + front, n - front, small, seed, 2 * part + 1);
    }
  };
  if (n >= kParallel) return ParallelFor(2, recurse);
  recurse(0);
  recurse(1);
}

// Calls visit(i, digit) for i in [begin, end), a digit being so many coins of the stream of this
// block. A part's stream has its number from bit 8 on, a block's its own from bit 40 on.
template <class Visit>
void ForEachCoins(std::uint64_t seed, int coins, std::uint64_t begin, std::uint64_t end,
                  Visit&& visit) {
  PhiloxEngine random(seed, kCoinStream + ((begin / kSplitRange + 1) << 40));
  const std::uint64_t mask = (std::uint64_t{1} << coins) - 1;
  std::uint64_t bits = 0;
  for (int left = 0; begin < end; ++begin, left -= coins, bits >>= coins) {
    if (left < coins) {
      bits = random();
      left = 64;
    }
    visit(begin, static_cast<std::uint32_t>(bits & mask));
  }
}

template <class Item>
void RaoSandelius(const Item* in, Item* out, std::uint64_t n, std::uint64_t small,
                  std::uint64_t seed) {
  if (n <= small) {
    std::copy_n(in, n, out);
    return RaoSandelius(out, n, small, seed, 1);
  }
  const int levels = std::min(kFirstLevels, CeilLog2((n + small - 1) / small));
  const auto parts = std::uint32_t{1} << levels;
  const auto start =
      SplitByDigits(parts, in, out, n, [&](std::uint64_t begin, std::uint64_t end, auto&& visit) {
        ForEachCoins(seed, levels, begin, end, visit);
      });
  ParallelFor(parts, [&](std::uint64_t p) {
    RaoSandelius(out + start[p], start[p + 1] - start[p], small, seed, parts + p);
  });
}

RETABLE_REGISTER(Shuffler, rao_sandelius,
                 {.name = "RS",
                  .summary = "Rao-Sandelius: random halves, recursively, in parallel",
                  .citation = "Rao 1961; Sandelius 1962; Bacher et al. 2017",
                  .parameters = {{"bucket", kSmall, "items that Fisher-Yates finishes"}},
                  .make = [](const Parameters& p) {
                    const std::int64_t small = IntegerParameter(p, "bucket", kSmall);
                    if (small < 1) throw std::invalid_argument("RS: bucket is at least 1 item");
                    return MakeItemMethod(
                        [small](const auto* in, auto* out, std::uint64_t n, std::uint64_t seed) {
                          RaoSandelius(in, out, n, static_cast<std::uint64_t>(small), seed);
                        });
                  }});

}  // namespace
}  // namespace retable::shuffle

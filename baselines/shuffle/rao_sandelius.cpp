//! @file
//! Rao-Sandelius: split at random in two, recurse, finish small parts by Fisher-Yates.
//!
//! Each item draws a bit; zeros go to the front and ones to the back, in place, as Bacher, Bodini,
//! Hwang, Tsai (ACM TALG 13(2), 2017) do; the halves are independent tasks. Every order is equally
//! likely: it is a sort by independent random bit strings. O(n log n) work, sequential at the top
//! level. Deterministic: a part's bits come from a stream named by the part, not from the thread.
//! Sources: Rao 1961; Sandelius 1962.

#include <algorithm>
#include <memory>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "base/parallel.hpp"
#include "baselines/shuffle/fisher_yates.hpp"

namespace retable::shuffle {
namespace {

constexpr std::uint64_t kSmall = 1 << 16;     // Fisher-Yates below: it stays in the cache
constexpr std::uint64_t kParallel = 1 << 18;  // tasks below are not worth a thread

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
void RaoSandelius(Item* items, std::uint64_t n, std::uint64_t seed, std::uint64_t part) {
  PhiloxEngine random(seed, kCoinStream + (part << 8));
  if (n <= kSmall) return FisherYates(items, n, random);
  const std::uint64_t front = Split(items, n, random);
  const auto recurse = [&](std::uint64_t side) {
    if (side == 0) {
      RaoSandelius(items, front, seed, 2 * part);
    } else {
      RaoSandelius(items + front, n - front, seed, 2 * part + 1);
    }
  };
  if (n >= kParallel) return ParallelFor(2, recurse);
  recurse(0);
  recurse(1);
}

class RaoSandeliusShuffler final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    WithItemType(item_bytes, [&](auto item) {
      using Item = decltype(item);
      Item* items = static_cast<Item*>(out);
      std::copy_n(static_cast<const Item*>(in), n, items);
      RaoSandelius(items, n, seed, 1);
    });
  }
};

RETABLE_REGISTER(Shuffler, rao_sandelius,
                 {.name = "RS",
                  .device = Device::kCpu,
                  .summary = "Rao-Sandelius: random halves, recursively, in parallel",
                  .citation = "Rao 1961; Sandelius 1962; Bacher et al. 2017",
                  .parameters = {},
                  .make = [](const Parameters&) {
                    return std::make_unique<RaoSandeliusShuffler>();
                  }});

}  // namespace
}  // namespace retable::shuffle

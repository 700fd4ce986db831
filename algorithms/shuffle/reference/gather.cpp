//! @file
//! Random gather: out[j] = in[g(j)], the stated upper bound of the paper. It is no shuffler: it
//! shows what reading n items in random order costs when finding the order is almost free. g is a
//! hash of j folded into [0, n), so values may repeat.

#include "algorithms/shuffle/item_method.hpp"
#include "algorithms/shuffle/reference/gather_index.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

template <class Item>
void Gather(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed) {
  const GatherIndex index = MakeGatherIndex(n, seed);
  ParallelBlocks(n, kHostBlock, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t j = begin; j < end; ++j) out[j] = in[index(j)];
  });
}

RETABLE_REGISTER(Shuffler, gather,
                 {.name = "Gather",
                  .summary = "random gather of a computed index: a bound, not a shuffle",
                  .citation = "Mitchell et al. 2022, section 6",
                  .make = [](const Parameters&) {
                    return MakeItemMethod([](auto... a) { Gather(a...); });
                  }});

}  // namespace
}  // namespace retable::shuffle

//! @file
//! Random gather: out[j] = in[g(j)], the stated upper bound of the paper. It is no shuffler: it
//! shows what reading n items in random order costs when finding the order is almost free. With the
//! index computed, g is a hash of j folded into [0, n), so values may repeat. With the index
//! stored, the same values are read from an array made before the timing.

#include <memory>
#include <vector>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/reference/gather_index.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "algorithms/shuffle/tuning.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {
namespace {

class Gather final : public Shuffler {
 public:
  explicit Gather(bool stored) : stored_(stored) {}

 private:
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    const GatherIndex index = MakeGatherIndex(n, seed);
    if (stored_) Prepare(index, n, seed);
    WithItems(in, out, item_bytes, [&](const auto* source, auto* target) {
      ParallelBlocks(n, kHostBlock, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t j = begin; j < end; ++j) {
          target[j] = source[stored_ ? stored_index_[j] : index(j)];
        }
      });
    });
  }

  // Kept between calls with the same n and seed, so that a warmed-up timing does not include it.
  void Prepare(const GatherIndex& index, std::uint64_t n, std::uint64_t seed) {
    if (stored_index_.size() == n && stored_seed_ == seed) return;
    stored_index_.resize(n);
    stored_seed_ = seed;
    for (std::uint64_t j = 0; j < n; ++j) stored_index_[j] = static_cast<std::uint32_t>(index(j));
  }

  bool stored_;
  std::vector<std::uint32_t> stored_index_;
  std::uint64_t stored_seed_ = 0;
};

RETABLE_REGISTER(Shuffler, gather,
                 {.name = "Gather",
                  .summary = "random gather (computed or stored index): a bound, not a shuffle",
                  .citation = "Mitchell et al. 2022, section 6",
                  .parameters = {{"stored", false, "read the index from an array of 32-bit words"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<Gather>(SwitchParameter(p, "stored", false));
                  }});

}  // namespace
}  // namespace retable::shuffle

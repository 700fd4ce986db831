//! @file
//! "Shuffle" on the CPU: the same orders as on the GPU.

#include "algorithms/shuffle/auto.hpp"

#include <memory>

#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

class AutoShuffler final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    Registry<Shuffler>::Instance()
        .Make(MethodOf(n, item_bytes), Device::kCpu, {})
        ->shuffle(in, out, n, item_bytes, seed);
  }
};

RETABLE_REGISTER(Shuffler, best,
                 {.name = "Shuffle",
                  .summary = "rectangle cipher; past the cache within the buckets of a split",
                  .citation = "ours",
                  .make = [](const Parameters&) { return std::make_unique<AutoShuffler>(); }});

}  // namespace
}  // namespace retable::shuffle

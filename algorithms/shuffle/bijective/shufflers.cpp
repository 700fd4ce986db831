//! @file
//! The bijective shuffles on the CPU under their names: LCG, VarPhilox, and VarPhilox-mended.

#include <memory>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/bijective/compaction.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

template <class Bijection>
void ShuffleItems(const Bijection& f, const void* in, void* out, std::uint64_t n,
                  std::size_t item_bytes) {
  WithItems(in, out, item_bytes,
            [&](const auto* source, auto* target) { BijectiveShuffle(f, source, target, n); });
}

class LcgShuffler final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    ShuffleItems(MakeLcg(n, seed), in, out, n, item_bytes);
  }
};

class VarPhiloxShuffler final : public Shuffler {
 public:
  explicit VarPhiloxShuffler(int rounds) : rounds_(rounds) { MakeVariablePhilox(1, 0, rounds); }

 private:
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    ShuffleItems(MakeVariablePhilox(n, seed, rounds_), in, out, n, item_bytes);
  }
  int rounds_;
};

class WhitenedShuffler final : public Shuffler {
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    ShuffleItems(MakeWhitenedPhilox(n, seed), in, out, n, item_bytes);
  }
};

RETABLE_REGISTER(Shuffler, lcg,
                 {.name = "LCG",
                  .summary = "bijective shuffle with a linear congruential bijection",
                  .citation = "Mitchell et al. 2022, section 3.1",
                  .make = [](const Parameters&) { return std::make_unique<LcgShuffler>(); }});

RETABLE_REGISTER(Shuffler, var_philox,
                 {.name = "VarPhilox",
                  .summary = "bijective shuffle with the VariablePhilox cipher",
                  .citation = "Mitchell et al. 2022, section 3.2 and listing 1",
                  .parameters = {{"rounds", std::int64_t{24}, "rounds of the cipher, 1 to 64"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<VarPhiloxShuffler>(IntParameter(p, "rounds", 24));
                  }});

RETABLE_REGISTER(Shuffler, whitened,
                 {.name = "VarPhilox-mended",
                  .summary = "VariablePhilox after a keyed addition; rounds by width",
                  .citation = "ours, after Mitchell et al. 2022",
                  .make = [](const Parameters&) { return std::make_unique<WhitenedShuffler>(); }});

}  // namespace
}  // namespace retable::shuffle

//! @file
//! The bijective shuffles on the CPU under their names: LCG, VarPhilox, and VarPhilox-mended.

#include <memory>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/bijective/compaction.hpp"
#include "algorithms/shuffle/item_method.hpp"

namespace retable::shuffle {
namespace {

// The method of the bijection make(n, seed).
template <class Make>
std::unique_ptr<Shuffler> MakeBijective(Make make) {
  return MakeItemMethod([make](const auto* in, auto* out, std::uint64_t n, std::uint64_t seed) {
    BijectiveShuffle(make(n, seed), in, out, n);
  });
}

RETABLE_REGISTER(Shuffler, lcg,
                 {.name = "LCG",
                  .summary = "bijective shuffle with a linear congruential bijection",
                  .citation = "Mitchell et al. 2022, section 3.1",
                  .make = [](const Parameters&) { return MakeBijective(MakeLcg); }});

RETABLE_REGISTER(Shuffler, var_philox,
                 {.name = "VarPhilox",
                  .summary = "bijective shuffle with the VariablePhilox cipher",
                  .citation = "Mitchell et al. 2022, section 3.2 and listing 1",
                  .parameters = {{"rounds", std::int64_t{24}, "rounds of the cipher, 1 to 64"}},
                  .make = [](const Parameters& p) {
                    const int rounds = IntParameter(p, "rounds", 24);
                    MakeVariablePhilox(1, 0, rounds);  // refuses wrong ones
                    return MakeBijective([rounds](std::uint64_t n, std::uint64_t seed) {
                      return MakeVariablePhilox(n, seed, rounds);
                    });
                  }});

RETABLE_REGISTER(Shuffler, whitened,
                 {.name = "VarPhilox-mended",
                  .summary = "VariablePhilox after a keyed addition; rounds by width",
                  .citation = "ours, after Mitchell et al. 2022",
                  .make = [](const Parameters&) { return MakeBijective(MakeWhitenedPhilox); }});

}  // namespace
}  // namespace retable::shuffle

#include "algorithms/shuffle/quality/faulty_shufflers.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/bijective/compaction.hpp"
#include "algorithms/shuffle/in_place/in_place.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/philox/engine.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {
namespace {

Permutation Identity(std::uint32_t n) {
  Permutation order(n);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// Fisher-Yates with a rule for the partner of item i of n.
OrderSource Swaps(const std::string& name, const std::string& fault,
                  std::uint64_t (*partner)(PhiloxEngine& r, std::uint32_t i, std::uint32_t n)) {
  return {name, fault, [partner](std::uint32_t n, std::uint64_t seed) {
            PhiloxEngine random(seed, kSwapStream);
            Permutation order = Identity(n);
            for (std::uint32_t i = 1; i < n; ++i) std::swap(order[i], order[partner(random, i, n)]);
            return order;
          }};
}

template <class Bijection>
Permutation Compacted(const Bijection& f, std::uint32_t n) {
  const Permutation in = Identity(n);
  Permutation out(n);
  BijectiveShuffle(f, in.data(), out.data(), n);
  return out;
}

// x -> f(x), and again while the value is out of range.
template <class Bijection>
Permutation CycleWalked(const Bijection& f, std::uint32_t n) {
  Permutation out(n);
  for (std::uint32_t x = 0; x < n; ++x) {
    std::uint64_t y = f(x);
    while (y >= n) y = f(y);
    out[x] = static_cast<std::uint32_t>(y);
  }
  return out;
}

// One key a little longer than the index; equal keys stay in their input order.
Permutation ShortKeySort(std::uint32_t n, std::uint64_t seed) {
  PhiloxEngine random(seed, kSortStream);
  const int bits = CeilLog2(n) + 2;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys(n);
  for (std::uint32_t i = 0; i < n; ++i) keys[i] = {random() >> (64 - bits), i};
  std::sort(keys.begin(), keys.end());
  Permutation order(n);
  for (std::uint32_t i = 0; i < n; ++i) order[i] = keys[i].second;
  return order;
}

OrderSource Family(const std::string& name, const Parameters& parameters = {}) {
  const std::shared_ptr<Shuffler> shuffler =
      Registry<Shuffler>::Instance().Make(name, Device::kCpu, parameters);
  return {name, "", [shuffler](std::uint32_t n, std::uint64_t seed) {
            const Permutation in = Identity(n);
            Permutation out(n);
            shuffler->shuffle(in.data(), out.data(), n, sizeof(std::uint32_t), seed);
            return out;
          }};
}

}  // namespace

std::vector<OrderSource> OrderSources() {
  std::vector<OrderSource> sources = {
      Swaps("Sattolo", "cyclic orders only", [](auto& r, auto i, auto) { return r.Below(i); }),
      Swaps("naive swaps", "partner from all n places",
            [](auto& r, auto, auto n) { return r.Below(n); }),
      Swaps("modulo bias", "partner by remainder of ten bits",
            [](auto& r, auto i, auto) { return (r() >> 54) % (i + 1); }),
      Swaps("constant index", "partner is always place 0",
            [](auto&, auto, auto) { return std::uint64_t{0}; }),
      {"short-key stable sort", "equal keys keep their order", ShortKeySort},
      {"LCG", "n^2 / 2 orders",
       [](std::uint32_t n, std::uint64_t seed) { return Compacted(MakeLcg(n, seed), n); }},
      {"cycle walking", "parity leaks: 24 rounds, walked",
       [](std::uint32_t n, std::uint64_t seed) {
         return CycleWalked(MakeVariablePhilox(n, seed, 24), n);
       }},
  };
  for (const int rounds : {4, 8, 16, 24}) {
    sources.push_back({"VarPhilox " + std::to_string(rounds),
                       rounds < 24 ? "few rounds" : "even orders only at powers of two",
                       [rounds](std::uint32_t n, std::uint64_t seed) {
                         return Compacted(MakeVariablePhilox(n, seed, rounds), n);
                       }});
  }
  sources.push_back(Swaps("Fisher-Yates", "",
                          [](auto& r, auto i, auto) { return r.Below(i + std::uint64_t{1}); }));
  sources.push_back(Family("VarPhilox-mended"));
  sources.push_back(Family("Rectangle"));
  sources.push_back(Family("Partition"));
  sources.push_back(Family("FisherYates"));
  sources.push_back(Family("SplitRectangle", {{"bucket", std::int64_t{24}}}));  // many buckets
  sources.push_back({"InPlace", "", [](std::uint32_t n, std::uint64_t seed) {
                       Permutation order = Identity(n);
                       // Chunks so small that the exchange does the most of the work.
                       ShuffleInPlace(order.data(), n, sizeof(std::uint32_t), seed, 256);
                       return order;
                     }});
  return sources;
}

}  // namespace retable::shuffle

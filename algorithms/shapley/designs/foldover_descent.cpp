//! @file
//! Fold-over designs by adjacent-swap descent: m orders and their reverses, improved until no
//! exchange of neighbours lowers the Mallows discrepancy.
//!
//! Greedy methods choose among random candidates, which all look alike at large d; a local search
//! does not stop there. Exchanging two neighbours of an order flips one pair, so its distance to
//! each other order moves by one: the change of the discrepancy costs O(m), in exact integers.
//! With the reverses in the set, orders at distance t contribute K(t) + K(D - t). The start is
//! Orthogonal's; a sweep tries every neighbour pair of every order; at most `sweeps`, stopping when
//! one changes nothing. A last uniform relabelling of the players changes no distance and makes
//! every single order uniform, so estimates are unbiased whatever the descent did.
//! O(sweeps m^2 d) time; 2 m^2 + 2 m d bytes. Not in the paper.

#include <algorithm>
#include <cmath>

#include "algorithms/common/require.hpp"
#include "algorithms/shapley/discrepancy/discrepancy.hpp"
#include "algorithms/shapley/kernels/discordance.hpp"
#include "base/parallel.hpp"

namespace retable::shapley {
namespace {

constexpr std::uint64_t kFoldoverDescentStream = 7;
constexpr int kLargestFolded = 361;  // distances of 16 bits

// The base orders, their ranks and their distances.
class Design {
 public:
  Design(const PermutationSample& start, double lambda)
      : d_(static_cast<std::size_t>(start.dimension)),
        m_((start.count() + 1) / 2),
        orders_(m_ * d_),
        ranks_(d_ * m_),
        distance_(m_ * m_) {
    for (std::size_t i = 0; i < m_; ++i) {
      const auto order = start.order(2 * i);
      std::copy(order.begin(), order.end(), Order(i));
      for (std::size_t k = 0; k < d_; ++k) {
        RanksOf(order[k])[i] = static_cast<std::uint16_t>(k);
      }
    }
    SetDistances();
    SetSteps(start.dimension, lambda);
  }

  // Tries every pair of neighbours of every order once; whether anything changed.
  bool Sweep() {
    bool changed = false;
    for (std::size_t i = 0; i < m_; ++i) {
      Check();
      for (std::size_t k = 0; k + 1 < d_; ++k) changed = TrySwap(i, k) || changed;
    }
    return changed;
  }

  const std::vector<std::int32_t>& orders() const { return orders_; }

 private:
  std::int32_t* Order(std::size_t i) { return orders_.data() + i * d_; }
  std::uint16_t* RanksOf(std::int32_t player) {
    return ranks_.data() + static_cast<std::size_t>(player) * m_;
  }

  void SetDistances() {
    const std::size_t words = PairWords(static_cast<int>(d_));
    std::vector<std::uint64_t> codes(m_ * words);
    for (std::size_t i = 0; i < m_; ++i) {
      EncodePairs({Order(i), d_}, std::span(codes).subspan(i * words, words));
    }
    for (std::size_t i = 0; i < m_; ++i) {
      Check();
      for (std::size_t j = 0; j < m_; ++j) {
        distance_[i * m_ + j] = static_cast<std::uint16_t>(
            Discordant(codes.data() + i * words, codes.data() + j * words, words));
      }
    }
  }

  // up_[t] and down_[t]: the change of K(t) + K(D - t) for a distance of t that moves by one.
  void SetSteps(int d, double lambda) {
    const std::int64_t pairs = PairCount(d);
    std::vector<std::int64_t> both;
    for (std::int64_t t = 0; t <= pairs; ++t) {
      const double sum = MallowsValue(t, pairs, lambda) + MallowsValue(pairs - t, pairs, lambda);
      both.push_back(std::llround(std::ldexp(sum, 40)));
    }
    up_.assign(both.size(), 0);
    down_.assign(both.size(), 0);
    for (std::size_t t = 0; t + 1 < both.size(); ++t) {
      up_[t] = both[t + 1] - both[t];
      down_[t + 1] = -up_[t];
    }
  }

  bool TrySwap(std::size_t i, std::size_t k) {
    std::int32_t* order = Order(i);
    std::uint16_t* first = RanksOf(order[k]);
    std::uint16_t* second = RanksOf(order[k + 1]);
    std::uint16_t* distance = distance_.data() + i * m_;
    // Where order j agrees with i on the pair, exchanging it moves them apart.
    std::int64_t change = 0;
    for (std::size_t j = 0; j < m_; ++j) {
      if (j == i) continue;
      change += first[j] < second[j] ? up_[distance[j]] : down_[distance[j]];
    }
    if (change >= 0) return false;
    for (std::size_t j = 0; j < m_; ++j) {
      if (j == i) continue;
      const int moved = distance[j] + (first[j] < second[j] ? 1 : -1);
      distance[j] = distance_[j * m_ + i] = static_cast<std::uint16_t>(moved);
    }
    std::swap(order[k], order[k + 1]);
    std::swap(first[i], second[i]);
    return true;
  }

  std::size_t d_, m_;
  std::vector<std::int32_t> orders_;
  std::vector<std::uint16_t> ranks_;     // player x order
  std::vector<std::uint16_t> distance_;  // order x order
  std::vector<std::int64_t> up_, down_;
};

class FoldoverDescent final : public PermutationSampler {
 public:
  FoldoverDescent(double lambda, std::int64_t sweeps, bool weighted)
      : lambda_(lambda), sweeps_(sweeps), weighted_(weighted) {
    Require(lambda > 0 && std::isfinite(lambda) && sweeps >= 0,
            "the descent needs a finite lambda above 0 and sweeps of 0 or more");
  }

  PermutationSample sample(std::size_t n, int d, std::uint64_t seed) const override {
    Require(d <= kLargestFolded, "Foldover-descent: at most 361 players; take Orthogonal");
    PermutationSample sample = EmptySample(n, d);
    const std::vector<std::int32_t> base = BaseOrders(n, d, seed);
    for (std::size_t i = 0; i < n; ++i) {
      const auto order = sample.order(i);
      std::copy_n(base.data() + i / 2 * order.size(), order.size(), order.begin());
      if (i % 2 == 1) std::ranges::reverse(order);
    }
    Relabel(sample, seed, kFoldoverDescentStream);
    if (weighted_) {
      sample.weights = OptimalWeights(sample, {KernelKind::kMallows, lambda_, d});
    }
    return sample;
  }

 private:
  std::vector<std::int32_t> BaseOrders(std::size_t n, int d, std::uint64_t seed) const {
    const auto start =
        Registry<PermutationSampler>::Instance().Make("Orthogonal", Device::kCpu, {});
    Design design(start->sample(n, d, seed), lambda_);
    for (std::int64_t sweep = 0; sweep < sweeps_ && design.Sweep();) ++sweep;
    return design.orders();
  }

  double lambda_;
  std::int64_t sweeps_;
  bool weighted_;
};

}  // namespace

RETABLE_REGISTER(PermutationSampler, foldover,
                 {.name = "Foldover-descent",
                  .summary = "orders and reverses improved by adjacent swaps, relabelled at random",
                  .citation = "this project; the objective is equation 8 of Mitchell et al. 2022",
                  .parameters = {{"lambda", 4.0, "of the Mallows kernel that is descended"},
                                 {"sweeps", std::int64_t{100}, "most sweeps over all neighbours"},
                                 {"weighted", false, "weights of least discrepancy"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<FoldoverDescent>(RealParameter(p, "lambda", 4.0),
                                                             IntegerParameter(p, "sweeps", 100),
                                                             SwitchParameter(p, "weighted", false));
                  }});

}  // namespace retable::shapley

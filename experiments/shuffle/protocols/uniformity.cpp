//! @file
//! The paper's two statistics of a shuffle by rounds of its cipher (figures 6 to 9): chi-squared
//! over all n! orders (n <= 8), and |MMD^2| under the Mallows kernel, with both thresholds.
//!
//! Orders are those of seeds seed, seed + 1, ...; MMD compares consecutive pairs (equation 5).
//! `rounds` is the axis and reaches the methods that take it; the others are the same at every
//! round.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "algorithms/shuffle/quality/statistics.hpp"
#include "algorithms/shuffle/shuffler.hpp"
#include "base/parallel.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/shuffle/data/sequence.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {
namespace {

using shuffle::Permutation;
using shuffle::Shuffler;

class ShuffleUniformity final : public harness::Protocol {
 public:
  std::string name() const override { return "shuffle/uniformity"; }
  std::string summary() const override { return "chi-squared and MMD of a shuffle by rounds"; }
  Names metrics() const override {
    return {"mmd",  "mmd_hoeffding",  "mmd_normal",         "mmd_over_threshold",
            "chi2", "chi2_threshold", "chi2_over_threshold"};
  }
  Algorithms algorithms() const override { return ListMethods<Shuffler>(); }
  Specs axes() const override { return {{"rounds", std::int64_t{24}, "rounds of the cipher"}}; }
  Specs settings() const override {
    return {{"n", std::int64_t{5}, "items of an order"},
            {"orders", std::int64_t{100000}, "orders drawn, even"},
            {"alpha", 0.05, "level of the thresholds"},
            {"lambda", 5.0, "of the Mallows kernel"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveSequence(dataset); }

  Outcome measure(const Cell& cell) override {
    const auto n = static_cast<std::uint32_t>(IntegerIn(cell.settings, "n", 2, 65536));
    const auto orders =
        static_cast<std::uint64_t>(IntegerIn(cell.settings, "orders", 2, std::int64_t{1} << 40));
    if (orders % 2 != 0) throw std::invalid_argument("orders: an even number, they are paired");
    const double alpha = RealOf(cell.settings, "alpha");
    const double lambda = RealOf(cell.settings, "lambda");
    harness::CellConfig with_rounds = cell;
    with_rounds.parameters["rounds"] = IntegerOf(cell.axes, "rounds");

    const std::uint64_t cells = n <= 8 ? Factorial(n) : 0;
    constexpr std::uint64_t kPairs = 500;  // a block
    const std::uint64_t blocks = (orders / 2 + kPairs - 1) / kPairs;
    std::vector<double> kernel(orders / 2);
    std::vector<std::vector<std::uint64_t>> counts(blocks, std::vector<std::uint64_t>(cells, 0));
    std::vector<std::uint64_t> wrong(blocks, 0);
    ParallelFor(blocks, [&](std::uint64_t block) {
      const auto shuffler = MakeMethod<Shuffler>(with_rounds);
      Permutation identity(n), first(n), second(n);
      for (std::uint32_t i = 0; i < n; ++i) identity[i] = i;
      for (std::uint64_t p = block * kPairs; p < std::min(orders / 2, (block + 1) * kPairs); ++p) {
        const std::uint64_t seed = static_cast<std::uint64_t>(cell.seed) * 1000003 + 2 * p;
        shuffler->shuffle(identity.data(), first.data(), n, 4, seed);
        shuffler->shuffle(identity.data(), second.data(), n, 4, seed + 1);
        const std::uint64_t lost = WrongItems(std::as_bytes(std::span(first)), n, 4, false) +
                                   WrongItems(std::as_bytes(std::span(second)), n, 4, false);
        wrong[block] += lost;
        if (lost > 0) continue;
        kernel[p] = shuffle::MallowsKernel(first, second, lambda);
        if (cells > 0) {
          ++counts[block][shuffle::PermutationRank(first)];
          ++counts[block][shuffle::PermutationRank(second)];
        }
      }
    });

    harness::Outcome outcome;
    outcome.verification =
        AtMost("items lost or repeated",
               static_cast<double>(std::accumulate(wrong.begin(), wrong.end(), std::uint64_t{0})),
               0, "definition");
    if (!outcome.verification.ok) return outcome;
    const double mmd = std::fabs(shuffle::MmdSquared(kernel, shuffle::MallowsMean(n, lambda)));
    const double normal =
        shuffle::NormalThreshold(orders, shuffle::MallowsVariance(n, lambda), alpha);
    outcome.metrics = {{"mmd", "1", {mmd}},
                       {"mmd_normal", "1", {normal}},
                       {"mmd_hoeffding", "1", {shuffle::HoeffdingThreshold(orders, alpha)}},
                       {"mmd_over_threshold", "1", {mmd / normal}}};
    if (cells > 0) {
      std::vector<std::uint64_t> total(cells, 0);
      for (const auto& part : counts) {
        for (std::uint64_t c = 0; c < cells; ++c) total[c] += part[c];
      }
      const double degrees = static_cast<double>(cells - 1);
      const double threshold = shuffle::ChiSquaredThreshold(alpha, degrees);
      const double chi2 = shuffle::ChiSquared(total);
      outcome.metrics.push_back({"chi2", "1", {chi2}});
      outcome.metrics.push_back({"chi2_threshold", "1", {threshold}});
      outcome.metrics.push_back({"chi2_over_threshold", "1", {chi2 / threshold}});
    }
    return outcome;
  }

 private:
  static std::uint64_t Factorial(std::uint32_t n) { return n < 2 ? 1 : n * Factorial(n - 1); }
};

RETABLE_PROTOCOL(ShuffleUniformity);

}  // namespace
}  // namespace retable::experiments

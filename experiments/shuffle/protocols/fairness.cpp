#include "experiments/shuffle/protocols/fairness.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/shuffle/quality/statistics.hpp"

namespace retable::experiments {

Fairness JudgeOrders(shuffle::Shuffler& shuffler, std::uint64_t orders, std::uint64_t seed) {
  Fairness fairness;
  std::size_t tests = 0;
  for (const std::uint32_t n : {5u, 64u}) {
    shuffle::Battery battery(n);
    std::vector<std::uint32_t> items(n), order(n);
    std::iota(items.begin(), items.end(), 0u);
    for (std::uint64_t k = 0; k < orders; ++k) {
      shuffler.shuffle(items.data(), order.data(), n, sizeof(std::uint32_t), seed * 1000000007 + k);
      battery.Add(order);
    }
    for (const auto& result : battery.Results()) {
      ++tests;
      if (!fairness.lowest.empty() && result.p >= fairness.p) continue;
      fairness = {result.p, result.test + ", n = " + std::to_string(n)};
    }
  }
  fairness.p = std::min(1.0, fairness.p * static_cast<double>(tests));
  return fairness;
}

}  // namespace retable::experiments

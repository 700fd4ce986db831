#include "harness/tune/sweep.hpp"

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "harness/stats/statistics.hpp"

namespace retable::harness {

Choice Sweep(const TuneTask& task, const SweepLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const std::vector<std::uint64_t> values = ValuesOf(task.constant);
  std::vector<std::vector<double>> costs(values.size());
  const auto measure = [&](std::size_t v) {
    SetTuned(task.constant.name, values[v]);
    const double cost = task.cost();
    if (!std::isfinite(cost) || cost <= 0) {
      throw std::runtime_error(std::string(task.constant.name) + ": a cost of " +
                               std::to_string(cost) + " was measured");
    }
    return cost;
  };
  for (std::size_t v = 0; v < values.size(); ++v) measure(v);  // warm-up
  int rounds = 0;
  while (rounds < limits.rounds) {
    // Every second round backwards, so that drift meets all values alike.
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t v = rounds % 2 == 0 ? i : values.size() - 1 - i;
      costs[v].push_back(measure(v));
    }
    ++rounds;
    const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    if (rounds >= 3 && spent > limits.seconds) break;
  }
  const auto wins = [&](std::size_t v) {
    int won = 0;
    for (int r = 0; r < rounds; ++r) won += costs[v][r] < costs[0][r];
    return 4 * won >= 3 * rounds;
  };
  Choice choice{std::string(task.constant.name), values[0], values[0],
                Quantile(costs[0], 0.5),         0,         rounds};
  choice.after = choice.before;
  for (std::size_t v = 1; v < values.size(); ++v) {
    const double median = Quantile(costs[v], 0.5);
    if (median <= (1 - limits.gain) * choice.before && median < choice.after && wins(v)) {
      choice.after = median;
      choice.chosen = values[v];
    }
  }
  SetTuned(task.constant.name, choice.chosen);
  return choice;
}

}  // namespace retable::harness

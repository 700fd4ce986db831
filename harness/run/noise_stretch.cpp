#include "harness/run/noise_stretch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/roofline/roofline_fraction.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/store.hpp"
#include "harness/run/worker.hpp"

namespace retable::harness {
namespace {

constexpr double kLongestStretch = 60;  // seconds of a cell
constexpr double kSeconds = 20;         // all executions, about
constexpr int kSweeps = 6;              // fewer where the shortest cell takes long
constexpr std::size_t kMostCells = 12;  // spread over the times

// The times of one execution; empty when it failed or timed nothing.
std::vector<double> Execute(const std::string& program, const CellConfig& config) {
  const Outcome outcome = RunCell(program, config, {}).outcome;
  const Metric* time = TimeOf(outcome);
  if (outcome.status != "ok" || time == nullptr) return {};
  return time->samples;
}

// Cells spread over the times that they time, as many as fit, and how often each is executed.
int Choose(std::vector<StretchCell>& cells) {
  const auto shortest = std::ranges::min_element(cells, {}, &StretchCell::seconds);
  int sweeps = kSweeps;
  while (sweeps > 2 && sweeps * shortest->seconds > kSeconds) --sweeps;
  std::iter_swap(cells.begin(), shortest);  // it is there in any case
  std::sort(cells.begin() + 1, cells.end(),
            [](const auto& a, const auto& b) { return a.time < b.time; });
  // Every so many-th first: ever finer steps over the times.
  double sum = sweeps * cells.front().seconds;
  std::vector<StretchCell> chosen = {cells.front()};
  std::vector<bool> seen(cells.size(), false);
  for (std::size_t step = cells.size(); step > 0; step /= 2) {
    for (std::size_t i = cells.size() - 1; i > 0; i = i > step ? i - step : 0) {
      const double more = sweeps * cells[i].seconds;
      if (seen[i] || chosen.size() >= kMostCells || sum + more > kSeconds) continue;
      seen[i] = true;
      sum += more;
      chosen.push_back(cells[i]);
    }
  }
  cells = std::move(chosen);
  return sweeps;
}

}  // namespace

Noise MeasureStretch(std::vector<StretchCell> cells, const std::string& program,
                     std::ostream& log) {
  std::erase_if(cells, [](const StretchCell& cell) { return cell.seconds > kLongestStretch; });
  if (cells.empty()) return AssumedNoise();
  const int sweeps = Choose(cells);
  double expected = 0;
  for (const StretchCell& cell : cells) expected += sweeps * cell.seconds;
  log << fmt::format("measuring the noise floor: {} cell{} {} times, about {}\n", cells.size(),
                     cells.size() == 1 ? "" : "s", sweeps, DurationText(expected))
      << std::flush;
  std::vector<std::vector<std::vector<double>>> times(cells.size());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      auto samples = Execute(program, cells[i].config);
      if (!samples.empty()) times[i].push_back(std::move(samples));
    }
  }
  std::vector<SamePair> pairs;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t j = 0; j < times[i].size(); ++j) {
      for (std::size_t k = 0; k < j; ++k) pairs.push_back({times[i][k], times[i][j]});
      for (const auto& stored : cells[i].stored) pairs.push_back({stored, times[i][j]});
    }
  }
  Noise noise = MeasureNoise(pairs, {});
  if (noise.pairs == 0) return AssumedNoise();
  noise.measured = UtcNow();
  return noise;
}

}  // namespace retable::harness

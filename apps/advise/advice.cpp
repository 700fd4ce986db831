#include "apps/advise/advice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>

#include "algorithms/common/registry.hpp"
#include "algorithms/shapley/permutation_sampler.hpp"
#include "baselines/shapley/coalitions.hpp"

namespace retable::experiments {
namespace {

struct MeasuredMethod {
  const char* dataset;
  int features, background;
  const char* method;
  struct {
    int per_player;
    double mse, seconds;
  } at[5];  // per_player 0: not measured
};
constexpr MeasuredMethod kTable[] = {
#include "apps/advise/advice_table.inc"
};

using Point = std::tuple<std::string, int, int>;  // data set, background, per player

Point PointOf(const MeasuredError& row) {
  return {row.dataset, row.background, row.per_player};
}

double Distance(const MeasuredError& row, int features, double per_player) {
  return std::pow(std::log2(static_cast<double>(row.features) / features), 2) +
         std::pow(std::log2(row.per_player / per_player), 2);
}

// Whether the method takes as many features: it is asked.
bool Takes(const std::string& method, int features) {
  const bool paired = method == "OddSHAP" || method == "LeverageSHAP" || method.ends_with("MSR") ||
                      method.starts_with("RegressionMSR");
  try {
    if (paired) shapley::CheckPlayers(features);
    if (method.starts_with("Foldover")) {
      const auto& samplers = Registry<shapley::PermutationSampler>::Instance();
      samplers.Make("Foldover-descent", Device::kCpu, {})->sample(0, features, 1);
    }
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

struct Tally {
  double weight = 0, sum = 0;
  double nearest = HUGE_VAL, seconds = 0;
};

}  // namespace

std::span<const MeasuredError> MeasuredErrors() {
  static const auto rows = [] {
    std::vector<MeasuredError> all;
    for (const auto& m : kTable) {
      for (const auto& [per_player, mse, seconds] : m.at) {
        if (per_player > 0) {
          all.push_back({m.dataset, m.features, m.background, per_player, m.method, mse, seconds});
        }
      }
    }
    return all;
  }();
  return rows;
}

std::vector<Advice> Advise(std::span<const MeasuredError> table, int features,
                           std::int64_t evaluations, int background) {
  if (features < 1) throw std::invalid_argument("features: at least one");
  if (evaluations < std::int64_t{2} * features) {
    throw std::invalid_argument("evaluations: at least " +
                                std::to_string(std::int64_t{2} * features) + " for " +
                                std::to_string(features) + " features, two orders of them");
  }
  const double per_player = static_cast<double>(evaluations) / features;
  std::map<Point, double> least;
  double near = HUGE_VAL;
  for (const MeasuredError& row : table) {
    if (background != 0 && row.background != background) continue;
    const auto at = least.insert({PointOf(row), row.mse}).first;
    at->second = std::min(at->second, row.mse);
    near = std::min(near, Distance(row, features, per_player));
  }
  std::map<std::string, Tally> tallies;
  double all = 0;
  for (const auto& row : table) {
    const auto at = least.find(PointOf(row));
    if (at == least.end()) continue;
    const double distance = Distance(row, features, per_player);
    // What was measured at this very point is not mixed with what was measured elsewhere.
    const double weight = near == 0 && distance > 0 ? 0 : std::exp(near - distance);
    Tally& tally = tallies[row.method];
    tally.weight += weight;
    tally.sum += weight * std::log(row.mse / at->second);
    all = std::max(all, tally.weight);
    if (distance < tally.nearest) {
      tally.nearest = distance;
      tally.seconds = row.seconds;
    }
  }
  std::vector<Advice> ranking;
  for (const auto& [method, tally] : tallies) {
    if (tally.weight < 0.9 * all || !Takes(method, features)) continue;
    ranking.push_back({method, std::exp(tally.sum / tally.weight), tally.seconds});
  }
  std::ranges::sort(ranking, [](const Advice& a, const Advice& b) { return a.score < b.score; });
  return ranking;
}

}  // namespace retable::experiments

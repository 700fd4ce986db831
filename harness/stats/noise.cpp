#include "harness/stats/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "harness/stats/statistics.hpp"

namespace retable::harness {
namespace {

constexpr double kNotSeen = 1.1;
constexpr double kShare = 0.98;

double Bound(const std::vector<double>& distances, double least) {
  const double seen = Quantile(distances, kShare);
  return std::isnan(seen) ? least : std::max(least, kNotSeen * seen);
}

}  // namespace

SignificanceRule Noise::Rule(std::size_t comparisons) const {
  const double tail = std::log(20.0 * static_cast<double>(std::max<std::size_t>(comparisons, 1)));
  const double more = pairs == 0 ? 1 : std::max(1.0, tail / std::log(1 / (1 - kShare)));
  const SignificanceRule least;
  // What lies at the least bounds was not seen to vary.
  const auto grown = [&](double bound, double at_least) {
    return bound > at_least ? bound * more : bound;
  };
  return {.noise_floor = grown(floor, least.noise_floor), .margin = grown(margin, least.margin)};
}

SignificanceRule Noise::PairedRule() const {
  return {.noise_floor = paired};
}

Noise MeasureNoise(std::span<const SamePair> pairs, std::span<const double> paired) {
  std::vector<double> centres, ends, cells;
  for (const SamePair& pair : pairs) {
    const Interval ratio = RatioOfMedians(pair.second, pair.first, 1);
    if (std::isnan(ratio.estimate)) continue;
    centres.push_back(std::abs(ratio.estimate - 1));
    ends.push_back(std::max(std::abs(ratio.low - 1), std::abs(ratio.high - 1)));
  }
  for (const double ratio : paired) cells.push_back(std::abs(ratio - 1));
  const SignificanceRule least;
  Noise noise;
  noise.floor = Bound(centres, least.noise_floor);
  noise.margin = std::max(noise.floor, Bound(ends, least.margin));
  noise.paired = Bound(cells, least.noise_floor);
  noise.pairs = static_cast<int>(centres.size());
  return noise;
}

std::string NoiseJson(const Noise& noise) {
  const nlohmann::ordered_json json = {{"floor", noise.floor},
                                       {"margin", noise.margin},
                                       {"paired", noise.paired},
                                       {"pairs", noise.pairs},
                                       {"measured", noise.measured}};
  return json.dump(1) + "\n";
}

Noise NoiseFromJson(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  Noise noise;
  if (!json.is_object()) return noise;
  try {
    noise.floor = json.at("floor").get<double>();
    noise.margin = json.at("margin").get<double>();
    noise.paired = json.at("paired").get<double>();
    noise.pairs = json.at("pairs").get<int>();
    noise.measured = json.at("measured").get<std::string>();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return noise;
}

Noise NoiseOfFolder(const std::string& folder) {
  return NoiseFromJson(ReadOrEmpty(folder + "/noise.json"));
}

Noise Larger(const Noise& a, const Noise& b) {
  if (a.pairs == 0 || b.pairs == 0) return a.pairs == 0 ? b : a;
  Noise noise = a.floor >= b.floor ? a : b;
  noise.margin = std::max(a.margin, b.margin);
  noise.paired = std::max(a.paired, b.paired);
  return noise;
}

Noise AssumedNoise() {
  Noise noise;
  noise.floor = noise.margin = 0.3;
  return noise;
}

std::string NoiseText(const Noise& noise, std::size_t comparisons) {
  if (noise.pairs == 0) {
    return fmt::format(
        "noise floor {:.1f} %: assumed; on the machine of the folders `build/retable noise "
        "EXPERIMENTS --out FOLDER` measures it",
        100 * noise.floor);
  }
  const double of_all = noise.Rule(comparisons).noise_floor;
  return fmt::format("noise floor {:.1f} % (A/A run of {}, {} pairs){}", 100 * noise.floor,
                     noise.measured, noise.pairs,
                     of_all > noise.floor
                         ? fmt::format(", {:.1f} % for {} cells at once", 100 * of_all, comparisons)
                         : "");
}

}  // namespace retable::harness

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

SignificanceRule Noise::Rule() const {
  return {.noise_floor = floor, .margin = margin};
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

std::string NoiseText(const Noise& noise) {
  if (noise.pairs == 0) {
    return fmt::format(
        "noise floor {:.1f} %: assumed; `build/retable noise EXPERIMENTS --out FOLDER` measures it",
        100 * noise.floor);
  }
  return fmt::format("noise floor {:.1f} % (A/A run of {}, {} pairs)", 100 * noise.floor,
                     noise.measured, noise.pairs);
}

}  // namespace retable::harness

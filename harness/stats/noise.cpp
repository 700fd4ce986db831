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
// A time is judged by all pairs within this factor of it, since the nearest alone would be those
// that happen to agree; by the 60 nearest where these are fewer.
constexpr double kAlike = 4;
constexpr std::size_t kNearest = 60;

double Bound(const std::vector<double>& distances, double least) {
  const double seen = Quantile(distances, kShare);
  return std::isnan(seen) ? least : std::max(least, kNotSeen * seen);
}

// How far a ratio is from 1, up or down: 0.5 is as far as 2.
double Distance(double ratio) {
  return std::max(ratio, 1 / ratio) - 1;
}

// What lies at the least bound was not seen to vary.
double Grown(double bound, double least, std::size_t comparisons) {
  const double tail = std::log(20.0 * static_cast<double>(std::max<std::size_t>(comparisons, 1)));
  return bound > least ? bound * std::max(1.0, tail / -std::log(1 - kShare)) : bound;
}

}  // namespace

SignificanceRule Noise::Rule(double time, std::size_t comparisons) const {
  if (seen.empty()) return {.noise_floor = floor, .margin = margin};
  std::vector<const SeenNoise*> near;
  for (const SeenNoise& pair : seen) near.push_back(&pair);
  const auto apart = [&](const SeenNoise* pair) { return Distance(pair->time / time); };
  std::ranges::sort(near, [&](const auto* a, const auto* b) { return apart(a) < apart(b); });
  const auto alike =
      std::ranges::find_if(near, [&](const auto* pair) { return apart(pair) > kAlike - 1; });
  near.resize(
      std::min(near.size(), std::max(kNearest, static_cast<std::size_t>(alike - near.begin()))));
  std::vector<double> centres, ends;
  for (const SeenNoise* pair : near) {
    centres.push_back(pair->centre);
    ends.push_back(pair->end);
  }
  const SignificanceRule least;
  return {.noise_floor = Grown(Bound(centres, least.noise_floor), least.noise_floor, comparisons),
          .margin = Grown(Bound(ends, least.margin), least.margin, comparisons)};
}

SignificanceRule Noise::PairedRule() const {
  return {.noise_floor = paired};
}

Noise MeasureNoise(std::span<const SamePair> pairs, std::span<const double> paired) {
  Noise noise;
  std::vector<double> centres, ends, cells;
  for (const SamePair& pair : pairs) {
    const Interval ratio = RatioOfMedians(pair.second, pair.first, 1);
    if (!(ratio.estimate > 0)) continue;
    noise.seen.push_back({Quantile(pair.first, 0.5), Distance(ratio.estimate),
                          std::max(Distance(ratio.low), Distance(ratio.high))});
    centres.push_back(noise.seen.back().centre);
    ends.push_back(noise.seen.back().end);
  }
  for (const double ratio : paired) cells.push_back(Distance(ratio));
  const SignificanceRule least;
  noise.floor = Bound(centres, least.noise_floor);
  noise.margin = std::max(noise.floor, Bound(ends, least.margin));
  noise.paired = Bound(cells, least.noise_floor);
  noise.pairs = static_cast<int>(centres.size());
  return noise;
}

std::string NoiseJson(const Noise& noise) {
  nlohmann::ordered_json seen = nlohmann::ordered_json::array();
  for (const SeenNoise& pair : noise.seen) seen.push_back({pair.time, pair.centre, pair.end});
  const nlohmann::ordered_json json = {{"floor", noise.floor},       {"margin", noise.margin},
                                       {"paired", noise.paired},     {"pairs", noise.pairs},
                                       {"measured", noise.measured}, {"seen", seen}};
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
    for (const auto& pair : json.value("seen", nlohmann::json::array())) {
      noise.seen.push_back({pair.at(0), pair.at(1), pair.at(2)});
    }
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  const auto distance = [](double value) { return std::isfinite(value) && value >= 0; };
  const bool sound = distance(noise.floor) && distance(noise.margin) && distance(noise.paired) &&
                     noise.pairs >= 0 && std::ranges::all_of(noise.seen, [&](const auto& pair) {
                       return pair.time > 0 && distance(pair.centre) && distance(pair.end);
                     });
  return sound ? noise : Noise{};
}

Noise NoiseOfFolder(const std::string& folder) {
  return NoiseFromJson(ReadOrEmpty(folder + "/noise.json"));
}

Noise Larger(const Noise& a, const Noise& b) {
  if (a.pairs == 0 || b.pairs == 0) return a.pairs == 0 ? b : a;
  Noise noise = a.floor >= b.floor ? a : b;
  noise.margin = std::max(a.margin, b.margin);
  noise.paired = std::max(a.paired, b.paired);
  const Noise& other = a.floor >= b.floor ? b : a;
  noise.seen.insert(noise.seen.end(), other.seen.begin(), other.seen.end());
  return noise;
}

Noise AssumedNoise() {
  Noise noise;
  noise.floor = noise.margin = 0.3;
  return noise;
}

std::string NoiseText(const Noise& noise, std::span<const double> times) {
  if (noise.pairs == 0) {
    return fmt::format(
        "noise floor {:.1f} %: assumed; on the machine of the folders `build/retable noise "
        "EXPERIMENTS --out FOLDER` measures it",
        100 * noise.floor);
  }
  double least = times.empty() ? noise.floor : 1e300, most = times.empty() ? noise.floor : 0;
  for (const double time : times) {
    const double floor = noise.Rule(time, times.size()).noise_floor;
    least = std::min(least, floor);
    most = std::max(most, floor);
  }
  return fmt::format("noise floor {}{:.1f} % (A/A run of {}, {} pairs)",
                     least < most ? fmt::format("{:.1f} to ", 100 * least) : "", 100 * most,
                     noise.measured, noise.pairs);
}

}  // namespace retable::harness

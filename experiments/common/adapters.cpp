#include "experiments/common/adapters.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>

#include "base/cuda/devices.hpp"

namespace retable::experiments {
namespace {

harness::DatasetInfo Describe(const datasets::Member& member) {
  return {.name = member.name,
          .sha256 = member.sha256,
          .present = member.present,
          .reason = member.reason,
          .rows = member.rows,
          .columns = member.columns,
          .complete = member.complete,
          .origin = member.origin,
          .fetch = member.fetch,
          .fetch_megabytes = member.megabytes};
}

template <class T>
T Get(const harness::Values& values, const std::string& name, const char* kind) {
  const auto found = values.find(name);
  if (found == values.end()) {
    throw std::invalid_argument("the experiment has no axis \"" + name + "\": add it to [axes]");
  }
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw std::invalid_argument("\"" + name + "\" must be " + kind);
}

}  // namespace

std::vector<harness::DatasetInfo> ResolveData(const std::string& name) {
  // By cache, since that holds what is present; tests change it within a process.
  static std::map<std::pair<std::string, std::string>, std::vector<harness::DatasetInfo>> known;
  const char* cache = std::getenv("RETABLE_CACHE");
  const std::pair key{std::string(cache == nullptr ? "" : cache), name};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  std::vector<harness::DatasetInfo> infos;
  try {
    for (const datasets::Member& member : datasets::Catalog().Resolve(name)) {
      infos.push_back(Describe(member));
    }
  } catch (const datasets::UnknownDataset& unknown) {
    throw harness::UnknownName("unknown data set \"" + name + "\"", name, unknown.candidates);
  }
  // What is absent may be fetched before the next question.
  if (std::all_of(infos.begin(), infos.end(), [](const auto& info) { return info.present; })) {
    known[key] = infos;
  }
  return infos;
}

std::vector<harness::DatasetInfo> ResolveMade(const std::string& name,
                                              const std::vector<std::string>& known,
                                              const std::string& origin) {
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    std::string names;
    for (const auto& one : known) names += (names.empty() ? "\"" : ", \"") + one + "\"";
    throw harness::UnknownName("\"" + name + "\": this protocol measures " + names, name, known);
  }
  return {{.name = name, .present = true, .origin = origin}};
}

datasets::Frame LoadData(const std::string& name, std::int64_t rows, std::uint64_t seed) {
  return datasets::Catalog().Load(name, {rows, seed});
}

std::vector<harness::Cost> CostsOf(const std::vector<Work>& work, double cores_used) {
  constexpr double kMoreThanOne = 1.2;
  std::vector<harness::Cost> costs;
  for (const Work& w : work) costs.push_back({w.kind, w.amount, cores_used > kMoreThanOne});
  return costs;
}

harness::RepeatOptions RepeatsOf(const harness::CellConfig& cell) {
  harness::RepeatOptions options;
  options.min_samples = static_cast<int>(cell.repeats);
  options.budget = RealOf(cell.settings, "budget");
  return options;
}

harness::RepeatOptions RepeatsOfCalls(const harness::CellConfig& cell, double first_seconds) {
  constexpr double kSampling = 0.5, kWarming = 0.05;  // seconds
  const auto within = [&](double seconds, int least, int most) {
    return static_cast<int>(std::clamp<double>(seconds / first_seconds, least, most));
  };
  harness::RepeatOptions options = RepeatsOf(cell);
  const int few = std::max(options.min_samples, 3) * 4;
  options.max_samples = within(kSampling, few, std::max(few, options.max_samples));
  options.max_warmup_runs = within(kWarming, 2, options.max_warmup_runs);
  options.min_sample = 0;
  return options;
}

harness::Verification AtMost(const std::string& metric, double value, double threshold,
                             const std::string& reference) {
  return {true, value <= threshold, metric, value, threshold, reference};
}

harness::Verification AtLeast(const std::string& metric, double value, double threshold,
                              const std::string& reference) {
  return {true, value >= threshold, metric, value, threshold, reference};
}

harness::Outcome Skipped(const std::string& reason) {
  return {"skipped", reason};
}

std::int64_t IntegerOf(const harness::Values& values, const std::string& name) {
  return Get<std::int64_t>(values, name, "an integer");
}

std::int64_t IntegerIn(const harness::Values& values, const std::string& name, std::int64_t least,
                       std::int64_t most) {
  const std::int64_t value = IntegerOf(values, name);
  if (value >= least && value <= most) return value;
  throw std::invalid_argument(name + " = " + std::to_string(value) + ": " + std::to_string(least) +
                              " to " + std::to_string(most));
}

std::int64_t IntegerOr(const harness::Values& values, const std::string& name,
                       std::int64_t fallback) {
  return values.count(name) ? IntegerOf(values, name) : fallback;
}

std::optional<std::string> WhyNotSoManyGpus(const harness::CellConfig& cell) {
  const std::int64_t gpus = IntegerOr(cell.axes, "gpus", 1);
  const int here = CudaDeviceCount();
  if (cell.device != "cuda" || gpus <= std::max(here, 1)) return {};
  return "needs " + std::to_string(gpus) + " GPUs; " + std::to_string(here) + " here";
}

double RealOf(const harness::Values& values, const std::string& name) {
  return Get<double>(values, name, "a number");
}

bool FlagOf(const harness::Values& values, const std::string& name) {
  return Get<bool>(values, name, "true or false");
}

std::string TextOf(const harness::Values& values, const std::string& name) {
  return Get<std::string>(values, name, "a text");
}

}  // namespace retable::experiments

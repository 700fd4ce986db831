#include "harness/report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <set>

#include "base/atomic_file.hpp"
#include "harness/cli/context.hpp"
#include "harness/machine/environment.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/roofline/roofline_fraction.hpp"
#include "harness/stats/noise.hpp"

namespace retable::harness {
namespace {

constexpr std::size_t kListedCells = 60;
constexpr double kBusy = 0.5;  // a noise floor above which little can be said

double MeanOf(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

// What a cell is, whatever sources measured it.
std::string Identity(const std::string& experiment, const CellConfig& config) {
  return experiment + "|" + config.label + "|" + config.algorithm + "|" + config.device + "|" +
         config.dataset + "|" + ToJson(config.parameters).dump() + "|" + ToJson(config.axes).dump();
}

struct Side {
  std::map<std::string, const ArtifactCell*> cells;
  explicit Side(const std::vector<Artifact>& artifacts) {
    for (const Artifact& artifact : artifacts) {
      for (const ArtifactCell& cell : artifact.cells) {
        if (cell.record) cells.emplace(Identity(artifact.id, cell.config), &cell);
      }
    }
  }
};

// The cells that both sides have, by identity.
std::map<std::string, TimedPair> Partners(const Side& before, const Side& after) {
  std::map<std::string, TimedPair> partners;
  std::set<std::string> seen;  // an artifact may show cells of another: they are compared once
  for (const auto& [identity, cell] : after.cells) {
    const auto found = before.cells.find(identity);
    if (found == before.cells.end()) continue;
    if (seen.insert(found->second->key + cell->key).second) {
      partners.emplace(identity, TimedPair{found->second, cell});
    }
  }
  return partners;
}

// What a cell is judged by: its time, or a rate where it has none.
const Metric* SpeedOf(const ArtifactCell& cell) {
  if (const Metric* time = TimeOf(cell.record->outcome)) return time;
  for (const Metric& metric : cell.record->outcome.metrics) {
    if (IsRate(metric.unit)) return &metric;
  }
  return nullptr;
}

// Its own word; cells that are silent about it were not watched.
bool SaysSteady(const ArtifactCell& cell) {
  const auto found = cell.record->outcome.facts.find("steady");
  if (found == cell.record->outcome.facts.end()) return true;
  const bool* steady = std::get_if<bool>(&found->second);
  return steady == nullptr || *steady;
}

std::vector<double> Inverted(std::vector<double> rates) {
  for (double& rate : rates) rate = 1 / rate;
  return rates;
}

// What two cells of one name were made to do differently: "seed", "data", names of settings. A
// setting that one side's program does not have is none.
std::vector<std::string> Unlike(const CellConfig& a, const CellConfig& b) {
  std::vector<std::string> unlike;
  if (a.seed != b.seed) unlike.emplace_back("seed");
  if (a.dataset_sha256 != b.dataset_sha256) unlike.emplace_back("data");
  for (const auto& [name, value] : a.settings) {
    const auto other = b.settings.find(name);
    if (other != b.settings.end() && other->second != value) unlike.push_back("settings." + name);
  }
  return unlike;
}

// The two times, or rates, that a pair is judged by; none where it is not.
struct Speeds {
  const Metric *before = nullptr, *after = nullptr;
};
Speeds SpeedsOf(const TimedPair& pair) {
  if (!pair.before->ok() || !pair.after->ok()) return {};
  if (!Unlike(pair.before->config, pair.after->config).empty()) return {};
  const Metric* after = SpeedOf(*pair.after);
  const Metric* before = after ? FindMetric(pair.before->record->outcome, after->name) : nullptr;
  if (before == nullptr || before->unit != after->unit) return {};
  return {before, after};
}

// The pairs that are judged: the more there are, the further off a difference has to be.
std::vector<TimedPair> Judged(const std::map<std::string, TimedPair>& partners) {
  std::vector<TimedPair> judged;
  for (const auto& [identity, pair] : partners) {
    if (SpeedsOf(pair).after != nullptr) judged.push_back(pair);
  }
  return judged;
}

class Comparer {
 public:
  //! @param cells how many are judged
  Comparer(const Noise& noise, std::size_t cells) : noise_(noise), cells_(cells) {}

  void Pair(const ArtifactCell& before, const ArtifactCell& after, const std::string& experiment) {
    if (const auto unlike = Unlike(before.config, after.config); !unlike.empty()) {
      ++result.unlike;
      result.unlike_in.insert(unlike.begin(), unlike.end());
      return;
    }
    const std::string cell = NameOf(after.config);
    if (before.ok() && !after.ok()) {
      result.worsened.push_back(experiment + "  " + cell + ": was ok, is " + after.status() +
                                (after.reason().empty() ? "" : " (" + after.reason() + ")"));
    }
    if (!before.ok() || !after.ok()) return;
    const Metric* speed = SpeedOf(after);
    const bool steady = SaysSteady(before) && SaysSteady(after);
    for (const Metric& metric : after.record->outcome.metrics) {
      const Metric* old_metric = FindMetric(before.record->outcome, metric.name);
      if (old_metric == nullptr || old_metric->unit != metric.unit) continue;
      if (&metric == speed || IsTime(metric.unit)) {
        JudgeTime(experiment, cell, *old_metric, metric, steady);
        result.timed.back().part = &metric != speed;
      } else if (!IsRate(metric.unit)) {  // a rate beside a time is that time again
        Judge(experiment, cell, *old_metric, metric);
      }
    }
  }

  Comparison result;

 private:
  void JudgeTime(const std::string& experiment, const std::string& cell, const Metric& before,
                 const Metric& after, bool steady) {
    const bool rate = IsRate(after.unit);
    const std::vector<double> old_times = rate ? Inverted(before.samples) : before.samples;
    const std::vector<double> new_times = rate ? Inverted(after.samples) : after.samples;
    const TimesCompared times =
        CompareTimes(old_times, new_times, noise_.Rule(Quantile(old_times, 0.5), cells_), steady);
    result.timed.push_back({experiment, cell, after.name, after.unit, Quantile(before.samples, 0.5),
                            Quantile(after.samples, 0.5), times.ratio, times.significance});
  }

  void Judge(const std::string& experiment, const std::string& cell, const Metric& before,
             const Metric& after) {
    // Not-a-number on both sides is no change.
    if (std::equal(before.samples.begin(), before.samples.end(), after.samples.begin(),
                   after.samples.end(),
                   [](double a, double b) { return a == b || (a != a && b != b); })) {
      ++result.unchanged;
      return;
    }
    const double medians[] = {Quantile(before.samples, 0.5), Quantile(after.samples, 0.5)};
    const double means[] = {MeanOf(before.samples), MeanOf(after.samples)};
    const bool by_mean = medians[0] == medians[1];
    const double* shown = by_mean ? means : medians;
    result.changed.push_back(fmt::format("{}  {}  {}{}: {:.6g} -> {:.6g} {}", experiment, cell,
                                         after.name, by_mean ? ", mean" : "", shown[0], shown[1],
                                         after.unit));
  }

  const Noise& noise_;
  std::size_t cells_;
};

nlohmann::json EnvironmentOf(const std::string& folder) {
  return nlohmann::json::parse(ReadOrEmpty(folder + "/environment.json"), nullptr, false);
}

void PrintEnvironments(const std::string& a, const std::string& b, std::ostream& out) {
  const nlohmann::json first = EnvironmentOf(a), second = EnvironmentOf(b);
  if (first.is_discarded() || second.is_discarded()) {
    out << "environment: not known for both folders (no readable environment.json)\n";
    return;
  }
  const std::vector<std::string> differences = EnvironmentDifferences(first, second);
  if (differences.empty()) {
    out << "environment: the same\n";
    return;
  }
  out << "environment: differs (A | B); a change below may come from this:\n";
  for (const std::string& difference : differences) out << "  " << difference << '\n';
}

void PrintTimed(const Comparison& comparison, std::ostream& out, bool in_turns) {
  std::vector<const ComparedMetric*> notable;
  std::map<Significance, int> counts;
  for (const ComparedMetric& metric : comparison.timed) {
    if (!metric.part) ++counts[metric.significance];
    if (metric.significance != Significance::kSame) notable.push_back(&metric);
  }
  std::ranges::stable_sort(notable, std::greater(),
                           [](const auto* m) { return m->ratio.estimate; });
  for (std::size_t i = 0; i < std::min(notable.size(), kListedCells); ++i) {
    const ComparedMetric& m = *notable[i];
    out << fmt::format("{:<10} {:.3f} [{:.3f}, {:.3f}]  {}  {}  {}: {:.4g} -> {:.4g} {}{}\n",
                       Name(m.significance), m.ratio.estimate, m.ratio.low, m.ratio.high,
                       m.experiment, m.cell, m.metric, m.old_median, m.new_median, m.unit,
                       m.part ? " (a part, not counted)" : "");
  }
  if (notable.size() > kListedCells)
    out << "... and " << notable.size() - kListedCells << " more\n";
  if (comparison.timed.empty()) return;
  out << "cells by their time, B over A (95 % interval):";
  for (const Significance significance :
       {Significance::kFaster, Significance::kSlower, Significance::kSame, Significance::kAmbiguous,
        Significance::kNotSteady}) {
    out << ' ' << counts[significance] << ' ' << Name(significance)
        << (significance == Significance::kNotSteady ? "\n" : ",");
  }
  for (const auto& [significance, count] : counts) {
    if (significance == Significance::kSame || count == 0) continue;
    const auto first = std::ranges::find_if(
        notable, [c = significance](const auto* m) { return m->significance == c; });
    out << "  " << Name(significance) << ": "
        << NextStep(significance, (*first)->experiment, in_turns) << '\n';
  }
}

void PrintLines(const std::string& title, const std::vector<std::string>& lines,
                std::ostream& out) {
  if (lines.empty()) return;
  out << title << '\n';
  for (std::size_t i = 0; i < std::min(lines.size(), kListedCells); ++i)
    out << "  " << lines[i] << '\n';
  if (lines.size() > kListedCells) out << "  ... and " << lines.size() - kListedCells << " more\n";
}

}  // namespace

std::string NameOf(const CellConfig& config) {
  std::string text = config.label + " [" + config.device + ", " + config.dataset;
  for (const auto& [name, value] : config.axes) text += ", " + name + "=" + ToJson(value).dump();
  return text + "]";
}

void PrintComparison(const Comparison& comparison, std::ostream& out, bool in_turns) {
  PrintTimed(comparison, out, in_turns);
  PrintLines("no longer ok:", comparison.worsened, out);
}

int ExitOf(const Comparison& comparison, bool strict) {
  const bool slower = std::ranges::any_of(comparison.timed, [](const auto& m) {
    return !m.part && m.significance == Significance::kSlower;
  });
  return strict && (slower || !comparison.worsened.empty()) ? kSlower : kOk;
}

Comparison CompareArtifacts(const std::vector<Artifact>& old_run,
                            const std::vector<Artifact>& new_run, const Noise& noise) {
  const Side before(old_run), after(new_run);
  const auto partners = Partners(before, after);
  Comparer comparer(noise, Judged(partners).size());
  for (const auto& [identity, pair] : partners) {
    comparer.Pair(*pair.before, *pair.after, identity.substr(0, identity.find('|')));
  }
  const auto without = [](const Side& side, const Side& other) {
    return static_cast<int>(std::ranges::count_if(
        side.cells, [&](const auto& cell) { return !other.cells.contains(cell.first); }));
  };
  comparer.result.only_old = without(before, after);
  comparer.result.only_new = without(after, before);
  return std::move(comparer.result);
}

int Compare(const std::string& folder_a, const std::string& folder_b, bool strict,
            const FloorMeasurement& measure, std::ostream& out) {
  const std::vector<Artifact> before = LoadArtifacts(folder_a), after = LoadArtifacts(folder_b);
  const std::vector<TimedPair> timed = Judged(Partners(Side(before), Side(after)));
  Noise noise = Larger(NoiseOfFolder(folder_a), NoiseOfFolder(folder_b));
  if (noise.pairs == 0 && !timed.empty()) noise = measure(timed);
  const Comparison comparison = CompareArtifacts(before, after, noise);
  out << "A " << folder_a << "\nB " << folder_b << '\n';
  PrintEnvironments(folder_a, folder_b, out);
  if (!timed.empty() && std::ranges::all_of(timed, [](const TimedPair& pair) {
        return pair.before->key == pair.after->key;
      })) {
    out << "A and B have the same code, data and parameters (the cells' keys are equal): only the "
           "machine can differ\n";
  }
  std::vector<double> times;
  for (const TimedPair& pair : timed) {
    const Metric& speed = *SpeedsOf(pair).before;
    times.push_back(Quantile(IsRate(speed.unit) ? Inverted(speed.samples) : speed.samples, 0.5));
  }
  if (!timed.empty()) out << NoiseText(noise, times) << '\n';
  if (noise.pairs > 0 && noise.floor > kBusy) {
    out << "this machine is too busy to see less: measure both again when it is quiet\n";
  }
  if (comparison.unlike > 0) {
    out << fmt::format(
        "{} cell{} not compared, since A and B differ in {}: give both the same --profile, "
        "--set and data\n",
        comparison.unlike, comparison.unlike == 1 ? " is" : "s are",
        fmt::join(comparison.unlike_in, ", "));
  }
  PrintComparison(comparison, out);
  PrintLines("values that changed:", comparison.changed, out);
  out << comparison.unchanged << " other values are the same; " << comparison.only_old
      << " cells only in A, " << comparison.only_new << " only in B\n";
  if (comparison.timed.empty() && comparison.changed.empty() && comparison.worsened.empty() &&
      comparison.unchanged == 0) {
    out << (comparison.unlike > 0 ? "nothing can be compared\n"
                                  : "the folders have no measured cell in common\n");
    return kNothingToRun;
  }
  return ExitOf(comparison, strict);
}

}  // namespace retable::harness

#include "harness/plan/estimate.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/plan/cell_json.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace {

std::string RowOf(const CellConfig& cell) {
  return cell.experiment + "|" + cell.label + "|" + cell.device;
}

std::size_t IdentityHash(const CellConfig& cell) {
  return std::hash<std::string>()(CellIdentity(cell));
}

}  // namespace

std::string CellIdentity(const CellConfig& cell) {
  nlohmann::json identity = ToJson(cell);
  identity.erase("experiment");
  identity.erase("label");
  return identity.dump();
}

void DurationEstimator::Expect(const std::vector<Plan>& plans, const std::string& profile) {
  for (const Plan& plan : plans) {
    const auto expected = plan.experiment.expected.find(profile);
    if (expected == plan.experiment.expected.end()) continue;
    Expectation& e = expected_[plan.experiment.id];
    for (const PlannedCell& cell : plan.cells) {
      if (cell.not_run || cell.config.device == "cuda") continue;
      ++e.cells;
      experiment_of_.emplace(IdentityHash(cell.config), plan.experiment.id);
    }
    // Cells that are not timed run side by side.
    const int side_by_side =
        plan.experiment.exclusive ? 1 : std::clamp(e.cells, 1, kExpectedProcessors);
    e.total = expected->second * side_by_side;
  }
}

void DurationEstimator::Remember(const CellConfig& cell, double seconds) {
  const std::size_t identity = IdentityHash(cell);
  const bool again = cells_.contains(identity);
  cells_[identity] = seconds;
  rows_[RowOf(cell)].Add(seconds);
  experiments_[cell.experiment].Add(seconds);
  all_.Add(seconds);
  const auto planned = experiment_of_.find(identity);
  if (!again && planned != experiment_of_.end()) expected_[planned->second].known.Add(seconds);
}

void DurationEstimator::Learn(const CellConfig& cell, double seconds) {
  Remember(cell, seconds);
  const auto planned = experiment_of_.find(IdentityHash(cell));
  if (planned == experiment_of_.end()) return;
  const Expectation& e = expected_.at(planned->second);
  if (e.known.n != e.cells) return;  // its cells are not alike: only all of them tell the pace
  took_ += e.known.sum;
  forecast_ += e.total;
}

void DurationEstimator::LearnFolder(const std::string& folder) {
  int left = 10000;  // a network folder opens some thousand files a second
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder + "/cells", error)) {
    if (left == 0) return;
    const std::string key = KeyOfFile(file.path().filename().string());
    if (key.empty()) continue;
    try {
      if (const auto record = LoadRecord(folder, key)) {
        Remember(record->config, record->seconds);
        --left;
      }
    } catch (const StoreError&) {  // may be of another run; the plan's own cells are read again
    }
  }
}

double DurationEstimator::Pace() const {
  constexpr double kWeight = 60;  // seconds of forecast that the first guess counts for
  return (took_ + pace_ * kWeight) / (forecast_ + kWeight);
}

double DurationEstimator::Seconds(const CellConfig& cell) const {
  constexpr double kLeast = 0.002, kSecondsOnGpu = 2;
  const std::size_t identity = IdentityHash(cell);
  if (const auto same = cells_.find(identity); same != cells_.end()) {
    return std::max(kLeast, same->second);
  }
  const auto planned = experiment_of_.find(identity);
  if (planned != experiment_of_.end()) {
    const Expectation& e = expected_.at(planned->second);
    const double total = Pace() * e.total, equal = total / e.cells;
    const double rest =
        std::max(equal / 2, (total - e.known.sum) / std::max(1, e.cells - e.known.n));
    // The more of them are known, the less the expectation counts; cells in order of size begin
    // with the cheap ones, whose mean says less than that of dear ones.
    const double known = static_cast<double>(e.known.n) / e.cells;
    const double mean = e.known.n > 0 ? e.known.Value() : equal;
    const double weight = mean < equal ? known * known : known;
    return std::max(kLeast, (1 - weight) * rest + weight * mean);
  }
  if (const auto row = rows_.find(RowOf(cell)); row != rows_.end()) return row->second.Value();
  if (cell.device == "cuda") return kSecondsOnGpu;
  if (const auto all = experiments_.find(cell.experiment); all != experiments_.end()) {
    return all->second.Value();
  }
  return all_.n > 0 ? all_.Value() : 1;
}

double ExpectedSeconds(const std::vector<Experiment>& experiments, const std::string& profile) {
  Devices devices;
  devices.cuda = true;
  double seconds = 0;
  std::set<std::string> seen;
  for (const Experiment& experiment : experiments) {
    const auto expected = experiment.expected.find(profile);
    const bool built = std::ranges::any_of(
        Protocols(), [&](const auto& protocol) { return protocol->name() == experiment.protocol; });
    if (expected == experiment.expected.end() || !built) continue;
    int cells = 0, fresh = 0;
    VisitNominalCells(experiment, devices, false, [&](const CellConfig& cell) {
      ++cells;
      fresh += seen.insert(CellIdentity(cell)).second;
    });
    if (cells > 0) seconds += expected->second * fresh / cells;
  }
  return seconds;
}

double WritingSeconds(std::size_t artifacts, bool report) {
  // Measured over the quick profile on two processors (docs/measuring.md, "How long").
  constexpr double kTables = 0.1, kFigures = 0.25, kPage = 4;
  const auto n = static_cast<double>(artifacts);
  return kTables * n + (report ? kPage + kFigures * n : 0);
}

}  // namespace retable::harness

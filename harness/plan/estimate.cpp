#include "harness/plan/estimate.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/plan/cell_json.hpp"
#include "harness/run/store.hpp"

namespace retable::harness {
namespace {

std::string RowOf(const CellConfig& cell) {
  return cell.experiment + "|" + cell.label + "|" + cell.device;
}

}  // namespace

std::string CellIdentity(const CellConfig& cell) {
  nlohmann::json identity = ToJson(cell);
  identity.erase("experiment");
  identity.erase("label");
  return identity.dump();
}

void DurationEstimator::Learn(const CellConfig& cell, double seconds) {
  cells_[CellIdentity(cell)] = seconds;
  rows_[RowOf(cell)].Add(seconds);
  experiments_[cell.experiment].Add(seconds);
}

void DurationEstimator::LearnFolder(const std::string& folder) {
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder + "/cells", error)) {
    const std::string name = file.path().filename().string();
    if (name.size() != 64 + 5 || !name.ends_with(".json")) continue;
    if (const auto record = LoadRecord(folder, name.substr(0, 64))) {
      Learn(record->config, record->seconds);
    }
  }
}

void DurationEstimator::Expect(const std::vector<Plan>& plans, const std::string& profile) {
  for (const Plan& plan : plans) {
    const auto expected = plan.experiment.expected.find(profile);
    int cells = 0;
    for (const PlannedCell& cell : plan.cells) cells += !cell.not_run;
    if (expected == plan.experiment.expected.end() || cells == 0) continue;
    expected_[plan.experiment.id] = expected->second / cells;
  }
}

double DurationEstimator::Seconds(const CellConfig& cell) const {
  if (const auto same = cells_.find(CellIdentity(cell)); same != cells_.end()) return same->second;
  if (const auto row = rows_.find(RowOf(cell)); row != rows_.end()) {
    return row->second.sum / row->second.n;
  }
  if (const auto all = experiments_.find(cell.experiment); all != experiments_.end()) {
    return all->second.sum / all->second.n;
  }
  const auto expected = expected_.find(cell.experiment);
  return expected == expected_.end() ? 0 : expected->second;
}

}  // namespace retable::harness

#include "harness/run/groups.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "harness/report/origins/provenance.hpp"

namespace retable::harness {

std::map<std::string, std::string> GroupsOf(const std::vector<Plan>& plans) {
  std::map<std::string, std::string> next;  // key -> a cell of its group, at last the first one
  const auto first = [&](std::string key) {
    while (next.at(key) != key) key = next[key] = next.at(next.at(key));
    return key;
  };
  for (const Plan& plan : plans) {
    std::map<std::string, std::string> begins;  // group -> its first cell here
    for (const PlannedCell& cell : plan.cells) {
      if (cell.group.empty() || cell.not_run) continue;
      next.emplace(cell.key, cell.key);
      const auto [begin, fresh] = begins.emplace(cell.group, cell.key);
      if (!fresh) next[first(cell.key)] = first(begin->second);
    }
  }
  std::map<std::string, std::string> groups;
  for (const auto& [key, other] : next) groups[key] = first(key);
  return groups;
}

void KeepGroupsTogether(const std::vector<Plan>& plans, const std::string& folder,
                        const nlohmann::json& here, std::vector<Decision>& decisions) {
  const auto groups = GroupsOf(plans);
  std::map<std::string, std::set<std::string>> stretches;  // group -> of its cells
  Stretches runs(folder, here);
  for (const Decision& decision : decisions) {
    const auto group = groups.find(decision.cell->key);
    if (decision.cell->not_run || group == groups.end()) continue;
    std::set<std::string>& of_group = stretches[group->second];
    const std::string& device = decision.cell->config.device;
    of_group.insert(decision.measure ? runs.Here(device) : runs.Of(decision.environment, device));
  }
  for (Decision& decision : decisions) {
    const auto group = groups.find(decision.cell->key);
    if (decision.cell->not_run || decision.measure || group == groups.end()) continue;
    if (stretches[group->second].size() < 2) continue;
    const std::string& device = decision.cell->config.device;
    if (runs.Of(decision.environment, device) == runs.Here(device)) continue;
    decision.measure = true;
    decision.why += ", its group begins anew: it is measured in one stretch";
  }
}

}  // namespace retable::harness

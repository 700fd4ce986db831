#include "harness/cli/missing_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ostream>

#include "harness/report/paper_cells.hpp"

namespace retable::harness {
namespace {

constexpr std::string_view kSynthetic = "synthetic ";

// "Covtype-small" in "Covtype-small BFD", not in "Covtype-small-2".
bool Names(std::string_view row, std::string_view name) {
  const auto inside = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  for (auto at = row.find(name); at != row.npos; at = row.find(name, at + 1)) {
    const auto end = at + name.size();
    if ((at == 0 || !inside(row[at - 1])) && (end == row.size() || !inside(row[end]))) return true;
  }
  return false;
}

int CountPublished(const std::vector<PublishedCell>& cells, const DatasetInfo& data) {
  if (data.of_group) return static_cast<int>(cells.size());
  std::string_view name = data.name;
  if (name.starts_with(kSynthetic)) name.remove_prefix(kSynthetic.size());
  return static_cast<int>(std::ranges::count_if(
      cells, [&](const PublishedCell& cell) { return Names(cell.row, name); }));
}

MissingData& Entry(std::vector<MissingData>& all, const DatasetInfo& data) {
  const auto found = std::ranges::find(all, data.fetch, &MissingData::name);
  if (found != all.end()) return *found;
  return all.emplace_back(MissingData{data.fetch, data.fetch_megabytes, {}});
}

std::string Size(int megabytes) {
  return megabytes > 0 ? fmt::format("{} MB", megabytes) : "size not known";
}

// "30 published cells of treeshap", by family.
std::string Where(const MissingData& missing) {
  std::map<std::string, int> families;
  for (const auto& [artifact, count] : missing.published) {
    families[artifact.substr(0, artifact.find('/'))] += count;
  }
  std::string text;
  for (const auto& [family, count] : families) {
    text += fmt::format("{}{} published cell{} of {}", text.empty() ? "" : ", ", count,
                        count == 1 ? "" : "s", family);
  }
  return text;
}

}  // namespace

std::vector<MissingData> FindMissingData(const std::vector<Plan>& plans) {
  std::vector<MissingData> all;
  for (const Plan& plan : plans) {
    std::vector<PublishedCell> cells;
    if (!plan.experiment.paper_file.empty()) cells = ReadPaperCells(plan.experiment.paper_file);
    for (const DatasetInfo& data : plan.datasets) {
      if (data.fetch.empty()) continue;
      int& count = Entry(all, data).published[plan.experiment.id];
      count = data.of_group ? CountPublished(cells, data) : count + CountPublished(cells, data);
    }
  }
  return all;
}

bool OfferMissingData(const Context& context, const std::vector<Plan>& plans, std::ostream& err) {
  const std::vector<MissingData> all = FindMissingData(plans);
  if (all.empty()) return false;
  std::vector<std::string> names;
  int megabytes = 0;
  std::string list;
  for (const MissingData& missing : all) {
    list += fmt::format("{}{} ({}: {})", list.empty() ? "" : "; ", missing.name,
                        Size(missing.megabytes), Where(missing));
    names.push_back(missing.name);
    megabytes += missing.megabytes;
  }
  err << fmt::format("not here: {}. To bring {}: build/retable datasets fetch {}\n", list,
                     all.size() == 1 ? "it" : "them", fmt::join(names, " "))
      << std::flush;
  return context.offer_data && context.offer_data(names, megabytes);
}

}  // namespace retable::harness

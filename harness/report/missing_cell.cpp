#include "harness/report/missing_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/glob.hpp"
#include "base/text/suggest.hpp"
#include "harness/config/claim_syntax.hpp"
#include "harness/report/claim.hpp"

namespace retable::harness {
namespace {

// The nearest to a reader's machine first.
constexpr const char* kProfiles[] = {"quick", "paper", "smoke"};
constexpr const char* kSyntheticPrefix = "synthetic ";

const ProfileRow* FindRow(const ProfileNames& names, const std::string& row) {
  const auto found = std::ranges::find(names.rows, row, &ProfileRow::name);
  return found == names.rows.end() ? nullptr : &*found;
}

// A row and a column of which a profile has both; a row gathers what stands in it.
const ProfileRow* FindCell(const ProfileNames& names, const std::string& row,
                           const std::string& column) {
  return std::ranges::count(names.columns, column) > 0 ? FindRow(names, row) : nullptr;
}

std::string Quoted(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& p : patterns) text += (text.empty() ? "\"" : " or \"") + p + "\"";
  return text;
}

bool AnyMatches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return GlobMatches(p, name); });
}

std::vector<std::string> RowNames(const ProfileNames& names) {
  std::vector<std::string> rows;
  for (const ProfileRow& row : names.rows) rows.push_back(row.name);
  return rows;
}

std::string WhyNone(const TableCell& cell) {
  const bool partial = (cell.has_value || cell.failed) && !cell.partial.empty();
  const std::string& why = partial ? cell.partial : cell.reason;
  return why.empty() ? "no value" : why;
}

// Data that are not at hand have a stand-in of such a name.
std::string Real(std::string name) {
  const std::string prefix = kSyntheticPrefix;
  for (auto at = name.find(prefix); at != name.npos; at = name.find(prefix)) {
    name.erase(at, prefix.size());
  }
  return name;
}

// Each cell with a value.
struct NamesAlone final : TableView {
  std::set<std::string> row_names, column_names;

  std::vector<std::string> rows() const override { return {row_names.begin(), row_names.end()}; }
  std::vector<std::string> columns() const override {
    return {column_names.begin(), column_names.end()};
  }
  std::optional<double> figure(std::string_view, const std::string&,
                               const std::string&) const override {
    return 1;
  }
};

// Visits the sets of rows and columns that a check asks for by patterns.
void ForEachSet(const Tree& tree, const std::function<void(const SetSyntax&)>& visit) {
  visit(tree.set);
  for (const auto& child : tree.children) ForEachSet(*child, visit);
  for (const auto& item : tree.set.items) ForEachSet(*item, visit);
}

}  // namespace

ProfileNames NamesOf(const Experiment& experiment, const std::string& profile,
                     const Devices& devices, bool resolved) {
  const TableSpec& table = experiment.table;
  ProfileNames names{profile, {}, {}};
  if (table.pivot.empty()) {
    for (const ColumnSpec& column : table.columns) names.columns.push_back(column.name);
  }
  std::map<std::string, std::size_t> rows;  // places in names.rows
  std::set<std::string> columns;
  VisitNominalCells(experiment, devices, resolved, [&](const CellConfig& cell) {
    const bool cuda = cell.device == "cuda";
    const auto [at, fresh] = rows.emplace(ExpandTemplate(table.rows, cell), names.rows.size());
    if (fresh) names.rows.push_back({at->first, cell.dataset, cuda});
    ProfileRow& row = names.rows[at->second];
    row.cuda = row.cuda && cuda;
    if (row.dataset != cell.dataset) row.dataset.clear();
    if (table.pivot.empty()) return;
    const std::string column = ExpandTemplate(table.pivot, cell);
    if (columns.insert(column).second) names.columns.push_back(column);
  });
  return names;
}

void RefuseUnknownNames(const std::vector<ClaimSpec>& claims,
                        const std::vector<ProfileNames>& profiles) {
  NamesAlone table;
  for (const ProfileNames& names : profiles) {
    for (const ProfileRow& row : names.rows) {
      // It has a parameter that a program without CUDA does not know.
      if (row.name.find('{') != row.name.npos) return;
      table.row_names.insert(Real(row.name));
    }
    for (const std::string& column : names.columns) table.column_names.insert(Real(column));
  }
  for (const ClaimSpec& claim : claims) {
    const auto refuse = [&](const std::string& why) {
      throw ConfigError(claim.position, "claim " + claim.id + ": " + why);
    };
    ForEachSet(*ParseCheck(claim.check), [&](const SetSyntax& set) {
      const bool rows = set.kind == SetSyntax::Kind::kRows;
      const auto known = rows ? table.rows() : table.columns();
      for (const std::string& pattern : set.patterns) {
        const bool any = std::ranges::any_of(
            known, [&](const std::string& name) { return GlobMatches(Real(pattern), name); });
        if (!any) refuse(table.why_no_match({}, rows) + " \"" + pattern + "\"");
      }
    });
    bool reads = false;
    for (const Figure& figure : Evaluate(claim.check, table).figures) {
      if (figure.source == "paper") continue;
      reads = true;
      const std::string why = table.why_missing(Real(figure.row), Real(figure.column));
      if (why != "no value") refuse(why);
    }
    if (!reads) refuse("its check reads no cell of the table, such as cell(\"row\", \"column\")");
  }
}

const ProfileNames* MissingCells::Names(const std::string& profile) const {
  for (const ProfileNames& names : artifact_.profiles) {
    if (names.profile == profile) return &names;
  }
  return nullptr;
}

bool MissingCells::IsPublished(const std::string& row, const std::string& column) const {
  return std::ranges::any_of(published_, [&](const PublishedCell& cell) {
    return cell.row == row && cell.column == column;
  });
}

std::string MissingCells::InProfile(const std::string& profile, const ProfileRow* row) const {
  std::vector<std::string> on;
  if (row && row->cuda) on.push_back("a CUDA device");
  const bool known = !row || row->dataset.empty() || artifact_.dataset_notes.contains(row->dataset);
  if (!known) on.push_back("data set " + row->dataset);
  return fmt::format("needs rows of the {} profile{}: build/retable run {} --profile {}", profile,
                     on.empty() ? "" : fmt::format(" (with {})", fmt::join(on, " and ")),
                     artifact_.id, profile);
}

// A row of real data in whose place a synthetic one ran.
std::string MissingCells::StandIn(const std::string& row) const {
  const std::string stand_in = kSyntheticPrefix + row;
  for (const ArtifactCell& cell : artifact_.cells) {
    if (ExpandTemplate(artifact_.table.rows, cell.config) != stand_in) continue;
    const auto note = artifact_.dataset_notes.find(cell.config.dataset);
    const bool told = note != artifact_.dataset_notes.end() && !note->second.empty();
    return fmt::format("needs the published data: {}",
                       told ? cell.config.dataset + " " + note->second
                            : cell.config.dataset + " ran in its place");
  }
  return "";
}

std::string MissingCells::Unknown(const std::string& row, const std::string& column) const {
  std::vector<std::string> rows = table_.rows, columns = table_.columns;
  for (const ProfileNames& names : artifact_.profiles) {
    for (const ProfileRow& r : names.rows) rows.push_back(r.name);
    columns.insert(columns.end(), names.columns.begin(), names.columns.end());
  }
  const bool is_row = std::ranges::count(rows, row) == 0;
  if (!is_row && std::ranges::count(columns, column) > 0) return "no profile fills this cell";
  const std::string& name = is_row ? row : column;
  return fmt::format("no profile has a {} \"{}\"{}", is_row ? "row" : "column", name,
                     NearestName(name, is_row ? rows : columns));
}

std::string MissingCells::WhyCell(const std::string& row, const std::string& column) const {
  const TableCell* cell = table_.Find(row, column);
  if (cell && !cell->unplanned) return WhyNone(*cell);
  if (artifact_.profiles.empty()) return "not in this profile";
  const ProfileNames* own = Names(artifact_.profile);
  const bool ours = own && FindCell(*own, row, column);
  const bool published = IsPublished(row, column);
  if (ours || published) {
    const std::string stand_in = StandIn(row);
    if (!stand_in.empty()) return stand_in;
    if (ours) return "needs data that is not at hand";
  }
  for (const char* profile : kProfiles) {
    const ProfileNames* names = Names(profile);
    if (names == nullptr || names == own) continue;
    if (const ProfileRow* found = FindCell(*names, row, column)) return InProfile(profile, found);
  }
  if (published && artifact_.profile != "paper") return InProfile("paper", nullptr);
  return Unknown(row, column);
}

std::string MissingCells::WhyPatterns(const std::vector<std::string>& patterns, bool rows) const {
  const ProfileNames* own = Names(artifact_.profile);
  for (const char* profile : kProfiles) {
    const ProfileNames* names = Names(profile);
    if (names == nullptr || names == own) continue;
    for (const std::string& name : rows ? RowNames(*names) : names->columns) {
      if (AnyMatches(patterns, name)) {
        return InProfile(profile, rows ? FindRow(*names, name) : nullptr);
      }
    }
  }
  const bool published = std::ranges::any_of(published_, [&](const PublishedCell& cell) {
    return AnyMatches(patterns, rows ? cell.row : cell.column);
  });
  // A group of data sets is not expanded here, so its rows are not known by name.
  const ProfileNames* paper = Names("paper");
  const bool other = paper && own && paper != own && RowNames(*paper) != RowNames(*own);
  if (artifact_.profile != "paper" && (published || other)) return InProfile("paper", nullptr);
  return fmt::format("no {} matches {}", rows ? "row" : "column", Quoted(patterns));
}

std::pair<std::string, std::string> NeedOf(const std::string& reason) {
  const auto says = [&](std::string_view words) { return reason.find(words) != reason.npos; };
  if (says("a CUDA device") || says("no CUDA") || says("GPU rows")) return {"a CUDA device", ""};
  constexpr std::string_view kProfile = "needs rows of the ";
  if (reason.starts_with(kProfile)) {
    const std::size_t begin = kProfile.size();
    return {"the " + reason.substr(begin, reason.find(' ', begin) - begin) + " profile", ""};
  }
  constexpr std::string_view kFetch = "datasets fetch ";
  if (says(kFetch)) {
    const std::size_t begin = reason.find(kFetch) + kFetch.size();
    return {"data", reason.substr(begin, reason.find_first_of(" ;,)", begin) - begin)};
  }
  return {says("needs data") || says("needs the published data") ? "other data" : "something else",
          ""};
}

}  // namespace retable::harness

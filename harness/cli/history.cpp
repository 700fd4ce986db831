#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <ostream>

#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/report/origins/history.hpp"

namespace retable::harness {
namespace {

struct HistoryArguments {
  HistoryQuery query;
  bool json = false, commits = false;
};

void PrintHistory(const History& history, std::ostream& out) {
  for (const auto& [id, points] : history) {
    const HistoryPoint& first = points.front();
    out << fmt::format("{}: {}, {}{}\n", id, first.row, first.column,
                       first.unit.empty() || first.unit == "1" ? "" : " (" + first.unit + ")");
    for (const HistoryPoint& p : points) {
      out << fmt::format("  {:10}  {:20}  {:>10.4g} [{:.4g}, {:.4g}]  {:14} {:8} {}\n",
                         p.date.empty() ? "-" : p.date.substr(0, 10),
                         p.commit.empty() ? "commit not known" : p.commit, p.value, p.low, p.high,
                         p.folder, p.profile, p.machine);
    }
  }
}

int ShowHistory(const Context& context, const HistoryArguments& a, std::ostream& out,
                std::ostream& err) {
  HistoryQuery query = a.query;
  for (const std::string& folder : query.folders) {
    if (!std::filesystem::is_directory(folder)) {
      throw ConfigError({"--in " + folder, 0, 0}, "there is no such folder");
    }
  }
  const std::vector<std::string> more =
      FoldersOf({context.root + "/results", RecordingsToShow(context.root, err)});
  query.folders.insert(query.folders.end(), more.begin(), more.end());
  if (a.commits) query.repository = context.root;
  const History history = ReadHistory(query);
  if (history.empty() && !a.json) {
    err << "no results folder has a value of this; see `build/retable list`, and name further "
           "folders with --in\n";
    return kNothingToRun;
  }
  a.json ? out << HistoryJson(history) : (PrintHistory(history, out), out);
  return kOk;
}

}  // namespace

Verb MakeHistoryVerb(const Context& context) {
  return MakeVerb<HistoryArguments>(
      context, "history", "An artifact's main figure in every recording and run",
      [](CLI::App& verb, HistoryArguments& a) {
        verb.add_option("ids", a.query.globs, "artifacts or globs")->required();
        verb.add_option(
            "--in", a.query.folders,
            "further results folders; those of results/ and results/recorded/ are read");
        verb.add_option("--row", a.query.row, "row of the table, in place of the main figure's");
        verb.add_option("--column", a.query.column, "column of the table");
        verb.add_flag("--commits", a.commits, "and what earlier commits hold of the recordings");
        verb.add_flag("--json", a.json, "as JSON, for the page");
      },
      ShowHistory);
}

}  // namespace retable::harness

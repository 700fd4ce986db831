#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ostream>

#include "harness/cli/commands.hpp"
#include "harness/cli/results_folder.hpp"
#include "harness/record/record.hpp"

namespace retable::harness {
namespace {

struct RecordArguments {
  std::string name, out = "results/latest";
  bool replace = false, tables = false;
};

int Record(const Context& context, const RecordArguments& a, std::ostream& out, std::ostream&) {
  if (a.tables) {
    out << ReadableRecordings(context.root) << "\n";
    return kOk;
  }
  CheckIsThere(a.out);
  CheckFolderToWrite(a.out);
  const RecordingFacts facts = RecordResults(a.out, context.root, a.name, a.replace);
  out << fmt::format("{}: {} cells of commit {}, {:.2f} MB packed", facts.folder, facts.cells,
                     facts.commit, 1e-6 * static_cast<double>(facts.archive_bytes));
  if (facts.missing > 0) {
    out << fmt::format("; {} planned cells are not measured yet (run --resume-from {})",
                       facts.missing, facts.folder);
  }
  if (facts.left_out > 0) {
    out << fmt::format(
        "; {} stored cells stay out, since no table of the last run has them (other sources, or "
        "data that was not at hand)",
        facts.left_out);
  }
  out << "\n";
  for (const std::string& machine : facts.machines) out << "  " << machine << "\n";
  return kOk;
}

}  // namespace

Verb MakeRecordVerb(const Context& context) {
  return MakeVerb<RecordArguments>(
      context, "record", "Keep a run: its tables, and an archive of all its cells",
      [](CLI::App& verb, RecordArguments& a) {
        verb.add_option("name", a.name, "folder of results/recorded/ to write");
        verb.add_option("--out", a.out, "results folder to pack");
        verb.add_flag("--replace", a.replace, "write over the recording that is there");
        verb.add_flag("--tables", a.tables,
                      "keep nothing: print the folder of all recordings, each with the tables that "
                      "its archive holds");
      },
      Record);
}

}  // namespace retable::harness

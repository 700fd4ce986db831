#include "harness/report/results.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/plan/value_json.hpp"
#include "harness/report/claim.hpp"
#include "harness/report/csv.hpp"
#include "harness/report/missing_cell.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/report/table.hpp"
#include "harness/report/verdict.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

// Of more samples a figure takes minutes to draw.
constexpr std::size_t kMostSamples = 400000;

// A table as the claims' language sees it.
class View final : public TableView {
 public:
  View(const Table& table, const std::vector<PublishedCell>& published, const MissingCells& missing)
      : table_(table), published_(published), missing_(missing) {}

  std::vector<std::string> rows() const override { return table_.rows; }
  std::vector<std::string> columns() const override { return table_.columns; }

  std::optional<double> figure(std::string_view source, const std::string& row,
                               const std::string& column) const override {
    if (source == "paper") {
      for (const PublishedCell& cell : published_) {
        if (cell.row == row && cell.column == column) return cell.value;
      }
      return std::nullopt;
    }
    const TableCell* cell = table_.Find(row, column);
    if (!cell || !cell->partial.empty()) return std::nullopt;
    if (cell->failed) return std::nan("");
    if (!cell->has_value) return std::nullopt;
    return source == "cell" ? cell->value : source == "low" ? cell->ci_low : cell->ci_high;
  }

  bool broken(const std::string& row, const std::string& column) const override {
    const TableCell* cell = table_.Find(row, column);
    return cell && cell->broken;
  }
  std::string why_unsteady(const std::string& row, const std::string& column) const override {
    const TableCell* cell = table_.Find(row, column);
    return cell ? cell->unsteady : "";
  }
  std::string why_missing(const std::string& row, const std::string& column) const override {
    return missing_.WhyCell(row, column);
  }
  std::string why_no_match(const std::vector<std::string>& patterns, bool rows) const override {
    return missing_.WhyPatterns(patterns, rows);
  }

 private:
  const Table& table_;
  const std::vector<PublishedCell>& published_;
  const MissingCells& missing_;
};

MeasuredCell Measured(const Table& table, const MissingCells& missing, const std::string& row,
                      const std::string& column) {
  MeasuredCell measured;
  const TableCell* cell = table.Find(row, column);
  if (!cell || cell->unplanned) {
    measured.reason = missing.WhyCell(row, column);
    return measured;
  }
  measured.run = cell->has_value || cell->failed;
  measured.failed = cell->broken;
  measured.partial = cell->partial;
  measured.reason = cell->reason;
  measured.group = cell->dataset;
  measured.unsteady = cell->unsteady;
  if (!cell->has_value) return measured;
  measured.value = cell->value;
  measured.ci_low = cell->ci_low;
  measured.ci_high = cell->ci_high;
  measured.n = cell->n;
  return measured;
}

// The machine that all cells of an artifact come from; empty where there are several.
std::string MachineOf(const Artifact& artifact) {
  std::set<std::string> machines;
  for (const Origin& origin : OriginsOf(artifact)) machines.insert(origin.machine);
  return machines.size() == 1 ? *machines.begin() : "";
}

using Row = std::vector<std::string>;

const Row kVerdictColumns = {"artifact", "row",   "column",  "kind",    "paper",  "measured",
                             "unit",     "ratio", "verdict", "reason",  "ci_low", "ci_high",
                             "n",        "page",  "table",   "unsteady"};
const Row kClaimColumns = {"artifact", "id",    "text",   "page", "verdict",
                           "figures",  "check", "reason", "note"};

// The rows of verdicts.csv and claims.csv, and how many of each verdict there are.
struct Judgement {
  std::vector<Row> verdicts, claims;
  Scoreboard board;
};

// @param reason as verdicts.csv has it. @param judged whether the profile is
void Count(const Artifact& artifact, const Verdict& v, const std::string& reason, bool judged,
           Scoreboard& board) {
  const bool setting = v.cell.kind == CellKind::kSetting;
  ++(setting ? board.settings : board.verdicts)[std::string(Name(v.kind))];
  if (v.kind == VerdictKind::kFailed) {
    board.failed.push_back(
        fmt::format("{} [{}, {}]: {}", artifact.id, v.cell.row, v.cell.column, reason));
  }
  if (setting) return;
  board.partial += judged && v.kind == VerdictKind::kNotJudged;
  if (v.kind != VerdictKind::kNotRun) return;
  const auto [need, dataset] = NeedOf(reason);
  ++board.lacks[need].cells;
  if (!dataset.empty()) board.lacks[need].datasets.insert(dataset);
}

void JudgeVerdicts(const Artifact& artifact, const Table& table,
                   const std::vector<PublishedCell>& published, const MissingCells& missing,
                   Judgement& judgement) {
  const std::string machine = MachineOf(artifact), not_judged = WhyNotJudged(artifact.profile);
  const auto verdicts = Judge(
      published,
      [&](const std::string& row, const std::string& column) {
        MeasuredCell measured = Measured(table, missing, row, column);
        measured.machine = machine;
        return measured;
      },
      not_judged);
  for (const Verdict& v : verdicts) {
    const bool covers = v.measured.run && artifact.coverage_total > 0;
    const std::string without = std::isnan(v.measured.value) ? "" : v.measured.reason;
    const std::string reason = (without.empty() ? v.reason : v.reason + "; " + without) +
                               (covers ? "; on " + table.coverage.at(v.cell.row) : "");
    Count(artifact, v, reason, not_judged.empty(), judgement.board);
    judgement.verdicts.push_back(
        {artifact.id, v.cell.row, v.cell.column, std::string(Name(v.cell.kind)), v.cell.Text(),
         FormatNumber(v.measured.value), v.cell.unit, FormatNumber(v.ratio),
         std::string(Name(v.kind)), reason, FormatNumber(v.measured.ci_low),
         FormatNumber(v.measured.ci_high), std::to_string(v.measured.n), v.cell.page, v.cell.table,
         v.measured.unsteady});
  }
}

// A note without the references of its figures: 93{cell('large', 'factor')} times -> 93 times. They
// are for tools/docs.py, which fills the figures in, and for the report, which shows them apart.
std::string WithoutReferences(const std::string& note) {
  std::string text;
  bool inside = false;
  for (const char c : note) {
    inside = inside || (c == '{' && !text.empty() && text.back() >= '0' && text.back() <= '9');
    if (!inside) text += c;
    if (c == '}') inside = false;
  }
  return text;
}

void JudgeClaims(const Artifact& artifact, const View& view, Judgement& judgement) {
  Scoreboard& board = judgement.board;
  for (const ClaimSpec& claim : artifact.claims) {
    ClaimResult result = Evaluate(claim.check, view);
    if (const std::string why = WhyNotJudged(artifact.profile); !why.empty()) {
      result.verdict = ClaimVerdict::kNotJudged;
      result.reason = why;
    }
    const std::string verdict(Name(result.verdict)), figures = FiguresText(result.figures);
    judgement.claims.push_back({artifact.id, claim.id, claim.text, claim.where, verdict, figures,
                                claim.check, result.reason, claim.note});
    ++board.claims[verdict];
    if (result.verdict != ClaimVerdict::kFails) continue;
    const bool noted = !claim.note.empty();
    (noted ? board.noted_claims : board.unnoted_claims)
        .push_back(fmt::format("{} {}: {} ({}){}", artifact.id, claim.id, claim.text,
                               FiguresText(result.figures, 3, 3),
                               noted ? " Known: " + WithoutReferences(claim.note) : ""));
  }
}

// Writes the file, or removes an old one when there is nothing to say.
void WriteOrRemove(const std::string& path, const std::string& content) {
  if (!content.empty()) {
    WriteFileAtomically(path, content);
  } else {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
}

void WriteTables(const Artifact& artifact, const Table& table) {
  WriteFileAtomically(artifact.Path("csv"), TableCsv(table));
  WriteFileAtomically(artifact.Path("tidy.csv"), TidyCsv(artifact));
  WriteOrRemove(artifact.Path("samples.csv"), SamplesCsv(artifact, kMostSamples));
  WriteOrRemove(artifact.Path("curves.csv"), CurvesCsv(artifact));
  UpdateMeta(artifact, CoverageText(artifact));
}

void JudgeArtifact(const Artifact& artifact, bool write, Judgement& judgement) {
  const Table table = BuildTable(artifact);
  if (write) WriteTables(artifact, table);
  std::vector<PublishedCell> published;
  if (!artifact.paper_file.empty()) published = ReadPaperCells(artifact.paper_file);
  const MissingCells missing(artifact, table, published);
  JudgeVerdicts(artifact, table, published, missing, judgement);
  JudgeClaims(artifact, View(table, published, missing), judgement);
}

void WriteCsv(const std::string& path, const Row& header, const std::vector<Row>& rows) {
  std::ostringstream text;
  CsvWriter csv(text);
  csv.Row(header);
  for (const Row& row : rows) csv.Row(row);
  WriteFileAtomically(path, text.str());
}

// The experiments of a source folder as a profile has them, read when first asked for.
class Declared {
 public:
  explicit Declared(const std::string& root) : root_(root) {}

  std::optional<Experiment> Find(const std::string& id, const std::string& profile) {
    if (!read_ && fs::is_directory(root_ + "/experiments")) all_ = LoadExperiments(root_, {});
    read_ = true;
    for (const Experiment& experiment : all_) {
      if (experiment.id != id) continue;
      Overrides overrides;
      overrides.profile = profile;
      return WithOverrides(experiment, overrides);
    }
    return std::nullopt;
  }

 private:
  std::string root_;
  bool read_ = false;
  std::vector<Experiment> all_;
};

void Declare(Artifact& artifact, Declared& declared) {
  const auto today = declared.Find(artifact.id, artifact.profile);
  if (today) {
    artifact.table = today->table;
    artifact.claims = today->claims;
    artifact.paper_file = today->paper_file;
    if (today->table.pivot.empty()) {  // so that a new column is no name that nobody knows
      for (ProfileNames& names : artifact.profiles) {
        names.columns.clear();
        for (const ColumnSpec& column : today->table.columns) names.columns.push_back(column.name);
      }
    }
  }
  UpdateDeclared(artifact, today ? &*today : nullptr);
}

Scoreboard JudgeFolder(const std::string& folder, bool write, const std::string& today) {
  Judgement all;
  Declared declared(today);
  for (Artifact& artifact : LoadArtifacts(folder)) {
    if (!today.empty()) Declare(artifact, declared);
    for (const Origin& origin : OriginsOf(artifact)) ++all.board.origins[origin.Text()];
    for (const ArtifactCell& cell : artifact.cells) {
      all.board.damaged |= !cell.problem.empty();
      if (!cell.broken()) continue;
      all.board.broken[cell.key] = fmt::format("{} {} on {}: {}", artifact.id, cell.config.label,
                                               cell.config.dataset, cell.status());
    }
    JudgeArtifact(artifact, write, all);
  }
  if (write) {
    WriteCsv(folder + "/verdicts.csv", kVerdictColumns, all.verdicts);
    WriteCsv(folder + "/claims.csv", kClaimColumns, all.claims);
  }
  return std::move(all.board);
}

}  // namespace

bool Scoreboard::FailsStrictly() const {
  for (const char* name : {"MISMATCH", "ORDER-ONLY", "FAILED"}) {
    if (verdicts.contains(name) || settings.contains(name)) return true;
  }
  return !noted_claims.empty() || !unnoted_claims.empty() || !broken.empty();
}

Scoreboard JudgeResults(const std::string& folder) {
  return JudgeFolder(folder, false, {});
}

Scoreboard WriteResults(const std::string& folder, const std::string& today) {
  return JudgeFolder(folder, true, today);
}

void DeclareAnew(const std::string& folder, const std::string& root) {
  Declared declared(root);
  for (Artifact& artifact : LoadArtifacts(folder)) Declare(artifact, declared);
}

void WriteRun(const std::string& folder, const RunRecord& r) {
  const nlohmann::ordered_json run = {
      {"version", 1},         {"profile", r.profile},   {"device", r.device},
      {"started", r.started}, {"finished", r.finished}, {"seconds", r.seconds},
      {"banner", r.banner},   {"counts", r.counts},     {"reasons", r.reasons},
      {"timed", r.timed},     {"unsteady", r.unsteady}, {"expected_seconds", r.expected_seconds},
      {"command", r.command}};
  WriteFileAtomically(folder + "/run.json", JsonText(run, 1) + "\n");
}

}  // namespace retable::harness

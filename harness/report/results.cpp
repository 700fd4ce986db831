#include "harness/report/results.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/report/claim.hpp"
#include "harness/report/csv.hpp"
#include "harness/report/missing_cell.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/report/table.hpp"
#include "harness/report/verdict.hpp"

namespace retable::harness {
namespace fs = std::filesystem;
namespace {

// A samples file larger than this helps nobody: violins of more are drawn from the cells' summary.
constexpr std::size_t kMostSamples = 400000;
constexpr std::size_t kFiguresOnTerminal = 3;

// A table as the claims' language sees it.
class View final : public TableView {
 public:
  View(const Table& table, const std::vector<PublishedCell>& published, const MissingCells& missing)
      : table_(table), published_(published), missing_(missing) {}

  std::vector<std::string> rows() const override { return table_.rows; }
  std::vector<std::string> columns() const override { return table_.columns; }

  std::optional<double> value(const std::string& row, const std::string& column) const override {
    return Pick(row, column, &TableCell::value);
  }
  std::optional<double> low(const std::string& row, const std::string& column) const override {
    return Pick(row, column, &TableCell::ci_low);
  }
  std::optional<double> high(const std::string& row, const std::string& column) const override {
    return Pick(row, column, &TableCell::ci_high);
  }

  std::optional<double> paper(const std::string& row, const std::string& column) const override {
    for (const PublishedCell& cell : published_) {
      if (cell.row == row && cell.column == column) return cell.value;
    }
    return std::nullopt;
  }

  std::string why_missing(const std::string& row, const std::string& column) const override {
    return missing_.WhyCell(row, column);
  }
  std::string why_no_match(const std::vector<std::string>& patterns, bool rows) const override {
    return missing_.WhyPatterns(patterns, rows);
  }

 private:
  std::optional<double> Pick(const std::string& row, const std::string& column,
                             double TableCell::*member) const {
    const TableCell* cell = table_.Find(row, column);
    if (!cell) return std::nullopt;
    if (cell->failed) return std::nan("");
    if (!cell->has_value) return std::nullopt;
    return cell->*member;
  }

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
  measured.run = cell->has_value || !cell->not_run;
  measured.reason = cell->reason;
  if (!cell->has_value) return measured;
  measured.value = cell->value;
  measured.ci_low = cell->ci_low;
  measured.ci_high = cell->ci_high;
  measured.n = cell->n;
  return measured;
}

void WriteVerdicts(CsvWriter& csv, const Artifact& artifact, const Table& table,
                   const std::vector<PublishedCell>& published, const MissingCells& missing,
                   const std::string& coverage, Scoreboard& board) {
  const auto verdicts = Judge(published, [&](const std::string& row, const std::string& column) {
    return Measured(table, missing, row, column);
  });
  for (const Verdict& v : verdicts) {
    const std::string name(Name(v.kind));
    ++board.verdicts[name];
    const std::string paper = v.cell.value ? FormatNumber(*v.cell.value) : "";
    if (v.kind == VerdictKind::kMismatch) {
      board.mismatches.push_back(fmt::format("{} [{}, {}]: paper {}, measured {} ({})", artifact.id,
                                             v.cell.row, v.cell.column, paper,
                                             FormatNumber(v.measured.value), v.reason));
    }
    const bool partial = v.measured.run && artifact.coverage_total > 0;
    csv.Field(artifact.id).Field(v.cell.row).Field(v.cell.column).Field(Name(v.cell.kind));
    csv.Field(paper).Field(v.measured.value).Field(v.cell.unit).Field(v.ratio).Field(name);
    csv.Field(partial ? v.reason + "; on " + coverage : v.reason);
    csv.Field(v.measured.ci_low).Field(v.measured.ci_high).Field(v.measured.n);
    csv.Field(v.cell.page).Field(v.cell.table);
    csv.EndRow();
  }
}

void WriteClaims(CsvWriter& csv, const Artifact& artifact, const View& view, Scoreboard& board) {
  for (const ClaimSpec& claim : artifact.claims) {
    const ClaimResult result = Evaluate(claim.check, view);
    const std::string verdict(Name(result.verdict));
    const std::string figures = FiguresText(result.figures);
    ++board.claims[verdict];
    if (verdict == "FAILS") {
      board.failed_claims.push_back(fmt::format("{} {}: {} ({}){}", artifact.id, claim.id,
                                                claim.text,
                                                FiguresText(result.figures, kFiguresOnTerminal),
                                                claim.note.empty() ? "" : " Known: " + claim.note));
    }
    csv.Field(artifact.id).Field(claim.id).Field(claim.text).Field(claim.where).Field(verdict);
    csv.Field(figures).Field(claim.check).Field(result.reason).Field(claim.note);
    csv.EndRow();
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

}  // namespace

Scoreboard WriteResults(const std::string& folder) {
  Scoreboard board;
  std::ostringstream verdict_text, claim_text;
  CsvWriter verdicts(verdict_text), claims(claim_text);
  verdicts.Row({"artifact", "row", "column", "kind", "paper", "measured", "unit", "ratio",
                "verdict", "reason", "ci_low", "ci_high", "n", "page", "table"});
  claims.Row({"artifact", "id", "text", "page", "verdict", "figures", "check", "reason", "note"});
  for (const Artifact& artifact : LoadArtifacts(folder)) {
    const Table table = BuildTable(artifact);
    const std::string coverage = CoverageText(artifact);
    WriteFileAtomically(artifact.Path("csv"), TableCsv(table));
    WriteFileAtomically(artifact.Path("tidy.csv"), TidyCsv(artifact));
    WriteOrRemove(artifact.Path("samples.csv"), SamplesCsv(artifact, kMostSamples));
    WriteOrRemove(artifact.Path("curves.csv"), CurvesCsv(artifact));
    UpdateMeta(artifact, coverage);
    std::vector<PublishedCell> published;
    if (fs::exists(artifact.Path("paper.csv"))) {
      published = ReadPaperCells(artifact.Path("paper.csv"));
    }
    const MissingCells missing(artifact, table, published);
    WriteVerdicts(verdicts, artifact, table, published, missing, coverage, board);
    WriteClaims(claims, artifact, View(table, published, missing), board);
  }
  WriteFileAtomically(folder + "/verdicts.csv", verdict_text.str());
  WriteFileAtomically(folder + "/claims.csv", claim_text.str());
  return board;
}

void WriteRun(const std::string& folder, const RunRecord& r) {
  const nlohmann::ordered_json run = {
      {"version", 1},         {"profile", r.profile},   {"device", r.device},
      {"started", r.started}, {"finished", r.finished}, {"seconds", r.seconds},
      {"banner", r.banner},   {"counts", r.counts},     {"command", r.command}};
  WriteFileAtomically(folder + "/run.json", run.dump(1) + "\n");
}

std::string ScoreboardText(const Scoreboard& board) {
  std::string text = "\nverdicts on the published cells\n";
  for (const char* name : {"MATCH", "TREND", "MISMATCH", "DIFFERENT-HW", "NOT-RUN", "NO-DATA"}) {
    const auto found = board.verdicts.find(name);
    text += fmt::format("  {:<13}{:>6}\n", name, found == board.verdicts.end() ? 0 : found->second);
  }
  text += "claims\n";
  for (const char* name : {"HOLDS", "FAILS", "NO-DATA"}) {
    const auto found = board.claims.find(name);
    text += fmt::format("  {:<13}{:>6}\n", name, found == board.claims.end() ? 0 : found->second);
  }
  for (const auto& line : board.failed_claims) text += "  fails: " + line + "\n";
  return text;
}

}  // namespace retable::harness

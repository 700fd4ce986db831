#include "harness/report/results.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iterator>
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

// A samples file larger than this helps nobody: violins of more are drawn from the cells' summary.
constexpr std::size_t kMostSamples = 400000;
constexpr int kFiguresOnTerminal = 3;

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
  measured.run = cell->has_value || cell->failed;
  measured.failed = cell->broken;
  measured.reason = cell->reason;
  measured.group = cell->dataset;
  if (!cell->has_value) return measured;
  measured.value = cell->value;
  measured.ci_low = cell->ci_low;
  measured.ci_high = cell->ci_high;
  measured.n = cell->n;
  return measured;
}

using Row = std::vector<std::string>;

const Row kVerdictColumns = {"artifact", "row",     "column", "kind",    "paper",
                             "measured", "unit",    "ratio",  "verdict", "reason",
                             "ci_low",   "ci_high", "n",      "page",    "table"};
const Row kClaimColumns = {"artifact", "id",    "text",   "page", "verdict",
                           "figures",  "check", "reason", "note"};

// The rows of verdicts.csv and claims.csv.
struct Judgement {
  std::vector<Row> verdicts, claims;
};

void JudgeVerdicts(const Artifact& artifact, const Table& table,
                   const std::vector<PublishedCell>& published, const MissingCells& missing,
                   const std::string& coverage, Judgement& judgement) {
  const auto verdicts = Judge(published, [&](const std::string& row, const std::string& column) {
    return Measured(table, missing, row, column);
  });
  for (const Verdict& v : verdicts) {
    const bool partial = v.measured.run && artifact.coverage_total > 0;
    judgement.verdicts.push_back(
        {artifact.id, v.cell.row, v.cell.column, std::string(Name(v.cell.kind)), v.cell.Text(),
         FormatNumber(v.measured.value), v.cell.unit, FormatNumber(v.ratio),
         std::string(Name(v.kind)), partial ? v.reason + "; on " + coverage : v.reason,
         FormatNumber(v.measured.ci_low), FormatNumber(v.measured.ci_high),
         std::to_string(v.measured.n), v.cell.page, v.cell.table});
  }
}

void JudgeClaims(const Artifact& artifact, const View& view, Judgement& judgement) {
  for (const ClaimSpec& claim : artifact.claims) {
    const ClaimResult result = Evaluate(claim.check, view);
    judgement.claims.push_back({artifact.id, claim.id, claim.text, claim.where,
                                std::string(Name(result.verdict)), FiguresText(result.figures),
                                claim.check, result.reason, claim.note});
  }
}

// The rows that a file of the folder has of an artifact; older files lack some columns.
std::vector<Row> RecordedRows(const Artifact& artifact, const char* file, const Row& columns) {
  const std::string path = artifact.folder + "/" + file;
  std::vector<Row> rows;
  if (!fs::exists(path)) return rows;
  const CsvTable csv = ReadCsv(path);
  const std::size_t id = csv.Column("artifact");
  for (const CsvRow& recorded : csv.rows) {
    if (recorded.fields[id] != artifact.id) continue;
    Row& row = rows.emplace_back();
    for (const std::string& column : columns) {
      row.push_back(csv.Has(column) ? recorded.fields[csv.Column(column)] : "");
    }
  }
  return rows;
}

// What was recorded of an artifact whose cells are not here. @throws StoreError where the file of
// it has gone as well
Judgement Recorded(const Artifact& artifact, Scoreboard& board) {
  ++board.recorded;
  Judgement judgement{RecordedRows(artifact, "verdicts.csv", kVerdictColumns),
                      RecordedRows(artifact, "claims.csv", kClaimColumns)};
  const bool published = fs::exists(artifact.Path("paper.csv"));
  for (const auto& [missing, file] :
       {std::pair(published && judgement.verdicts.empty(), "verdicts.csv"),
        std::pair(!artifact.claims.empty() && judgement.claims.empty(), "claims.csv")}) {
    if (!missing) continue;
    if (fs::exists(artifact.folder + "/" + file)) {
      board.not_judged.push_back(fmt::format("{}: {} has no row of it", artifact.id, file));
      continue;
    }
    throw StoreError(fmt::format(
        "{}: neither the cells of {} are here nor {}: it cannot be judged; copy the folder again, "
        "or measure it in another: build/retable run {} --profile {}",
        artifact.folder, artifact.id, file, artifact.id, artifact.profile));
  }
  return judgement;
}

std::string FirstFigures(const std::string& figures) {
  std::size_t end = 0;
  for (int i = 0; i < kFiguresOnTerminal && end != std::string::npos; ++i) {
    end = figures.find("; ", end + (i > 0 ? 1 : 0));
  }
  return end == std::string::npos ? figures : figures.substr(0, end) + "; ...";
}

void Count(const Judgement& judgement, Scoreboard& board) {
  for (const Row& row : judgement.verdicts) {
    ++board.verdicts[row[8]];
    if (row[8] != "MISMATCH") continue;
    board.mismatches.push_back(fmt::format("{} [{}, {}]: paper {}, measured {} ({})", row[0],
                                           row[1], row[2], row[4], row[5], row[9]));
  }
  for (const Row& row : judgement.claims) {
    ++board.claims[row[4]];
    if (row[4] != "FAILS") continue;
    board.failed_claims.push_back(fmt::format("{} {}: {} ({}){}", row[0], row[1], row[2],
                                              FirstFigures(row[5]),
                                              row[8].empty() ? "" : " Known: " + row[8]));
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

void WriteTables(const Artifact& artifact, const Table& table, const std::string& coverage) {
  WriteFileAtomically(artifact.Path("csv"), TableCsv(table));
  WriteFileAtomically(artifact.Path("tidy.csv"), TidyCsv(artifact));
  WriteOrRemove(artifact.Path("samples.csv"), SamplesCsv(artifact, kMostSamples));
  WriteOrRemove(artifact.Path("curves.csv"), CurvesCsv(artifact));
  UpdateMeta(artifact, coverage);
}

Judgement JudgeArtifact(const Artifact& artifact, bool write, Scoreboard& board) {
  if (artifact.recorded) return Recorded(artifact, board);
  const Table table = BuildTable(artifact);
  const std::string coverage = CoverageText(artifact);
  if (write) WriteTables(artifact, table, coverage);
  std::vector<PublishedCell> published;
  if (fs::exists(artifact.Path("paper.csv"))) {
    published = ReadPaperCells(artifact.Path("paper.csv"));
  }
  const MissingCells missing(artifact, table, published);
  Judgement judgement;
  JudgeVerdicts(artifact, table, published, missing, coverage, judgement);
  JudgeClaims(artifact, View(table, published, missing), judgement);
  return judgement;
}

void WriteCsv(const std::string& path, const Row& header, const std::vector<Row>& rows) {
  std::ostringstream text;
  CsvWriter csv(text);
  csv.Row(header);
  for (const Row& row : rows) csv.Row(row);
  WriteFileAtomically(path, text.str());
}

Scoreboard JudgeFolder(const std::string& folder, bool write) {
  Scoreboard board;
  Judgement all;
  for (const Artifact& artifact : LoadArtifacts(folder)) {
    Judgement one = JudgeArtifact(artifact, write, board);
    Count(one, board);
    std::move(one.verdicts.begin(), one.verdicts.end(), std::back_inserter(all.verdicts));
    std::move(one.claims.begin(), one.claims.end(), std::back_inserter(all.claims));
  }
  if (write) {
    WriteCsv(folder + "/verdicts.csv", kVerdictColumns, all.verdicts);
    WriteCsv(folder + "/claims.csv", kClaimColumns, all.claims);
  }
  return board;
}

}  // namespace

Scoreboard JudgeResults(const std::string& folder) {
  return JudgeFolder(folder, false);
}

Scoreboard WriteResults(const std::string& folder) {
  return JudgeFolder(folder, true);
}

void WriteRun(const std::string& folder, const RunRecord& r) {
  const nlohmann::ordered_json run = {
      {"version", 1},         {"profile", r.profile},   {"device", r.device},
      {"started", r.started}, {"finished", r.finished}, {"seconds", r.seconds},
      {"banner", r.banner},   {"counts", r.counts},     {"command", r.command}};
  WriteFileAtomically(folder + "/run.json", JsonText(run, 1) + "\n");
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
  if (board.recorded > 0) {
    text += fmt::format("of {} artifact{} the cells are not in the folder: judged as recorded\n",
                        board.recorded, board.recorded == 1 ? "" : "s");
  }
  for (const auto& line : board.not_judged) text += "  not judged: " + line + "\n";
  return text;
}

}  // namespace retable::harness

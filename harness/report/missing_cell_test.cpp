#include "harness/report/missing_cell.hpp"

#include <gtest/gtest.h>

namespace retable::harness {
namespace {

// A protocol of one method, so that experiments can be expanded without a family.
class Toy final : public Protocol {
 public:
  std::string name() const override { return "toy/missing_cell"; }
  std::string summary() const override { return ""; }
  Names metrics() const override { return {"time"}; }
  Algorithms algorithms() const override {
    return {{"A", {"cpu"}, {}, "", ""}, {"G", {"cuda"}, {}, "", ""}};
  }
  Specs axes() const override { return {{"w", std::int64_t{1}, ""}}; }
  Datasets resolve(const std::string& dataset) const override {
    ADD_FAILURE() << "names are made without looking for data: " << dataset;
    return {};
  }
  Outcome measure(const CellConfig&) override { return {}; }
};

Experiment Sizes(const std::vector<std::int64_t>& sizes) {
  Experiment e;
  e.id = "toy/sizes";
  e.family = "toy";
  e.protocol = "toy/missing_cell";
  e.datasets = {{"sequence", {}}};
  e.axes = {{"w", {sizes.begin(), sizes.end()}}};
  e.axis_positions["w"] = {};
  for (const char* name : {"A", "G"}) {
    AlgorithmEntry& entry = e.algorithms.emplace_back();
    entry.name = name;
    entry.device = *name == 'G' ? "cuda" : "cpu";
  }
  e.table.rows = "2^{w} {label}";
  e.table.pivot = "{dataset}";
  e.table.columns.resize(1);
  return e;
}

TEST(NamesOf, ExpandsAProfileWithoutItsData) {
  if (Protocols().empty() || Protocols().back()->name() != "toy/missing_cell") {
    Protocols().push_back(std::make_unique<Toy>());
  }
  const ProfileNames names = NamesOf(Sizes({8, 26}), "paper", {});
  EXPECT_EQ(names.columns, std::vector<std::string>{"sequence"});
  ASSERT_EQ(names.rows.size(), 4u);
  EXPECT_EQ(names.rows[1].name, "2^26 A");
  EXPECT_FALSE(names.rows[1].cuda);
  EXPECT_EQ(names.rows[3].name, "2^26 G");
  EXPECT_TRUE(names.rows[3].cuda);
  EXPECT_EQ(names.rows[3].dataset, "sequence");
}

TEST(RefuseUnknownNames, LetsPassWhatAProgramWithoutCudaCannotName) {
  std::vector<ProfileNames> names = {
      {"quick", {{"A (5)", "", false}, {"G ({k})", "", true}}, {"t"}}};
  ClaimSpec claim;
  claim.check = "cell('G (3)', 't') > 1";
  EXPECT_NO_THROW(RefuseUnknownNames({claim}, names));
  names[0].rows.pop_back();
  EXPECT_THROW(RefuseUnknownNames({claim}, names), ConfigError);
}

ArtifactCell Planned(const std::string& label, const std::string& not_run) {
  ArtifactCell cell;
  cell.config.label = label;
  cell.config.dataset = label.starts_with("synthetic ") ? label : "sequence";
  cell.not_run = not_run;
  return cell;
}

// What `Planned` rows and these names say of a cell in column "t".
class MissingCellsOf : public testing::Test {
 protected:
  MissingCellsOf() {
    artifact.id = "toy/t";
    artifact.profile = "quick";
    artifact.table.columns.resize(1);
    artifact.table.columns[0].name = "t";
    artifact.cells = {Planned("2^20", "needs a CUDA device: no driver"),
                      Planned("synthetic small", "")};
    artifact.dataset_notes = {{"sequence", ""},
                              {"synthetic small", "stands in for small: fetch x"}};
    artifact.profiles = {
        {"quick", {{"2^20", "sequence", false}, {"small", "small", false}}, {"t"}},
        {"paper",
         {{"2^20", "sequence", false}, {"2^26", "sequence", false}, {"2^29", "digits", true}},
         {"t", "u"}}};
  }

  std::string Cell(const std::string& row, const std::string& column = "t") {
    const Table table = BuildTable(artifact);
    return MissingCells(artifact, table, published).WhyCell(row, column);
  }
  std::string Pattern(const std::string& glob) {
    const Table table = BuildTable(artifact);
    return MissingCells(artifact, table, published).WhyPatterns({glob}, true);
  }

  Artifact artifact;
  std::vector<PublishedCell> published;
};

TEST_F(MissingCellsOf, SaysWhatBringsTheValue) {
  EXPECT_EQ(Cell("2^20"), "needs a CUDA device: no driver");
  EXPECT_EQ(Cell("2^26"),
            "needs rows of the paper profile: build/retable run toy/t --profile paper");
  EXPECT_EQ(Cell("2^29"),
            "needs rows of the paper profile (with a CUDA device and data set digits): "
            "build/retable run toy/t --profile paper");
  EXPECT_EQ(Cell("2^20", "u"),
            "needs rows of the paper profile: build/retable run toy/t --profile paper");
  EXPECT_EQ(Cell("small"),
            "needs the published data: synthetic small stands in for small: fetch x");
}

TEST_F(MissingCellsOf, CountsTheCellsThatAreStillToCome) {
  artifact.table.columns[0].metric = "e";
  artifact.cells = {Planned("2^20", ""), Planned("2^20", "")};
  EXPECT_EQ(Cell("2^20"), "missing: not measured yet");
  artifact.cells[0].record.emplace().outcome.metrics = {{"e", "1", {1}, {}, {}}};
  EXPECT_EQ(Cell("2^20"), "1 of 2 cells is not measured yet");
}

TEST_F(MissingCellsOf, AsksForTheSpellingOnlyOfNamesThatNoProfileHas) {
  EXPECT_EQ(Cell("2^27"), "no profile has a row \"2^27\" (did you mean \"2^20\"?)");
  EXPECT_EQ(Cell("2^26", "tt"), "no profile has a column \"tt\" (did you mean \"t\"?)");
  PublishedCell cell;
  cell.row = "2^27";
  cell.column = "t";
  published = {cell};
  EXPECT_EQ(Cell("2^27"),
            "needs rows of the paper profile: build/retable run toy/t --profile paper");
  artifact.profiles.clear();
  EXPECT_EQ(Cell("2^27"), "not in this profile");  // a folder of an older program
}

TEST_F(MissingCellsOf, KnowsWhereAPatternWouldMatch) {
  EXPECT_EQ(Pattern("2^26*"),
            "needs rows of the paper profile: build/retable run toy/t --profile paper");
  artifact.profile = "paper";
  EXPECT_EQ(Pattern("large*"), "no row matches \"large*\"");
}

TEST(MissingCell, ItsReasonNamesWhatItNeeds) {
  using Need = std::pair<std::string, std::string>;
  EXPECT_EQ(NeedOf("needs a CUDA device: no NVIDIA driver is loaded"), Need("a CUDA device", ""));
  EXPECT_EQ(NeedOf("this build has no CUDA"), Need("a CUDA device", ""));
  EXPECT_EQ(NeedOf("GPU rows were not asked for (--device cpu)"), Need("a CUDA device", ""));
  EXPECT_EQ(NeedOf("needs data set adult: build/retable datasets fetch adult (no connection)"),
            Need("data", "adult"));
  EXPECT_EQ(NeedOf("needs rows of the paper profile: build/retable run a/b --profile paper"),
            Need("the paper profile", ""));
  EXPECT_EQ(NeedOf("needs rows of the paper profile (with a CUDA device): build/retable run ..."),
            Need("a CUDA device", ""));
  EXPECT_EQ(NeedOf("needs the published data: iris ran in its place"), Need("other data", ""));
  EXPECT_EQ(NeedOf("python3 has no scikit-learn"), Need("something else", ""));
}

}  // namespace
}  // namespace retable::harness

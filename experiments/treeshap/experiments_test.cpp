// The family's protocols on small synthetic models, and its TOML files against the published cells.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/temporary_folder.hpp"
#include "baselines/treeshap/xgboost.hpp"
#include "datasets/openml/test_mirror.hpp"
#include "experiments/common/paper_testing.hpp"
#include "experiments/common/plan_testing.hpp"
#include "experiments/treeshap/data/model_shapes.hpp"
#include "experiments/treeshap/data/paper_models.hpp"
#include "harness/cli/missing_data.hpp"
#include "harness/config/experiment.hpp"
#include "harness/plan/plan.hpp"
#include "harness/report/paper_cells.hpp"
#include "harness/report/table.hpp"

namespace retable::harness {
namespace {

using datasets::ScopedEnvironment;
using experiments::MetricOf;

std::vector<Experiment> Load(const std::string& profile) {
  return experiments::LoadFamily("treeshap", profile);
}

TEST(TreeShapExperiments, EveryArtifactOfTheChapterIsThere) {
  std::set<std::string> ids;
  for (const auto& e : Load("paper")) ids.insert(e.artifact);
  for (const char* artifact :
       {"table2", "table3", "table5", "table6", "table7", "fig4", "fig5", "fig6"}) {
    EXPECT_EQ(ids.count(artifact), 1u) << artifact;
  }
}

TEST(TreeShapExperiments, EveryProfilePlans) {
  experiments::ExpectEveryProfilePlans("treeshap");
}

// Offline the models of two data sets are trained on what is compiled in; the other two are named
// once, with what waits for them.
TEST(TreeShapExperiments, WhatOnlyTheNetworkBringsIsSaidOnce) {
  const ScopedEnvironment off("RETABLE_OPENML_URL", "off");
  const TemporaryFolder cache;
  const ScopedEnvironment folder("RETABLE_CACHE", cache.path().string());
  if (!experiments::treeshap::ResolveModels("Adult-small").front().reason.empty()) {
    GTEST_SKIP() << "no XGBoost in this build";
  }
  std::vector<Plan> plans;
  for (const auto& e : Load("quick")) plans.push_back(MakePlan(e, experiments::NoGpu()));
  const auto missing = FindMissingData(plans);
  ASSERT_EQ(missing.size(), 2u);
  for (const MissingData& data : missing) {
    EXPECT_TRUE(data.name == "covertype" || data.name == "Fashion-MNIST") << data.name;
    EXPECT_EQ(data.megabytes, data.name == "covertype" ? 75 : 155);
    // Small and medium models: 4 packings of 3 columns, and 3 facts, each.
    EXPECT_EQ(data.published.at("treeshap/table5"), 2 * 15);
    EXPECT_EQ(data.published.at("treeshap/table3"), 2 * 3);
  }
  Context context;
  std::vector<std::string> offered;
  context.offer_data = [&](const std::vector<std::string>& names, int megabytes) {
    offered = names;
    EXPECT_EQ(megabytes, 230);
    return true;
  };
  std::ostringstream told;
  EXPECT_TRUE(OfferMissingData(context, plans, told));
  EXPECT_EQ(offered.size(), 2u);
  for (const char* text : {"covertype (75 MB: ", " published cells of treeshap)",
                           "To bring them: build/retable datasets fetch "}) {
    EXPECT_NE(told.str().find(text), std::string::npos) << told.str();
  }
  const std::string line = told.str();
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  std::vector<Plan> here;
  for (const auto& e : Load("smoke")) here.push_back(MakePlan(e, experiments::NoGpu()));
  told.str("");
  EXPECT_FALSE(OfferMissingData(context, here, told)) << "smoke asks for stand-ins by name";
  EXPECT_EQ(told.str(), "");
}

TEST(TreeShapExperiments, PublishedCellsNameModelsAndColumns) {
  const std::map<std::string, std::size_t> expected = {
      {"table2", 11}, {"table3", 36}, {"table5", 180}, {"table6", 60},
      {"table7", 60}, {"fig5", 1},    {"fig6", 1}};
  for (const auto& e : Load("paper")) {
    if (e.paper_file.empty()) continue;
    const auto cells = ReadPaperCells(e.paper_file);
    EXPECT_EQ(cells.size(), expected.at(e.artifact)) << e.id;
    const Table table = experiments::EmptyTable(MakePlan(e, experiments::NoGpu()));
    std::set<std::pair<std::string, std::string>> seen;
    for (const PublishedCell& cell : cells) {
      EXPECT_NE(std::count(table.columns.begin(), table.columns.end(), cell.column), 0)
          << e.id << " " << cell.column;
      EXPECT_TRUE(seen.emplace(cell.row, cell.column).second) << "twice: " << cell.row;
      const std::string model = cell.row.substr(0, cell.row.find(' '));
      // Rows of figures are methods; those of tables models, or their stand-ins.
      if (e.artifact.rfind("fig", 0) == 0) {
        EXPECT_NE(std::count(table.rows.begin(), table.rows.end(), cell.row), 0) << cell.row;
      } else {
        EXPECT_EQ(experiments::treeshap::ResolveModels(model).size(), 1u) << cell.row;
      }
    }
  }
}

TEST(TreeShapExperiments, ClaimsHoldForTheNumbersOfTheWork) {
  EXPECT_GE(experiments::ExpectClaimsHoldInTheWork("treeshap", {}), 18);
}

TEST(PaperModels, SyntheticOnesSayAndKeepTheShape) {
  const auto all = experiments::treeshap::ResolveModels("synthetic paper");
  ASSERT_EQ(all.size(), 12u);
  std::set<std::string> hashes;
  for (const auto& info : all) {
    EXPECT_EQ(info.name.rfind("synthetic ", 0), 0u);
    EXPECT_TRUE(info.present);
    hashes.insert(info.sha256);
  }
  EXPECT_EQ(hashes.size(), 12u);
  const auto problem = experiments::treeshap::LoadModel("synthetic Covtype-small", 10);
  EXPECT_EQ(problem.model.trees.size(), 80u);
  EXPECT_EQ(problem.model.groups, 8);
  EXPECT_EQ(problem.Rows().rows, 10u);
  EXPECT_THROW(experiments::treeshap::ResolveModels("Covtype-huge"), UnknownName);
}

TEST(PaperModels, TheZooIsWideAndHalfUnseen) {
  const auto zoo = experiments::treeshap::ResolveModels("synthetic zoo");
  ASSERT_EQ(zoo.size(), 24u);
  std::int64_t narrow = 1000, wide = 0;
  for (const auto& info : zoo) {
    narrow = std::min(narrow, info.columns);
    wide = std::max(wide, info.columns);
  }
  EXPECT_LT(narrow, 10);
  EXPECT_GT(wide, 500);
  const auto unseen = std::count_if(zoo.begin(), zoo.end(), [](const DatasetInfo& info) {
    return info.name.ends_with(" unseen");
  });
  EXPECT_GE(unseen, 8);
  EXPECT_LE(unseen, 16);
  const auto one = experiments::treeshap::ResolveModels("synthetic zoo 04");
  ASSERT_EQ(one.size(), 1u);
  const auto problem = experiments::treeshap::LoadModel(one.front().name, 500);
  const auto missing = std::count_if(problem.rows.begin(), problem.rows.end(),
                                     [](float value) { return std::isnan(value); });
  EXPECT_NEAR(static_cast<double>(missing) / static_cast<double>(problem.rows.size()), 0.1, 0.05);
  // Leaf-wise: as many leaves in each tree, some far deeper than others.
  const auto leaf_wise = experiments::treeshap::LoadModel(
      experiments::treeshap::ResolveModels("synthetic zoo 23").front().name, 10);
  for (const auto& tree : leaf_wise.model.trees) {
    EXPECT_EQ(tree.nodes.size(), leaf_wise.model.trees[0].nodes.size());
  }
  EXPECT_GE(leaf_wise.model.trees[0].nodes.size(), 2u * 31 - 1);
  EXPECT_THROW(experiments::treeshap::ResolveModels("zoo 04"), UnknownName);
}

TEST(PaperModels, TheTrainedZooIsTrainedOnDataAtHand) {
  setenv("RETABLE_ROOT", RETABLE_SOURCE_DIR, 1);
  const auto zoo = experiments::treeshap::ResolveModels("trained zoo");
  ASSERT_EQ(zoo.size(), 18u);
  const auto unseen = std::count_if(zoo.begin(), zoo.end(), [](const DatasetInfo& info) {
    return info.name.ends_with(" unseen");
  });
  EXPECT_GE(unseen, 6);
  EXPECT_LE(unseen, 12);
  for (const std::size_t at : {7u, 12u}) {  // LightGBM on adult, scikit-learn on digits
    if (!zoo[at].present) {
      EXPECT_NE(zoo[at].reason.find("train.py"), std::string::npos) << zoo[at].reason;
      continue;
    }
    const auto problem = experiments::treeshap::LoadModel(zoo[at].name, 30);
    EXPECT_EQ(problem.columns, at == 7 ? 14u : 64u);
    EXPECT_EQ(problem.model.groups, at == 7 ? 1 : 10);
    EXPECT_EQ(problem.model.category_sets.empty(), at != 7);
    EXPECT_NE(problem.origin.find(at == 7 ? "lightgbm" : "scikit-learn"), std::string::npos);
  }
  EXPECT_THROW(experiments::treeshap::ResolveModels("synthetic trained zoo"), UnknownName);
  if (!baselines::treeshap::XgboostIsHere()) {
    EXPECT_FALSE(zoo[0].present);
    EXPECT_EQ(zoo[0].reason, "needs XGBoost in the build");
    return;
  }
  // Adult, leaf-wise.
  EXPECT_TRUE(zoo[1].present);
  const auto problem = experiments::treeshap::LoadModel(zoo[1].name, 30);
  EXPECT_EQ(problem.columns, 14u);
  EXPECT_EQ(problem.model.groups, 1);
  const int leaves = experiments::treeshap::TrainedZoo()[1].leaves;
  std::size_t most = 0;
  int depth = 0;
  for (const auto& tree : problem.model.trees) {
    most = std::max(most, (tree.nodes.size() + 1) / 2);
    depth = std::max(depth, retable::treeshap::Depth(tree));
  }
  EXPECT_LE(most, static_cast<std::size_t>(leaves));
  EXPECT_GT(depth, 6);  // of less than 64 leaves by levels
}

CellConfig Cell(const std::string& protocol, const std::string& algorithm) {
  CellConfig cell = experiments::CellOf(protocol, algorithm, "synthetic Cal_housing-small");
  cell.repeats = 2;
  if (cell.settings.count("budget") == 1) cell.settings["budget"] = 0.05;
  return cell;
}

TEST(ExplainProtocol, MeasuresVerifiedValuesAndInteractions) {
  for (const char* algorithm : {"TreeShap", "GPUTreeShap", "Quadrature"}) {
    for (const char* what : {"values", "interactions"}) {
      CellConfig cell = Cell("treeshap/explain", algorithm);
      cell.axes["rows"] = std::int64_t{40};
      cell.settings["what"] = std::string(what);
      if (FindProtocol(cell.protocol).unsupported(cell)) continue;
      const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
      EXPECT_TRUE(outcome.verification.ok) << algorithm << " " << what;
      EXPECT_GE(MetricOf(outcome, "time").samples.size(), 1u);
      EXPECT_GT(MetricOf(outcome, "throughput").samples[0], 0);
    }
  }
}

TEST(ExplainProtocol, ABackgroundIsForInterventionalValuesAlone) {
  CellConfig cell = Cell("treeshap/explain", "Interventional");
  EXPECT_TRUE(FindProtocol(cell.protocol).unsupported(cell));
  cell.axes["rows"] = std::int64_t{20};
  cell.settings["background"] = std::int64_t{10};
  EXPECT_FALSE(FindProtocol(cell.protocol).unsupported(cell));
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_GE(MetricOf(outcome, "time").samples.size(), 1u);
  cell.algorithm = "Quadrature";
  EXPECT_TRUE(FindProtocol(cell.protocol).unsupported(cell));
}

// Three samples at least, and a twentieth of the rows.
TEST(ExplainProtocol, AMethodOverItsBudgetIsRepeatedOnEnoughRows) {
  for (const char* what : {"values", "interactions"}) {
    CellConfig cell = Cell("treeshap/explain", "Quadrature");
    cell.axes["rows"] = std::int64_t{2000};
    cell.settings["what"] = std::string(what);
    cell.settings["budget"] = 1e-12;
    cell.repeats = 5;
    const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
    EXPECT_TRUE(outcome.verification.ok);
    EXPECT_EQ(MetricOf(outcome, "time").samples.size(), 3u);
    EXPECT_EQ(outcome.facts.count("scaled"), 1u) << "fewer rows must say so";
    const auto method = std::get<std::string>(outcome.facts.at("method"));
    EXPECT_NE(method.find("from 100 rows"), std::string::npos) << "so must its row: " << method;
    cell.settings["all_rows"] = true;
    EXPECT_EQ(FindProtocol(cell.protocol).measure(cell).facts.count("scaled"), 0u);
  }
}

TEST(TopKProtocol, TheMatrixIsTimedOnEnoughRows) {
  CellConfig cell = Cell("treeshap/topk", "Full matrix");
  cell.axes["rows"] = std::int64_t{2000};
  cell.settings["budget"] = 1e-12;
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_EQ(MetricOf(outcome, "time").samples.size(), 2u);
  const auto method = std::get<std::string>(outcome.facts.at("method"));
  EXPECT_NE(method.find("from 100 rows"), std::string::npos) << method;
}

TEST(ExplainProtocol, ProcessorsThatAreNotHereAreNotRun) {
  CellConfig cell = Cell("treeshap/explain", "Quadrature");
  cell.axes["threads"] = std::int64_t{100000};
  const auto why = FindProtocol(cell.protocol).unsupported(cell);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("100000 processors"), std::string::npos) << *why;
}

TEST(ExplainProtocol, GpusThatAreNotHereAreNotRun) {
  CellConfig cell = Cell("treeshap/explain", "GPUTreeShap");
  cell.device = "cuda";
  cell.axes["gpus"] = std::int64_t{1000};
  const auto why = FindProtocol(cell.protocol).unsupported(cell);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("1000 GPUs"), std::string::npos) << *why;
}

TEST(ExplainProtocol, AnImpossibleToleranceIsAWrongResult) {
  CellConfig cell = Cell("treeshap/explain", "Quadrature");
  cell.settings["tolerance"] = 1e-30;
  const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
  EXPECT_FALSE(outcome.verification.ok);
  EXPECT_TRUE(outcome.metrics.empty());
}

// Of many rows, one in the middle.
class WrongInTheMiddle final : public retable::treeshap::TreeExplainer {
 public:
  void prepare(const retable::treeshap::TreeEnsemble& model) override {
    right_->prepare(model);
    shape_ = model;
  }
  void write_values(const retable::treeshap::RowBlock& rows, std::span<double> phi) override {
    right_->values_to(rows, phi);
    if (rows.rows > 100) phi[phi.size() / 2] += 1;
  }

 private:
  std::unique_ptr<TreeExplainer> right_ =
      Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu, {});
};

RETABLE_REGISTER(retable::treeshap::TreeExplainer, wrong_in_the_middle,
                 {.name = "Wrong in the middle",
                  .make = [](const Parameters&) { return std::make_unique<WrongInTheMiddle>(); }});

TEST(ExplainProtocol, RowsInTheMiddleAreLookedAt) {
  CellConfig cell = Cell("treeshap/explain", "Wrong in the middle");
  for (const std::int64_t rows : {100, 1000}) {
    cell.axes["rows"] = rows;
    cell.settings["all_rows"] = true;
    const Outcome outcome = FindProtocol(cell.protocol).measure(cell);
    EXPECT_EQ(outcome.verification.ok, rows == 100) << rows;
  }
}

// Writes what the calls before the timed ones ask for, and nothing after.
class StopsWriting final : public retable::treeshap::TreeExplainer {
 public:
  void prepare(const retable::treeshap::TreeEnsemble& model) override {
    right_->prepare(model);
    shape_ = model;
  }
  void write_values(const retable::treeshap::RowBlock& rows, std::span<double> phi) override {
    if (++calls_ <= 2) right_->values_to(rows, phi);
  }

 private:
  std::unique_ptr<TreeExplainer> right_ =
      Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu, {});
  int calls_ = 0;
};

RETABLE_REGISTER(retable::treeshap::TreeExplainer, stops_writing,
                 {.name = "Stops writing",
                  .make = [](const Parameters&) { return std::make_unique<StopsWriting>(); }});

TEST(ExplainProtocol, ValuesOfEarlierCallsAreNotTakenForThoseOfTheTimedOnes) {
  CellConfig cell = Cell("treeshap/explain", "Stops writing");
  cell.axes["rows"] = std::int64_t{100};
  cell.settings["all_rows"] = true;
  EXPECT_FALSE(FindProtocol(cell.protocol).measure(cell).verification.ok);
}

TEST(PackingProtocol, BestFitFillsWarps) {
  const Outcome outcome = FindProtocol("treeshap/packing").measure(Cell("treeshap/packing", "BFD"));
  EXPECT_TRUE(outcome.verification.ok);
  EXPECT_GT(MetricOf(outcome, "utilisation").samples[0], 0.8);
}

TEST(ModelsProtocol, CountsTrees) {
  const Outcome outcome = FindProtocol("treeshap/models").measure(Cell("treeshap/models", "model"));
  EXPECT_EQ(MetricOf(outcome, "trees").samples[0], 10);
  EXPECT_EQ(MetricOf(outcome, "depth").samples[0], 3);
}

}  // namespace
}  // namespace retable::harness

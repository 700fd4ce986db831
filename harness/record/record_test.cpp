#include "harness/record/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/atomic_file.hpp"
#include "base/temporary_folder.hpp"
#include "harness/plan/value_json.hpp"
#include "harness/record/archive.hpp"
#include "harness/report/origins/provenance.hpp"
#include "harness/run/runner.hpp"

namespace retable::harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json Machine(const std::string& processor, const std::string& card, const std::string& boot) {
  json environment = {{"profile", "paper"},
                      {"cpu", {{"model", processor}, {"threads_allowed", 16}}},
                      {"os", {{"boot", boot}}},
                      {"git", {{"commit", std::string(40, 'c')}, {"dirty", false}}}};
  if (!card.empty()) environment["gpu"] = {{{"name", card}, {"card", boot + card}}};
  return environment;
}

PlannedCell Timed(const std::string& key, const std::string& device, const std::string& group) {
  PlannedCell cell;
  cell.key = std::string(64 - key.size(), '0') + key;
  cell.config.experiment = "f/t";
  cell.config.family = "f";
  cell.config.label = key;
  cell.config.device = device;
  cell.exclusive = true;
  cell.group = group;
  return cell;
}

// A results folder of which each cell has a machine, and its archive.
class Stretches : public ::testing::Test {
 protected:
  std::string Folder() const { return (here_.path() / "out").string(); }

  void Save(const PlannedCell& cell, const json& environment,
            std::vector<double> samples = {1, 2, 3}) {
    CellRecord record;
    record.key = cell.key;
    record.config = cell.config;
    record.outcome.status = "ok";
    record.outcome.verification = {true, true, "e", 0, 1, "r"};
    record.outcome.metrics = {{"time", "s", std::move(samples), {}, {}, {}}};
    record.outcome.attachments = {{"benchmark.json", "as it was"}};
    record.environment = EnvironmentHash(JsonText(environment, 1));
    record.started = "2026-01-02T03:04:05Z";
    Store(Folder(), LockMode::kNone).Save(record);
    WriteOrigin(Folder(), JsonText(environment, 1));
  }

  Plan PlanOf(std::vector<PlannedCell> cells) {
    Plan plan;
    plan.experiment.id = "f/t";
    plan.experiment.family = "f";
    plan.experiment.artifact = "t";
    ColumnSpec column;
    column.name = column.metric = "time";
    plan.experiment.table.columns = {column};
    plan.cells = std::move(cells);
    return plan;
  }

  // What is measured of cells with these keys, by a run here.
  std::string Measured(const std::vector<Plan>& plans, const json& here, bool by_group = true) {
    RunOptions options;
    options.out = Folder();
    options.by_group = by_group;
    options.environment = here;
    std::ostringstream log;
    std::string keys;
    for (const Decision& decision : Decide(plans, options, log)) {
      if (decision.measure) keys += decision.cell->config.label;
    }
    return keys;
  }

  TemporaryFolder here_;
};

TEST_F(Stretches, AGroupThatWasBegunElsewhereIsBegunAnew) {
  const json first = Machine("Xeon", "H200", "1"), second = Machine("Xeon", "H200", "2");
  const std::vector<Plan> plans = {
      PlanOf({Timed("a", "cuda", "cuda, x"), Timed("b", "cuda", "cuda, x"),
              Timed("c", "cuda", "cuda, y"), Timed("d", "cpu", "cpu"), Timed("e", "cpu", "")})};
  Save(plans[0].cells[0], first);
  EXPECT_EQ(Measured(plans, first), "bcde");    // goes on where it was begun
  EXPECT_EQ(Measured(plans, second), "abcde");  // on another card
  EXPECT_EQ(Measured(plans, second, false), "bcde");
  Save(plans[0].cells[1], first);
  Save(plans[0].cells[2], second);
  EXPECT_EQ(Measured(plans, second), "de");  // x is whole, of one card
  Save(plans[0].cells[1], second);
  EXPECT_EQ(Measured(plans, first), "bde");  // x is of two cards, of which this is one
  EXPECT_EQ(Measured(plans, Machine("Xeon", "H200", "3")), "abde");
  Save(plans[0].cells[3], first);
  Save(plans[0].cells[4], second);  // not timed: on whatever machine
  EXPECT_EQ(Measured(plans, first), "b");
  // The card says nothing of a processor's rows.
  json other_card = first;
  other_card["gpu"][0]["card"] = "z";
  EXPECT_EQ(StretchOf(first, "cpu"), StretchOf(other_card, "cpu"));
  EXPECT_NE(StretchOf(first, "cuda"), StretchOf(other_card, "cuda"));
}

TEST_F(Stretches, ExperimentsThatShareACellShareItsGroup) {
  const PlannedCell a = Timed("a", "cuda", "cuda"), b = Timed("b", "cuda", "cuda"),
                    c = Timed("c", "cuda", "cuda"), d = Timed("d", "cuda", "cuda");
  const auto apart = GroupsOf({PlanOf({a, b}), PlanOf({c, d})});
  EXPECT_EQ(apart.at(a.key), apart.at(b.key));
  EXPECT_NE(apart.at(a.key), apart.at(c.key));
  const auto shared = GroupsOf({PlanOf({a, b}), PlanOf({c, d}), PlanOf({d, a})});
  for (const PlannedCell& cell : {b, c, d}) EXPECT_EQ(shared.at(cell.key), shared.at(a.key));
  PlannedCell absent = d;
  absent.not_run = "no card";
  EXPECT_EQ(GroupsOf({PlanOf({a, b}), PlanOf({c, absent}), PlanOf({absent, a})}).count(d.key), 0u);
}

TEST_F(Stretches, ARunGoesOnOnACardAndProcessorOfTheKindOnly) {
  const json here = Machine("Xeon", "H200", "1");
  const Plan plan = PlanOf({Timed("a", "cuda", "cuda"), Timed("b", "cpu", "cpu")});
  Save(plan.cells[0], Machine("Epyc", "H200", "2"));
  Save(plan.cells[1], here);
  WriteMeta(plan, "paper", Folder());
  const std::string root = here_.path().string();
  fs::create_directories(here_.path() / "experiments");
  EXPECT_EQ(RecordResults(Folder(), root, "one", false).machines.size(), 2u);
  const std::string archive = FindRecording(root, "one");
  const auto why = [&](const json& machine, bool cpu, bool cuda) -> std::string {
    const TemporaryFolder fresh;
    const fs::path next = fresh.path() / "next";
    try {
      ResumeFrom(archive, next.string(), machine, cpu, cuda);
    } catch (const StoreError& problem) {
      EXPECT_FALSE(fs::exists(next));
      return problem.what();
    }
    EXPECT_TRUE(fs::exists(next / "cells" / (plan.cells[0].key + ".json")));
    return "";
  };
  // Another card of the kind; the processor beside a card does not matter.
  EXPECT_EQ(why(Machine("Xeon", "H200", "3"), true, true), "");
  EXPECT_EQ(why(Machine("Epyc", "H200", "3"), false, true), "");
  EXPECT_NE(why(Machine("Xeon", "H100", "3"), true, true).find("gpu.0.name: H100 | H200"),
            std::string::npos);
  EXPECT_NE(why(Machine("Xeon", "", "3"), true, true).find("gpu.0.name: (not told) | H200"),
            std::string::npos);
  EXPECT_EQ(why(Machine("Xeon", "", "3"), true, false), "");  // processor rows alone
  EXPECT_NE(why(Machine("Epyc", "H200", "3"), true, true).find("cpu.model: Epyc | Xeon"),
            std::string::npos);
  json fewer = here, other = here, changed = here;
  fewer["cpu"]["threads_allowed"] = 2;
  other["git"]["commit"] = std::string(40, 'd');
  changed["git"]["dirty"] = true;
  EXPECT_NE(why(fewer, true, true).find("cpu.threads_allowed: 2 | 16"), std::string::npos);
  EXPECT_NE(why(other, false, true).find("git.commit: dddd"), std::string::npos);
  EXPECT_NE(why(changed, false, true).find("git.dirty: true | false"), std::string::npos);
}

TEST_F(Stretches, SamplesAreRecordedInSevenDigitsAndWholeNumbersInAll) {
  const Plan plan = PlanOf({Timed("a", "cpu", "cpu")});
  Save(plan.cells[0], Machine("Xeon", "", "1"),
       {0.123456789, 2.0 / 3e9, 98765.43219, 12345678901, std::nan("")});
  WriteMeta(plan, "paper", Folder());
  const std::string root = here_.path().string(), again = root + "/again";
  fs::create_directories(here_.path() / "experiments");
  RecordResults(Folder(), root, "one", false);
  const auto samples = [&](const std::string& recording) {
    const TemporaryFolder unpacked;
    const std::string folder = unpacked.path().string(), key = plan.cells[0].key;
    Unpack(FindRecording(root, recording), folder);
    EXPECT_EQ(ReadWhole(folder + "/cells/" + key + ".benchmark.json"), "as it was");
    const auto cell = LoadRecord(folder, key);
    return cell.value().outcome.metrics.at(0).samples;
  };
  const std::vector<double> kept = samples("one");
  ASSERT_EQ(kept.size(), 5u);
  EXPECT_EQ(std::vector(kept.begin(), kept.end() - 1),
            (std::vector{0.1234568, 6.666667e-10, 98765.43, 12345678901.0}));
  EXPECT_TRUE(std::isnan(kept.back()));
  Unpack(FindRecording(root, "one"), again);
  RecordResults(again, root, "two", false);
  EXPECT_EQ(ReadWhole(FindRecording(root, "one") + "/cells.tar.zst"),
            ReadWhole(FindRecording(root, "two") + "/cells.tar.zst"));
}

TEST_F(Stretches, TheRunOfARecordingIsOfAllItsCells) {
  Plan plan = PlanOf({Timed("a", "cpu", "cpu"), Timed("b", "cpu", "cpu"), Timed("c", "cuda", "")});
  plan.cells[2].not_run = "no device";
  Save(plan.cells[0], Machine("Xeon", "", "1"));
  Save(plan.cells[1], Machine("Xeon", "", "2"));
  WriteMeta(plan, "paper", Folder());
  WriteFileAtomically(
      Folder() + "/run.json",
      R"({"profile": "paper", "counts": {"ok": 1}, "seconds": 7, "remarks": {"f/t": "!"},
                          "expected_seconds": 5, "command": "build/retable run f/t --cell 00"})");
  fs::create_directories(here_.path() / "experiments");
  RecordResults(Folder(), here_.path().string(), "one", false);
  const json run =
      json::parse(ReadWhole((here_.path() / "results/recorded/one/run.json").string()));
  const json counts = {{"not_run", 1}, {"ok", 2}};
  EXPECT_EQ(run.at("counts"), counts);
  EXPECT_EQ(run.at("reasons"), json({{"not_run", {{"no device", 1}}}}));
  EXPECT_EQ(run.at("command"), "build/retable run f/t --profile paper");
  EXPECT_EQ(run.at("started"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(run.at("seconds"), 0);
  EXPECT_EQ(run.at("timed"), 2);
  EXPECT_EQ(run.at("remarks").at("f/t"), "!");
  EXPECT_FALSE(run.contains("expected_seconds"));
}

// As of a program that packed no tables, or made them otherwise.
TEST_F(Stretches, TheTablesInAnArchiveAreMadeAgainToo) {
  const Plan plan = PlanOf({Timed("a", "cpu", "cpu")});
  Save(plan.cells[0], Machine("Xeon", "", "1"));
  WriteMeta(plan, "paper", Folder());
  const std::string root = here_.path().string();
  fs::create_directories(here_.path() / "experiments");
  RecordResults(Folder(), root, "one", false);
  const std::string folder = FindRecording(root, "one"), path = folder + "/cells.tar.zst";
  const std::string archive = ReadWhole(path);
  EXPECT_TRUE(CheckRecording(folder, root, false).differences.empty());
  Files files;
  ReadArchive(archive, [&](const auto& name, auto content) { files[name] = content; });
  EXPECT_EQ(files.count("f/t.tidy.csv"), 1u);
  for (const bool there : {true, false}) {
    files["f/t.tidy.csv"] = "by hand\n";
    if (!there) files.erase("f/t.tidy.csv");
    WriteFileAtomically(path, PackArchive(files));
    const auto differences = CheckRecording(folder, root, false).differences;
    ASSERT_EQ(differences.size(), 1u);
    if (there) {
      EXPECT_TRUE(
          differences[0].starts_with("cells.tar.zst: f/t.tidy.csv differs\n  recorded:   by hand\n"
                                     "  recomputed: experiment,algorithm,"))
          << differences[0];
    } else {
      EXPECT_EQ(differences[0], "cells.tar.zst: f/t.tidy.csv is missing");
    }
    EXPECT_TRUE(CheckRecording(folder, root, true).differences.empty());
    EXPECT_EQ(ReadWhole(path), archive);
  }
}

// Tables have no single samples: violins and histograms need them, of their own metric.
TEST_F(Stretches, AReadableRecordingHasTheSamplesThatItsFigureShows) {
  const std::string root = here_.path().string();
  fs::create_directories(here_.path() / "experiments");
  Plan plan = PlanOf({Timed("a", "cpu", "cpu")});
  Save(plan.cells[0], Machine("Xeon", "", "1"));
  const auto lines = [&](const std::string& kind, const std::string& metric) {
    plan.experiment.figure = {{"kind", kind}, {"metric", metric}};
    WriteMeta(plan, "paper", Folder());
    RecordResults(Folder(), root, "one", true);
    const std::string samples = ReadOrEmpty(ReadableRecordings(root) + "/one/f/t.samples.csv");
    return std::count(samples.begin(), samples.end(), '\n');
  };
  EXPECT_EQ(lines("violin", "time"), 1 + 3);
  EXPECT_EQ(lines("line", "time"), 0);
  EXPECT_EQ(lines("histogram", "time"), 1 + 3);
  EXPECT_EQ(lines("histogram", "rate"), 0);
}

}  // namespace
}  // namespace retable::harness

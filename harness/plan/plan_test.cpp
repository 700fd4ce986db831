#include "harness/plan/plan.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/cli/run_arguments.hpp"
#include "harness/config/experiment.hpp"
#include "harness/config/schema.hpp"
#include "harness/config/toml_tree.hpp"
#include "harness/plan/cell_json.hpp"
#include "harness/run/correctness_gate.hpp"
#include "harness/run/progress.hpp"

namespace retable::harness {
namespace {

CellConfig Example() {
  CellConfig cell;
  cell.experiment = "quantiles/table2";
  cell.family = "quantiles";
  cell.protocol = "quantiles/niae";
  cell.algorithm = "ME-central";
  cell.label = "ME-central (l=5)";
  cell.device = "cpu";
  cell.dataset = "iris";
  cell.dataset_sha256 = "abc";
  cell.parameters = {{"l", std::int64_t{5}}, {"route", std::string("root")}};
  cell.axes = {{"n", std::int64_t{1000}}};
  cell.settings = {{"x", 0.25}, {"on", true}};
  cell.seed = 3;
  cell.repeats = 2;
  return cell;
}

TEST(CellKey, DependsOnWhatDecidesTheNumbersAndOnNothingElse) {
  const CellConfig cell = Example();
  const std::string key = CellKey(cell, "cpu");
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(CellKey(cell, "cpu"), key);
  EXPECT_NE(CellKey(cell, "NVIDIA H200 sm_90"), key);

  CellConfig other = cell;
  other.experiment = "quantiles/fig6";
  other.label = "renamed";
  other.dataset = "iris under another name";  // same bytes
  EXPECT_EQ(CellKey(other, "cpu"), key);

  const auto changed = [&](auto change) {
    CellConfig c = cell;
    change(c);
    return CellKey(c, "cpu") != key;
  };
  EXPECT_TRUE(changed([](CellConfig& c) { c.parameters["l"] = std::int64_t{6}; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.axes["n"] = std::int64_t{1001}; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.settings["x"] = 0.5; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.dataset_sha256 = "abd"; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.seed = 4; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.repeats = 3; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.algorithm = "ME-naive"; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.protocol = "quantiles/stream"; }));
  EXPECT_TRUE(changed([](CellConfig& c) { c.device = "cuda"; }));
}

TEST(CellKey, DependsOnTheFilesThatACommandNames) {
  const std::string name = "named " + std::to_string(getpid()) + ".py";
  for (const auto& word : {"\"" + name + "\"", "--of='" + name + "' './" + name + "'",
                           "\"" + std::filesystem::absolute(name).string() + "\""}) {
    CellConfig cell = Example();
    cell.parameters["command"] = "python3 " + word;
    const auto key_with = [&](const char* content) {
      std::ofstream(name) << content;
      return CellKey(cell, "cpu");
    };
    const std::string before = key_with("1");
    EXPECT_NE(key_with("2"), before) << word;
    EXPECT_EQ(key_with("1"), before) << word;
    std::filesystem::remove(name);
    EXPECT_NE(CellKey(cell, "cpu"), before) << word;
  }
}

TEST(CellJson, KeepsEveryFieldAndEveryKindOfNumber) {
  const CellConfig cell = Example();
  EXPECT_EQ(ToJson(CellFromJson(ToJson(cell))), ToJson(cell));
  Outcome outcome;
  const double inf = std::numeric_limits<double>::infinity();
  outcome.metrics = {{"m", "s", {0.1, std::nan(""), inf, -inf, 5e-324}, {"a", "b"}, {"x"}}};
  outcome.curves = {{"density", {0, 1}, {2, std::nan("")}}};
  outcome.facts = {{"threads", std::int64_t{2}}, {"ratio", 0.5}, {"ok", true}};
  outcome.verification = {true, false, "gap", 0.25, 0.125, "oracle"};
  outcome.attachments = {{"raw.json", "{}"}};
  const auto text = ToJson(outcome).dump();
  const Outcome back = OutcomeFromJson(nlohmann::json::parse(text));
  EXPECT_EQ(ToJson(back).dump(), text);
  EXPECT_EQ(back.metrics[0].samples[0], 0.1);
  EXPECT_TRUE(std::isnan(back.metrics[0].samples[1]));
  EXPECT_EQ(back.metrics[0].samples[4], 5e-324);
}

TEST(ExpandTemplate, PutsInNamesParametersAndAxes) {
  EXPECT_EQ(ExpandTemplate("{name} (l={l}) n={n} {dataset} {device}", Example()),
            "ME-central (l=5) n=1000 iris cpu");
  EXPECT_EQ(ExpandTemplate("no braces", Example()), "no braces");
  EXPECT_EQ(ExpandTemplate("open {", Example()), "open {");
  try {
    ExpandTemplate("{lable}", Example(), {"table2.toml", 12, 5});
    ADD_FAILURE() << "took a name that nothing has";
  } catch (const ConfigError& problem) {
    const std::string line = problem.lines().at(0);
    EXPECT_TRUE(line.starts_with("table2.toml:12:5: {lable} is neither")) << line;
    EXPECT_NE(line.find("did you mean \"label\""), std::string::npos) << line;
  }
}

TEST(Gate, AnUnverifiedOrEmptyResultIsNotOk) {
  Outcome outcome;
  outcome.metrics = {{"m", "1", {1}, {}, {}}};
  EXPECT_EQ(Gate(outcome).status, "ok");
  outcome.verification = {true, true, "gap", std::nan(""), 1, "oracle"};
  EXPECT_EQ(Gate(outcome).status, "wrong_result");
  outcome.verification = {true, false, "gap", 0, 1, "oracle"};
  EXPECT_EQ(Gate(outcome).status, "wrong_result");
  outcome.verification = {};
  outcome.metrics = {{"m", "1", {}, {}, {}}};
  EXPECT_EQ(Gate(outcome).status, "failed");
}

TEST(ParseDuration, KnowsSecondsMinutesHours) {
  EXPECT_EQ(ParseDuration("--budget", "90"), 90);
  EXPECT_EQ(ParseDuration("--budget", "90s"), 90);
  EXPECT_EQ(ParseDuration("--budget", "1.5m"), 90);
  EXPECT_EQ(ParseDuration("--budget", "2h"), 7200);
  EXPECT_THROW(ParseDuration("--budget", "inf"), ConfigError);
  EXPECT_THROW(ParseDuration("--budget", "1e300h"), ConfigError);
  for (const char* wrong : {"", "m", "-3s", "0", "3d", "nan"}) {
    EXPECT_THROW(ParseDuration("--budget", wrong), ConfigError) << wrong;
  }
}

TEST(DurationText, IsShort) {
  EXPECT_EQ(DurationText(0.31), "0.3 s");
  EXPECT_EQ(DurationText(42), "42 s");
  EXPECT_EQ(DurationText(185), "3 min 05 s");
  EXPECT_EQ(DurationText(7800), "2 h 10 min");
}

TEST(OneLine, FitsATerminalAndCutsNoLetter) {
  EXPECT_EQ(OneLine("3/4  x"), "3/4  x");
  EXPECT_LE(OneLine(std::string(300, 'x')).size(), 100u);
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "\u00e9";
  for (const std::string& text : {accents, "a" + accents}) {
    const std::string cut = OneLine(text);
    EXPECT_LE(cut.size(), 100u);
    EXPECT_EQ(cut.size() % 2, text.size() % 2) << "half a letter is left";
    EXPECT_EQ(text.compare(0, cut.size(), cut), 0);
  }
}

TEST(Toml, KeepsOrderTypesAndPositions) {
  const TomlTree root = ParseToml("b = 1\na = [1.5, true, \"x\"]\n[t]\nk = 'v'\n", "f.toml");
  ASSERT_EQ(root.table().size(), 3u);
  EXPECT_EQ(root.table()[0].key, "b");
  EXPECT_EQ(root.find("a")->where.text(), "f.toml:2:1");
  EXPECT_EQ(root.find("a")->text(), "[1.5, true, \"x\"]");
  EXPECT_EQ(ValueText(root.find("t")->find("k")->scalar()), "v");
  EXPECT_EQ(root.find("nothing"), nullptr);
  EXPECT_THROW(root.find("a")->scalar(), ConfigError);
  EXPECT_THROW(ParseToml("d = 1979-05-27\n", "f.toml"), ConfigError);
  try {
    ParseToml("x = \n", "f.toml");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("f.toml:1:", 0), 0u) << error.what();
  }
}

TEST(Fields, EveryFieldIsDocumentedAndItsParentDeclared) {
  for (const SchemaField& field : ExperimentSchema()) {
    EXPECT_FALSE(field.help.empty()) << field.path;
    const auto dot = field.path.rfind('.');
    if (dot == std::string::npos) continue;
    std::string parent = field.path.substr(0, dot);
    if (parent.ends_with("[]")) parent.resize(parent.size() - 2);
    bool found = false;
    for (const SchemaField& other : ExperimentSchema()) found = found || other.path == parent;
    EXPECT_TRUE(found) << field.path;
  }
}

}  // namespace
}  // namespace retable::harness

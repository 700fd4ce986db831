// What XGBoost's own versions write and answer: tables made by testing/xgboost/write_table.py.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "algorithms/treeshap/model/json.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "base/csv/number.hpp"

namespace retable::treeshap {
namespace {

using detail::Json;
namespace fs = std::filesystem;

const fs::path kFolder = fs::path(RETABLE_SOURCE_DIR) / "algorithms/treeshap/testing/xgboost";

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

// One line of base_scores.csv.
struct BaseScore {
  explicit BaseScore(const std::string& line) {
    const auto fields = Split(line, ',');
    versions = Split(fields.at(0), ' ');
    objective = fields.at(1);
    classes = fields.at(2);
    targets = fields.at(3);
    given = fields.at(4);
    stored = fields.at(5);
    for (char& c : stored) c = c == ' ' ? ',' : c;
    for (const auto& margin : Split(fields.at(6), ' '))
      margins.push_back(ParseNumber(margin).value());
  }
  // A model without trees, as this version would write it.
  Json Model(const std::string& version) const {
    Json numbers = Json::array();
    for (const auto& number : Split(version, '.')) numbers.push_back(std::stoi(number));
    return {{"version", numbers},
            {"learner",
             {{"learner_model_param",
               {{"base_score", stored},
                {"num_class", classes},
                {"num_feature", "3"},
                {"num_target", targets}}},
              {"objective", {{"name", objective}}},
              {"gradient_booster",
               {{"name", "gbtree"},
                {"model", {{"trees", Json::array()}, {"tree_info", Json::array()}}}}}}}};
  }

  std::vector<std::string> versions;
  std::string objective, classes, targets, given, stored;
  std::vector<double> margins;
};

TEST(XgboostBaseScore, IsTheMarginOfItsVersion) {
  std::ifstream file(kFolder / "base_scores.csv");
  std::string line;
  std::getline(file, line);
  std::set<std::string> versions, objectives;
  while (std::getline(file, line)) {
    const BaseScore row(line);
    objectives.insert(row.objective);
    for (const std::string& version : row.versions) {
      versions.insert(version);
      const Json json = row.Model(version);
      const auto ubj = Json::to_ubjson(json);
      const std::string_view bytes(reinterpret_cast<const char*>(ubj.data()), ubj.size());
      for (const TreeEnsemble& model : {ReadModel(json.dump()), ReadModel(bytes)}) {
        ASSERT_EQ(model.base_score.size(), row.margins.size()) << version << " " << line;
        for (std::size_t g = 0; g < row.margins.size(); ++g) {
          EXPECT_NEAR(model.base_score[g], row.margins[g], 1e-6 * (1 + std::abs(row.margins[g])))
              << version << " " << line;
        }
      }
    }
  }
  EXPECT_GE(versions.size(), 6u);
  EXPECT_GE(objectives.size(), 20u);
}

TEST(XgboostBaseScore, OfAnUnknownObjectiveIsRefused) {
  Json json = BaseScore("3.2.0,reg:squarederror,0,1,,5E-1,0.5").Model("3.2.0");
  EXPECT_EQ(ReadModel(json.dump()).base_score[0], 0.5);
  json["learner"]["objective"]["name"] = "reg:new";
  try {
    ReadModel(json.dump());
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("reg:new"), std::string::npos);
  }
}

std::string FromHex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::vector<double> Flat(const Json& lists) {
  std::vector<double> numbers;
  for (const Json& list : lists) {
    for (const Json& number : list) {
      numbers.push_back(number.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                         : number.get<double>());
    }
  }
  return numbers;
}

double Error(const TreeEnsemble& model, const Json& entry, const char* values) {
  const std::vector<float> rows = EncodeRows(model, Flat(entry.at("rows")));
  return RelativeError(BruteForceValues(model, Block(model, rows)), Flat(entry.at(values)));
}

TEST(XgboostModels, OfEveryVersionHaveTheirTrainersValues) {
  int models = 0, stopped_early = 0;
  for (const auto& file : fs::directory_iterator(kFolder)) {
    if (file.path().extension() != ".json") continue;
    std::ifstream in(file.path());
    for (const Json& entry : Json::parse(in)) {
      SCOPED_TRACE(file.path().filename().string() + ": " + entry.at("name").get<std::string>());
      const std::string bytes =
          entry.contains("ubj") ? FromHex(entry.at("ubj")) : entry.at("json").dump();
      std::string said;
      const auto say = [&](const std::string& what) { said += what; };
      EXPECT_LT(Error(ReadModel(bytes, {.say = say}), entry, "values"), 1e-6);
      const bool early = entry.at("values") != entry.at("values_of_all_trees");
      EXPECT_EQ(said.find("--all-trees") != std::string::npos, early) << said;
      EXPECT_LT(Error(ReadModel(bytes, {.all_trees = true}), entry, "values_of_all_trees"), 1e-6);
      ++models;
      stopped_early += early ? 1 : 0;
    }
  }
  EXPECT_GE(models, 14);
  EXPECT_GE(stopped_early, 2);
}

// One split at 0.5, of both formats.
struct OneSplit {
  Json model = BaseScore("3.2.0,reg:squarederror,0,1,,5E-1,0.5").Model("3.2.0");
  Json& booster() { return model["learner"]["gradient_booster"]["model"]; }
  Json& tree() { return booster()["trees"][0]; }

  OneSplit() {
    booster() = {{"tree_info", {0}},
                 {"trees",
                  {{{"left_children", {1, -1, -1}},
                    {"right_children", {2, -1, -1}},
                    {"split_indices", {0, 0, 0}},
                    {"split_conditions", {0.5, 1, 2}},
                    {"default_left", {1, 0, 0}},
                    {"sum_hessian", {4, 2, 2}},
                    {"base_weights", {0, 0, 0}},
                    {"tree_param", {{"size_leaf_vector", "1"}}}}}}};
  }
  bool Reads() const {
    const auto ubj = Json::to_ubjson(model, true, true);
    int refused = 0;
    for (const std::string& bytes : {model.dump(), std::string(ubj.begin(), ubj.end())}) {
      try {
        const TreeEnsemble read = ReadModel(bytes);
        EXPECT_EQ(read.trees.at(0).nodes.at(0).threshold, 0.5);
        EXPECT_TRUE(read.trees.at(0).nodes.at(0).default_left);
        EXPECT_EQ(read.trees.at(0).nodes.at(2).value, 2);
      } catch (const std::invalid_argument&) {
        ++refused;
      }
    }
    EXPECT_NE(refused, 1) << "the formats differ: " << model;
    return refused == 0;
  }
};

TEST(XgboostModels, ListsOfTreesMayBeTextsAndBooleans) {
  OneSplit stump;
  EXPECT_TRUE(stump.Reads());
  stump.tree()["split_conditions"] = {"5E-1", "1", "2"};
  stump.tree()["default_left"] = {true, false, false};
  stump.tree()["later"] = {{"lists", {{1, 2}, {{"deep", {3}}}}}};
  stump.tree()["base_weights"] = Json::array();
  stump.model["trees"] = {1, 2};
  EXPECT_TRUE(stump.Reads());
}

TEST(XgboostModels, WhatIsNoTreeIsRefused) {
  const Json damaged[] = {nullptr, "x", {1}, {{"a", 1}}};
  for (const char* name : {"left_children", "split_conditions", "sum_hessian"}) {
    for (const Json& value : damaged) {
      OneSplit stump;
      stump.tree()[name][1] = value;
      EXPECT_FALSE(stump.Reads()) << name << " " << value;
    }
    OneSplit short_list, no_list;
    short_list.tree()[name].erase(2);
    EXPECT_FALSE(short_list.Reads()) << name;
    no_list.tree().erase(name);
    EXPECT_FALSE(no_list.Reads()) << name;
  }
  for (const Json& tree : {Json(1), Json("x"), Json({{{1, 2}}}), Json(nullptr)}) {
    OneSplit stump;
    stump.tree() = tree;
    EXPECT_FALSE(stump.Reads()) << tree;
    stump.booster()["trees"] = tree;
    EXPECT_FALSE(stump.Reads()) << tree;
  }
}

// The text with `more` before its only `place`.
std::string Inserted(std::string text, const std::string& place, const std::string& more) {
  EXPECT_EQ(text.find(place), text.rfind(place)) << place;
  return text.insert(text.find(place), more);
}

TEST(XgboostModels, OfTwoValuesOfOneNameTheLastHolds) {
  const std::string text = OneSplit().model.dump();
  const auto threshold = [](const std::string& json) {
    return ReadModel(json).trees.at(0).nodes.at(0).threshold;
  };
  EXPECT_EQ(threshold(Inserted(text, R"("split_conditions")", R"("split_conditions":[7,7],)")),
            0.5);
  EXPECT_EQ(threshold(Inserted(text, R"("split_indices")", R"("split_conditions":[7,1,2],)")), 7);
  EXPECT_EQ(threshold(Inserted(text, R"("tree_info")", R"("trees":[{"left_children":[0]}],)")),
            0.5);
  for (const std::string& refused :
       {Inserted(text, R"("split_indices")", R"("split_conditions":7,)"),
        Inserted(text, R"("sum_hessian")", R"("left_children":null,)"),
        Inserted(text, R"(},"name":"gbtree")", R"(,"trees":[1])")}) {
    EXPECT_THROW(ReadModel(refused), std::invalid_argument) << refused;
  }
}

TEST(XgboostModels, TreesElsewhereAreNone) {
  OneSplit stump;
  stump.model["a"] = {{"trees", {stump.tree()}}};
  stump.model["z"] = stump.model["a"];
  stump.model["a"]["trees"][0]["split_conditions"][0] = 7;
  EXPECT_TRUE(stump.Reads());
  stump.tree() = nullptr;
  EXPECT_FALSE(stump.Reads());
}

TEST(XgboostModels, ManyCountsThatTheFileDoesNotHoldAreRefused) {
  std::string bytes = "{i\x05trees[{";
  for (int i = 0; i < 100; ++i) {
    bytes.append("i\x0dleft_children[$T#L\0\0\0\0\0\0\x08\0", 28);  // 2048 without a byte each
  }
  try {
    ReadXgboostUbj(bytes + "}]}");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("counts are larger than the file"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace retable::treeshap

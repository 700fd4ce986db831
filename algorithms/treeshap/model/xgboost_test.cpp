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

}  // namespace
}  // namespace retable::treeshap

#include "algorithms/extratrees/model/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <stdexcept>
#include <utility>

namespace retable::extratrees {
namespace {

using Json = nlohmann::json;

Json NodeValue(const Forest& forest, const Tree& tree, const TreeNode& node) {
  Json value = Json::array();
  for (std::uint32_t c = 0; c < forest.classes; ++c) {
    value.push_back(node.feature < 0 ? LeafValue(forest, tree, node, c) : 0.0);
  }
  return value;
}

Json TreeJson(const Forest& forest, const Tree& tree) {
  Json json;
  for (const char* name : {"feature", "threshold", "left", "right", "default_left", "cover",
                           "samples", "impurity", "value"}) {
    json[name] = Json::array();
  }
  for (const TreeNode& node : tree.nodes) {
    json["feature"].push_back(node.feature);
    json["threshold"].push_back(node.threshold);
    json["left"].push_back(node.left);
    json["right"].push_back(node.right);
    json["default_left"].push_back(node.missing_left ? 1 : 0);
    json["cover"].push_back(node.weight);
    json["samples"].push_back(node.samples);
    json["impurity"].push_back(node.impurity);
    json["value"].push_back(NodeValue(forest, tree, node));
  }
  return json;
}

void Require(bool ok, const std::string& what) {
  if (!ok) throw std::invalid_argument("the forest's JSON: " + what);
}

//! A number without a fraction that T holds.
template <class T>
T Whole(const Json& json) {
  const bool fits = json.is_number_unsigned()  ? std::in_range<T>(json.get<std::uint64_t>())
                    : json.is_number_integer() ? std::in_range<T>(json.get<std::int64_t>())
                                               : false;
  if (!fits) Require(false, json.dump() + " is no whole number in range");
  return json.get<T>();
}

//! A class's fraction is at most 1.
double LargestValue(const Forest& forest) {
  double largest = forest.regression ? 0 : 1;
  for (const Tree& tree : forest.trees) {
    for (const double value : tree.leaf_values) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

//! Class of a pure leaf, or a new row of leaf_values.
std::uint32_t ReadLeaf(const Json& json, const Forest& forest, Tree& tree) {
  Require(json.size() == forest.classes, "a leaf's value does not have one number per class");
  const std::size_t row = tree.leaf_values.size() / forest.classes;
  double sum = 0;
  for (std::uint32_t c = 0; c < forest.classes; ++c) {
    const double value = json[c].get<double>();
    tree.leaf_values.push_back(value);
    sum += value;
    if (forest.regression) continue;
    Require(value >= 0 && value <= 1, "a leaf's value is not a fraction");
    if (value < 1) continue;
    tree.leaf_values.resize(row * forest.classes);
    return c;
  }
  Require(forest.regression || std::abs(sum - 1) < 1e-9, "a leaf's fractions do not add up to 1");
  return kMixed | static_cast<std::uint32_t>(row);
}

Tree ReadTree(const Json& json, const Forest& forest) {
  Tree tree;
  const std::size_t n = json.at("feature").size();
  Require(n > 0, "a tree has no node");
  for (const char* name :
       {"threshold", "left", "right", "default_left", "cover", "samples", "impurity", "value"}) {
    Require(json.at(name).size() == n, std::string("\"") + name + "\" has not one entry a node");
  }
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode node;
    node.feature = Whole<std::int32_t>(json["feature"][i]);
    node.samples = Whole<std::uint32_t>(json["samples"][i]);
    node.weight = json["cover"][i].get<double>();
    node.impurity = json["impurity"][i].get<double>();
    Require(node.samples > 0 && node.weight > 0, "a node without samples");
    if (node.feature < 0) {
      node.value = ReadLeaf(json["value"][i], forest, tree);
    } else {
      node.threshold = json["threshold"][i].get<double>();
      node.left = Whole<std::int32_t>(json["left"][i]);
      node.right = Whole<std::int32_t>(json["right"][i]);
      node.missing_left = Whole<int>(json["default_left"][i]) != 0;
      const auto at = static_cast<std::int64_t>(i);
      Require(static_cast<std::size_t>(node.feature) < forest.columns,
              "a feature that is not there");
      // Children follow their parent: every traversal ends.
      Require(node.left > at && node.right > at && node.left < static_cast<std::int64_t>(n) &&
                  node.right < static_cast<std::int64_t>(n),
              "a child out of place");
    }
    tree.nodes.push_back(node);
  }
  return tree;
}

//! @throws std::invalid_argument where names do not fit the forest, or one occurs twice.
void CheckNames(const Forest& forest, const ForestNames& names) {
  const auto differ = [](const std::vector<std::string>& texts) {
    return std::set<std::string_view>(texts.begin(), texts.end()).size() == texts.size();
  };
  Require(names.classes.empty() || names.classes.size() == forest.classes,
          "\"class_names\" has not one name a class");
  Require(names.features.empty() || names.features.size() == forest.columns,
          "\"feature_names\" has not one name a feature");
  std::vector<std::string> features;
  for (const TrainedFeature& feature : names.features) features.push_back(feature.name);
  Require(differ(names.classes), "a class's name occurs twice");
  Require(differ(features), "a feature's name occurs twice");
}

void WriteNames(const ForestNames& names, std::ostream& out) {
  out << ",\"class_names\":" << Json(names.classes).dump();
  if (names.features.empty()) return;
  Json features = Json::array(), kinds = Json::array(), levels = Json::array();
  for (const TrainedFeature& feature : names.features) {
    features.push_back(feature.name);
    kinds.push_back(feature.kind);
    levels.push_back(feature.levels);
  }
  out << ",\"feature_names\":" << features.dump() << ",\"feature_kinds\":" << kinds.dump()
      << ",\"feature_levels\":" << levels.dump();
}

ForestNames ReadNames(const Json& json) {
  using Texts = std::vector<std::string>;
  ForestNames names;
  names.classes = json.value("class_names", Texts());
  const auto features = json.value("feature_names", Texts());
  const auto kinds = json.value("feature_kinds", Texts(features.size(), "numeric"));
  const auto levels = json.value("feature_levels", std::vector<Texts>(features.size()));
  Require(kinds.size() == features.size() && levels.size() == features.size(),
          "\"feature_kinds\" or \"feature_levels\" has not one entry a feature's name");
  for (std::size_t i = 0; i < features.size(); ++i) {
    names.features.push_back({features[i], kinds[i], levels[i]});
  }
  return names;
}

}  // namespace

void WriteForestJson(const Forest& forest, std::ostream& out, const ForestNames& names) {
  CheckNames(forest, names);
  out << R"({"format":"retable-forest","version":1,"features":)" << forest.columns;
  WriteNames(names, out);
  out << ",\"groups\":" << forest.classes
      << ",\"regression\":" << (forest.regression ? "true" : "false")
      << ",\"value_bits\":" << forest.value_bits << ",\"split\":\"<=\",\"scale\":"
      << Json(1.0 / static_cast<double>(forest.trees.size())).dump() << ",\"trees\":[";
  // Tree by tree, so that no more than one is in memory as JSON.
  for (std::size_t t = 0; t < forest.trees.size(); ++t) {
    out << (t == 0 ? "\n" : ",\n") << TreeJson(forest, forest.trees[t]).dump();
  }
  out << "\n]}\n";
}

Forest ReadForestJson(std::string_view text, ForestNames* names) {
  try {
    const Json json = Json::parse(text);
    if (json.is_object() && json.contains("learner")) {
      throw std::invalid_argument(
          "a model in XGBoost's format, for XGBoost and `retable shap`; for `forest predict`, fit "
          "--format retable");
    }
    Require(json.at("format") == "retable-forest", "\"format\" is not \"retable-forest\"");
    Require(json.at("version") == 1, "this program reads version 1");
    Require(json.at("split") == "<=", "\"split\" is not \"<=\"");
    Forest forest;
    forest.columns = Whole<std::size_t>(json.at("features"));
    forest.classes = Whole<std::uint32_t>(json.at("groups"));
    Require(forest.classes >= 1 && forest.classes <= 65535, "\"groups\" is out of range");
    forest.regression = json.at("regression").get<bool>();
    Require(!forest.regression || forest.classes == 1, "a regression forest has one group");
    forest.value_bits = Whole<int>(json.at("value_bits"));
    Require(std::abs(forest.value_bits) <= 1000, "\"value_bits\" is out of range");
    Require(!json.at("trees").empty(), "no trees");
    const ForestNames called = ReadNames(json);
    CheckNames(forest, called);
    if (names != nullptr) *names = called;
    for (const Json& tree : json.at("trees")) {
      forest.trees.push_back(ReadTree(tree, forest));
    }
    // Else the sum over the trees runs over.
    Require(
        forest.value_bits <= ValueBits(LargestValue(forest), static_cast<int>(forest.trees.size())),
        "\"value_bits\" is too large for the leaves' values");
    return forest;
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("the forest's JSON is damaged: ") + error.what());
  }
}

}  // namespace retable::extratrees

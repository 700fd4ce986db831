#include "algorithms/extratrees/model/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algorithms/common/require.hpp"
#include "base/parallel.hpp"

namespace retable::extratrees {
namespace {

using Json = nlohmann::json;

//! The shortest text that reads back to the same number; null for what JSON has no number for.
void AppendNumber(std::string& out, double value) {
  std::array<char, 32> text{};
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  const std::string_view number(text.data(), static_cast<std::size_t>(end - text.data()));
  out += std::isfinite(value) ? number : "null";
  if (std::isfinite(value) && number.find_first_of(".e") == std::string_view::npos) out += ".0";
}

template <std::integral Integer>
void AppendNumber(std::string& out, Integer value) {
  out += std::to_string(value);
}

//! "name":[...], an entry a node.
template <class Number>
void AppendList(std::string& out, const char* name, const Tree& tree, Number TreeNode::*entry) {
  out += out.empty() ? "{\"" : ",\"";
  out.append(name).append("\":[");
  for (const TreeNode& node : tree.nodes) {
    if (&node != tree.nodes.data()) out += ',';
    AppendNumber(out, node.*entry);
  }
  out += ']';
}

std::string TreeJson(const Forest& forest, const Tree& tree) {
  std::string out;
  AppendList(out, "cover", tree, &TreeNode::weight);
  AppendList(out, "default_left", tree, &TreeNode::missing_left);
  AppendList(out, "feature", tree, &TreeNode::feature);
  AppendList(out, "impurity", tree, &TreeNode::impurity);
  AppendList(out, "left", tree, &TreeNode::left);
  AppendList(out, "right", tree, &TreeNode::right);
  AppendList(out, "samples", tree, &TreeNode::samples);
  AppendList(out, "threshold", tree, &TreeNode::threshold);
  out += ",\"value\":";
  for (const TreeNode& node : tree.nodes) {
    out += &node == tree.nodes.data() ? "[" : ",";
    for (std::uint32_t c = 0; c < forest.classes; ++c) {
      out += c == 0 ? '[' : ',';
      AppendNumber(out, node.feature < 0 ? tree.LeafValue(node, c, forest.classes) : 0.0);
    }
    out += ']';
  }
  return out + "]}";
}

void RequireJson(bool ok, std::string_view what) {
  Require(ok, "the forest's JSON: ", what);
}

//! A number without a fraction that T holds.
template <class T>
T Whole(const Json& json) {
  const bool fits = json.is_number_unsigned()  ? std::in_range<T>(json.get<std::uint64_t>())
                    : json.is_number_integer() ? std::in_range<T>(json.get<std::int64_t>())
                                               : false;
  if (!fits) RequireJson(false, json.dump() + " is no whole number in range");
  return json.get<T>();
}

//! Class of a pure leaf, or a new row of leaf_values.
std::uint32_t ReadLeaf(const Json& json, const Forest& forest, Tree& tree) {
  RequireJson(json.size() == forest.classes, "a leaf's value does not have one number per class");
  const std::size_t row = tree.leaf_values.size() / forest.classes;
  double sum = 0;
  for (std::uint32_t c = 0; c < forest.classes; ++c) {
    const double value = json[c].get<double>();
    tree.leaf_values.push_back(value);
    sum += value;
    if (forest.regression) continue;
    RequireJson(value >= 0 && value <= 1, "a leaf's value is not a fraction");
    if (value < 1) continue;
    tree.leaf_values.resize(row * forest.classes);
    return c;
  }
  RequireJson(forest.regression || std::abs(sum - 1) < 1e-9,
              "a leaf's fractions do not add up to 1");
  return kMixed | static_cast<std::uint32_t>(row);
}

Tree ReadTree(const Json& json, const Forest& forest) {
  Tree tree;
  const std::size_t n = json.at("feature").size();
  for (const char* name :
       {"threshold", "left", "right", "default_left", "cover", "samples", "impurity", "value"}) {
    RequireJson(json.at(name).size() == n,
                std::string("\"") + name + "\" has not one entry a node");
  }
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode node;
    node.feature = Whole<std::int32_t>(json["feature"][i]);
    node.samples = Whole<std::uint32_t>(json["samples"][i]);
    node.weight = json["cover"][i].get<double>();
    node.impurity = json["impurity"][i].get<double>();
    RequireJson(node.samples > 0 && node.weight > 0, "a node without samples");
    if (node.feature < 0) {
      node.value = ReadLeaf(json["value"][i], forest, tree);
    } else {
      node.threshold = json["threshold"][i].get<double>();
      node.left = Whole<std::int32_t>(json["left"][i]);
      node.right = Whole<std::int32_t>(json["right"][i]);
      node.missing_left = Whole<int>(json["default_left"][i]) != 0;
    }
    tree.nodes.push_back(node);
  }
  CheckTree(tree, forest.columns, forest.classes, forest.regression);
  return tree;
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
  RequireJson(kinds.size() == features.size() && levels.size() == features.size(),
              "\"feature_kinds\" or \"feature_levels\" has not one entry a feature's name");
  for (std::size_t i = 0; i < features.size(); ++i) {
    names.features.push_back({features[i], kinds[i], levels[i]});
  }
  return names;
}

}  // namespace

void WriteForestJson(const Forest& forest, std::ostream& out, const ForestNames& names) {
  CheckNames(names, forest.classes, forest.columns);
  out << R"({"format":"retable-forest","version":1,"features":)" << forest.columns;
  WriteNames(names, out);
  out << ",\"groups\":" << forest.classes
      << ",\"regression\":" << (forest.regression ? "true" : "false")
      << ",\"value_bits\":" << forest.value_bits << ",\"split\":\"<=\",\"scale\":"
      << Json(1.0 / static_cast<double>(forest.trees.size())).dump() << ",\"trees\":[";
  // So many trees at a time, so that no more than these are in memory as JSON.
  constexpr std::size_t kTexts = 64;
  std::vector<std::string> texts(kTexts);
  for (std::size_t first = 0; first < forest.trees.size(); first += kTexts) {
    const std::size_t count = std::min(kTexts, forest.trees.size() - first);
    ParallelFor(count,
                [&](std::size_t k) { texts[k] = TreeJson(forest, forest.trees[first + k]); });
    for (std::size_t k = 0; k < count; ++k) {
      out << (first + k == 0 ? "\n" : ",\n") << texts[k];
    }
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
    RequireJson(json.at("format") == "retable-forest", "\"format\" is not \"retable-forest\"");
    RequireJson(json.at("version") == 1, "this program reads version 1");
    RequireJson(json.at("split") == "<=", "\"split\" is not \"<=\"");
    Forest forest;
    forest.columns = Whole<std::size_t>(json.at("features"));
    forest.classes = Whole<std::uint32_t>(json.at("groups"));
    RequireJson(forest.classes >= 1 && forest.classes <= 65535, "\"groups\" is out of range");
    forest.regression = json.at("regression").get<bool>();
    RequireJson(!forest.regression || forest.classes == 1, "a regression forest has one group");
    forest.value_bits = Whole<int>(json.at("value_bits"));
    RequireJson(!json.at("trees").empty(), "no trees");
    const ForestNames called = ReadNames(json);
    CheckNames(called, forest.classes, forest.columns);
    if (names != nullptr) *names = called;
    for (const Json& tree : json.at("trees")) {
      forest.trees.push_back(ReadTree(tree, forest));
    }
    CheckValueBits(forest);
    return forest;
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("the forest's JSON is damaged: ") + error.what());
  }
}

}  // namespace retable::extratrees

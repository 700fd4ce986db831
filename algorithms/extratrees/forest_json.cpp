#include "algorithms/extratrees/forest_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

namespace retable::extratrees {
namespace {

using Json = nlohmann::json;

Json NodeValue(const Forest& forest, const Tree& tree, const TreeNode& node) {
  Json value = Json::array();
  for (std::uint32_t c = 0; c < forest.classes; ++c) {
    double share = 0;
    if (node.feature < 0 && (node.value & kMixed) == 0) {
      share = node.value == c ? 1 : 0;
    } else if (node.feature < 0) {
      const std::size_t row = static_cast<std::size_t>(node.value & ~kMixed) * forest.classes;
      share = static_cast<double>(tree.leaf_counts[row + c]) / node.samples;
    }
    value.push_back(share);
  }
  return value;
}

Json TreeJson(const Forest& forest, const Tree& tree) {
  Json json{{"feature", Json::array()}, {"threshold", Json::array()}, {"left", Json::array()},
            {"right", Json::array()},   {"cover", Json::array()},     {"impurity", Json::array()},
            {"value", Json::array()}};
  for (const TreeNode& node : tree.nodes) {
    json["feature"].push_back(node.feature);
    json["threshold"].push_back(node.threshold);
    json["left"].push_back(node.left);
    json["right"].push_back(node.right);
    json["cover"].push_back(node.samples);
    json["impurity"].push_back(node.impurity);
    json["value"].push_back(NodeValue(forest, tree, node));
  }
  return json;
}

void Require(bool ok, const std::string& what) {
  if (!ok) throw std::invalid_argument("the forest's JSON: " + what);
}

//! Class of a pure leaf, or a new row of leaf_counts.
std::uint32_t ReadLeaf(const Json& value, std::uint32_t samples, std::uint32_t classes,
                       Tree& tree) {
  Require(value.size() == classes, "a leaf's value does not have one number per class");
  std::vector<std::uint32_t> counts;
  std::uint64_t sum = 0;
  for (std::uint32_t c = 0; c < classes; ++c) {
    const double share = value[c].get<double>();
    Require(share >= 0 && share <= 1, "a leaf's value is not a fraction");
    if (share == 1) return c;
    counts.push_back(static_cast<std::uint32_t>(std::lround(share * samples)));
    sum += counts.back();
  }
  Require(sum == samples, "a leaf's fractions do not add up to its cover");
  const auto row = static_cast<std::uint32_t>(tree.leaf_counts.size() / classes);
  tree.leaf_counts.insert(tree.leaf_counts.end(), counts.begin(), counts.end());
  return kMixed | row;
}

Tree ReadTree(const Json& json, std::size_t columns, std::uint32_t classes) {
  Tree tree;
  const std::size_t n = json.at("feature").size();
  Require(n > 0, "a tree has no node");
  for (const char* name : {"threshold", "left", "right", "cover", "impurity", "value"}) {
    Require(json.at(name).size() == n, std::string("\"") + name + "\" has not one entry a node");
  }
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode node;
    node.feature = json["feature"][i].get<std::int32_t>();
    node.samples = json["cover"][i].get<std::uint32_t>();
    node.impurity = json["impurity"][i].get<double>();
    Require(node.samples > 0, "a node without samples");
    if (node.feature < 0) {
      node.value = ReadLeaf(json["value"][i], node.samples, classes, tree);
    } else {
      node.threshold = json["threshold"][i].get<double>();
      node.left = json["left"][i].get<std::int32_t>();
      node.right = json["right"][i].get<std::int32_t>();
      const auto at = static_cast<std::int64_t>(i);
      Require(static_cast<std::size_t>(node.feature) < columns, "a feature that is not there");
      // Children behind their parent: a walk ends.
      Require(node.left > at && node.right > at && node.left < static_cast<std::int64_t>(n) &&
                  node.right < static_cast<std::int64_t>(n),
              "a child out of place");
    }
    tree.nodes.push_back(node);
  }
  return tree;
}

}  // namespace

void WriteForestJson(const Forest& forest, std::ostream& out,
                     const std::vector<std::string>& class_names) {
  out << R"({"format":"retable-forest","version":1,"features":)" << forest.columns
      << ",\"class_names\":" << Json(class_names).dump() << ",\"groups\":" << forest.classes
      << ",\"split\":\"<=\",\"scale\":"
      << Json(1.0 / static_cast<double>(forest.trees.size())).dump() << ",\"trees\":[";
  // Tree by tree, so that no more than one is in memory as JSON.
  for (std::size_t t = 0; t < forest.trees.size(); ++t) {
    out << (t == 0 ? "\n" : ",\n") << TreeJson(forest, forest.trees[t]).dump();
  }
  out << "\n]}\n";
}

Forest ReadForestJson(std::string_view text, std::vector<std::string>* class_names) {
  try {
    const Json json = Json::parse(text);
    Require(json.at("format") == "retable-forest", "\"format\" is not \"retable-forest\"");
    Require(json.at("version") == 1, "this program reads version 1");
    Require(json.at("split") == "<=", "\"split\" is not \"<=\"");
    Forest forest;
    forest.columns = json.at("features").get<std::size_t>();
    forest.classes = json.at("groups").get<std::uint32_t>();
    Require(forest.classes >= 1 && forest.classes <= 65535, "\"groups\" is out of range");
    Require(!json.at("trees").empty(), "no trees");
    if (class_names != nullptr && json.contains("class_names")) {
      *class_names = json["class_names"].get<std::vector<std::string>>();
    }
    for (const Json& tree : json.at("trees")) {
      forest.trees.push_back(ReadTree(tree, forest.columns, forest.classes));
    }
    return forest;
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("the forest's JSON is damaged: ") + error.what());
  }
}

}  // namespace retable::extratrees

#include "algorithms/extratrees/model/xgboost_export.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>

#include "algorithms/extratrees/splits/split_rules.hpp"
#include "base/csv/number.hpp"

namespace retable::extratrees {
namespace {

using Json = nlohmann::json;

//! x <= threshold as x < t, for floats x.
float StrictThreshold(double threshold) {
  return std::nextafter(LargestFloatUpTo(threshold), std::numeric_limits<float>::infinity());
}

//! Nodes level by level: the right child is the next after the left one, which XGBoost's predictors
//! take for granted.
std::vector<std::size_t> LevelOrder(const Tree& tree) {
  std::vector<std::size_t> order{0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TreeNode& node = tree.nodes[order[i]];
    if (node.feature < 0) continue;
    order.push_back(static_cast<std::size_t>(node.left));
    order.push_back(static_cast<std::size_t>(node.right));
  }
  return order;
}

//! The tree's arrays for one output.
Json TreeJson(const Forest& forest, const Tree& tree, std::uint32_t output, std::size_t id) {
  constexpr std::int64_t kNoParent = 2147483647;
  const double scale = 1.0 / static_cast<double>(forest.trees.size());
  const std::vector<std::size_t> order = LevelOrder(tree);
  const std::size_t n = order.size();
  std::int64_t next = 1;
  std::vector<float> conditions(n), weights(n), hessians(n), gains(n, 0.0f);
  std::vector<std::int64_t> lefts(n, -1), rights(n, -1), parents(n, kNoParent), features(n, 0);
  std::vector<int> defaults(n, 0), types(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const TreeNode& node = tree.nodes[order[i]];
    const bool leaf = node.feature < 0;
    const auto value =
        leaf ? static_cast<float>(scale * tree.LeafValue(node, output, forest.classes)) : 0.0f;
    conditions[i] = leaf ? value : StrictThreshold(node.threshold);
    weights[i] = value;
    hessians[i] = static_cast<float>(node.weight);
    if (leaf) continue;
    lefts[i] = next++;
    rights[i] = next++;
    features[i] = node.feature;
    defaults[i] = node.missing_left ? 1 : 0;
    parents[static_cast<std::size_t>(lefts[i])] = static_cast<std::int64_t>(i);
    parents[static_cast<std::size_t>(rights[i])] = static_cast<std::int64_t>(i);
  }
  const Json none = Json::array();
  return {{"base_weights", weights},
          {"categories", none},
          {"categories_nodes", none},
          {"categories_segments", none},
          {"categories_sizes", none},
          {"default_left", defaults},
          {"id", id},
          {"left_children", lefts},
          {"loss_changes", gains},
          {"parents", parents},
          {"right_children", rights},
          {"split_conditions", conditions},
          {"split_indices", features},
          {"split_type", types},
          {"sum_hessian", hessians},
          {"tree_param",
           {{"num_deleted", "0"},
            {"num_feature", std::to_string(forest.columns)},
            {"num_nodes", std::to_string(n)},
            {"size_leaf_vector", "1"}}}};
}

//! @param parts what is written of it; XGBoost adds them up again
void RequireFloat(double largest, double parts, const std::string& what) {
  const double most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::min();
  if (largest == 0 || (largest / parts >= least && largest <= 0.999 * most)) return;
  throw std::invalid_argument("XGBoost's format holds floats, 1.2e-38 to 3.4e38; the largest " +
                              what + " is " + FormatNumber(largest) +
                              (parts > 1 ? ", divided by the trees" : "") +
                              ": scale the targets or weights, or write another format");
}

//! Beyond a float's range leaves would be written as null, or all as 0.
void RequireFloats(const Forest& forest) {
  double leaf = 0, weight = 0;
  for (const Tree& tree : forest.trees) {
    for (const TreeNode& node : tree.nodes) weight = std::max(weight, node.weight);
    for (const double value : tree.leaf_values) leaf = std::max(leaf, std::abs(value));
  }
  RequireFloat(leaf, static_cast<double>(forest.trees.size()), "leaf");
  RequireFloat(weight, 1, "weight of a node");
}

}  // namespace

void WriteXgboostJson(const Forest& forest, std::ostream& out,
                      const std::vector<std::string>& feature_names) {
  if (!feature_names.empty() && feature_names.size() != forest.columns) {
    throw std::invalid_argument(std::to_string(feature_names.size()) + " feature names for " +
                                std::to_string(forest.columns) + " features");
  }
  for (const std::string& name : feature_names) {
    if (name.find_first_of("[]<") == name.npos) continue;
    throw std::invalid_argument("feature \"" + name +
                                "\": XGBoost takes no name with [, ] or <: rename the column");
  }
  std::string names;
  try {
    names = Json(feature_names).dump();
  } catch (const Json::type_error&) {
    throw std::invalid_argument("a feature name is no UTF-8");
  }
  RequireFloats(forest);
  const std::size_t trees = forest.trees.size() * forest.classes;
  std::vector<std::uint32_t> outputs;
  for (std::size_t t = 0; t < trees; ++t) {
    outputs.push_back(static_cast<std::uint32_t>(t % forest.classes));
  }
  const std::string targets = std::to_string(forest.classes);
  out << R"({"learner":{"attributes":{},"feature_names":)" << names
      << R"(,"feature_types":[],"gradient_booster":{"name":"gbtree","model":{)"
      << R"("gbtree_model_param":{"num_parallel_tree":")" << forest.trees.size()
      << R"(","num_trees":")" << trees << R"(","size_leaf_vector":"0"},"tree_info":)"
      << Json(outputs).dump() << R"(,"trees":[)";
  // Tree by tree, so that no more than one is in memory as JSON.
  for (std::size_t t = 0; t < trees; ++t) {
    const Tree& tree = forest.trees[t / forest.classes];
    out << (t == 0 ? "\n" : ",\n") << TreeJson(forest, tree, outputs[t], t).dump();
  }
  out << "\n]}},"
      << R"("learner_model_param":{"base_score":"0E0","num_class":"0","num_feature":")"
      << forest.columns << R"(","num_target":")" << targets << R"("},)"
      << R"("objective":{"name":"reg:squarederror","reg_loss_param":{"scale_pos_weight":"1"}}},)"
      << R"("version":[1,7,6]})"
      << "\n";
}

}  // namespace retable::extratrees

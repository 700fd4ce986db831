#include <cmath>
#include <limits>

#include "algorithms/common/forest_bytes.hpp"
#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/json.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"

namespace retable::treeshap {

namespace {

using detail::Array;
using detail::Integer;
using detail::Json;
using detail::Member;
using detail::Number;

constexpr double kMaxIndex = 2147483647.0;
constexpr double kMaxCategory = 65535;  // a set of one large code fills memory

// How the file's forest decides and adds.
struct Rules {
  bool inclusive = false;  // x <= threshold goes left, else x < threshold
  bool doubles = false;    // x is a double, else a float; the threshold is a double in both
  double scale = 1;
};

// The codes that go left; all others go right. Its number among the model's sets.
std::int32_t ReadSet(const Json& codes, TreeEnsemble& model) {
  Require(codes.is_array(), "\"categories\" holds no list of codes");
  CategorySet set;
  for (const Json& code : codes) {
    const auto k = static_cast<std::size_t>(Integer(code, "categories", 0, kMaxCategory));
    if (k / 32 >= set.left.size()) set.left.resize(k / 32 + 1);
    set.left[k / 32] |= 1u << (k % 32);
  }
  model.category_sets.push_back(std::move(set));
  return static_cast<std::int32_t>(model.category_sets.size()) - 1;
}

// The tree's nodes without leaf values; with doubles, without thresholds.
Tree ReadStructure(const Json& json, const Rules& rules, TreeEnsemble& model,
                   std::vector<DoubleSplit>& splits) {
  const std::size_t n = Member(json, "feature").size();
  const Json& features = Array(json, "feature", n);
  const Json& thresholds = Array(json, "threshold", n);
  const Json& lefts = Array(json, "left", n);
  const Json& rights = Array(json, "right", n);
  const Json& covers = Array(json, "cover", n);
  const Json* defaults = json.contains("default_left") ? &Array(json, "default_left", n) : nullptr;
  const Json* sets = json.contains("categories") ? &Array(json, "categories", n) : nullptr;
  Tree tree;
  tree.nodes.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode& node = tree.nodes[i];
    node.cover = Number(covers[i], "cover");
    node.left = Integer(lefts[i], "left", -1, kMaxIndex);
    node.right = Integer(rights[i], "right", -1, kMaxIndex);
    if (node.left < 0) continue;
    node.feature = Integer(features[i], "feature", 0, kMaxIndex);
    node.default_left = defaults != nullptr && Number((*defaults)[i], "default_left") != 0;
    if (sets != nullptr && !(*sets)[i].is_null()) {
      node.categories = ReadSet((*sets)[i], model);
      continue;
    }
    const double threshold = Number(thresholds[i], "threshold");
    Require(!std::isnan(threshold), "a threshold is NaN");
    const double limit = rules.inclusive
                             ? threshold
                             : std::nextafter(threshold, -std::numeric_limits<double>::infinity());
    if (rules.doubles) splits.push_back({.node = i, .limit = limit});
    node.threshold = StrictThreshold(limit);
  }
  return tree;
}

// One tree for each output: "value" holds a number, or one per output, for every node.
void AddTree(const Json& json, const Rules& rules, TreeEnsemble& model,
             std::vector<DoubleSplit>& splits) {
  std::vector<DoubleSplit> own;
  const Tree structure = ReadStructure(json, rules, model, own);
  const Json& values = Array(json, "value", structure.nodes.size());
  const bool vectors = !values.empty() && values[0].is_array();
  const int outputs = vectors ? model.groups : 1;
  // Checked before a tree is copied for each output: a small file may announce 65536 of them.
  for (const Json& value : values) {
    Require(!vectors || value.size() == static_cast<std::size_t>(outputs),
            "\"value\" should hold one number for each output at each node");
  }
  for (int g = 0; g < outputs; ++g) {
    Tree tree = structure;
    tree.group =
        vectors ? g
                : (json.contains("group") ? Integer(json.at("group"), "group", 0, model.groups - 1)
                                          : 0);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      if (!tree.nodes[i].is_leaf()) continue;
      const Json& value = vectors ? values[i].at(static_cast<std::size_t>(g)) : values[i];
      tree.nodes[i].value = rules.scale * Number(value, "value");
    }
    for (DoubleSplit& split : own) split.tree = model.trees.size();
    splits.insert(splits.end(), own.begin(), own.end());
    model.trees.push_back(std::move(tree));
  }
}

// The texts that the codes of a feature stand for; none where it is a number.
void ReadLevels(const Json& json, TreeEnsemble& model) {
  const Json& features = Array(json, "feature_levels", static_cast<std::size_t>(model.features));
  const bool missing = json.contains("unknown_levels_missing") &&
                       Number(json.at("unknown_levels_missing"), "unknown_levels_missing") != 0;
  for (std::size_t f = 0; f < features.size(); ++f) {
    model.encodings[static_cast<std::int32_t>(f)].set_levels(
        features[f].get<std::vector<std::string>>(), !missing);
  }
}

// Whether the member is the second of two words and not the first, which it is where there is none.
bool IsOther(const Json& json, const char* name, const char* usual, const char* other) {
  if (!json.contains(name) || json.at(name) == usual) return false;
  Require(json.at(name) == other, "\"", name, "\" is \"", usual, "\" or \"", other, "\", not ",
          json.at(name).dump());
  return true;
}

TreeEnsemble Convert(const Json& json) {
  Require(Member(json, "format") == "retable-forest", "\"format\" is not \"retable-forest\"");
  Require(Integer(Member(json, "version"), "version", 0, 1000) == 1,
          "this program reads version 1 of the forest format");
  TreeEnsemble model;
  model.features = Integer(Member(json, "features"), "features", 0, kMaxIndex);
  model.groups = json.contains("groups") ? Integer(json.at("groups"), "groups", 1, 65536) : 1;
  model.base_score.assign(static_cast<std::size_t>(model.groups), 0.0);
  if (json.contains("base_score")) {
    const Json& base = Array(json, "base_score", model.base_score.size());
    for (std::size_t g = 0; g < base.size(); ++g)
      model.base_score[g] = Number(base[g], "base_score");
  }
  if (json.contains("feature_names")) {
    const auto count = static_cast<std::size_t>(model.features);
    for (const Json& name : Array(json, "feature_names", count)) {
      model.feature_names.push_back(name.get<std::string>());
    }
  }
  Rules rules;
  if (json.contains("scale")) rules.scale = Number(json.at("scale"), "scale");
  rules.inclusive = IsOther(json, "split", "<", "<=");
  rules.doubles = IsOther(json, "rows", "float", "double");
  std::vector<DoubleSplit> splits;
  for (const Json& tree : Member(json, "trees")) AddTree(tree, rules, model, splits);
  if (rules.doubles) RankSplits(model, splits, RowRule::kDouble);
  if (json.contains("feature_levels")) ReadLevels(json, model);
  Validate(model);
  return model;
}

}  // namespace

TreeEnsemble ReadForestJson(std::string_view text) {
  try {
    return Convert(detail::ParseJson(text));
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("the forest is damaged: ") + error.what());
  }
}

TreeEnsemble ReadModel(std::string_view bytes, const ReadOptions& options) {
  if (AreForestBytes(bytes)) return ReadBinaryForest(bytes);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  Require(first != std::string_view::npos, "the model file is empty");
  if (bytes.substr(first, 5) == "tree\n" || bytes.substr(first, 6) == "tree\r\n") {
    return ReadLightgbmText(bytes, options);
  }
  Require(
      bytes[first] == '{',
      "unknown model format; give XGBoost JSON or UBJ, LightGBM text, a file of retable forest, "
      "or what from_scikit_learn.py or from_catboost.py in apps/shap wrote");
  // A JSON object goes on with a quote or a brace; UBJSON with a length.
  const std::size_t second = bytes.find_first_not_of(" \t\r\n", first + 1);
  if (second == std::string_view::npos || (bytes[second] != '"' && bytes[second] != '}')) {
    return ReadXgboostUbj(bytes, options);
  }
  const bool forest = bytes.substr(0, 4096).find("retable-forest") != std::string_view::npos;
  return forest ? ReadForestJson(bytes) : ReadXgboostJson(bytes, options);
}

}  // namespace retable::treeshap

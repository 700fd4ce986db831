#include <algorithm>
#include <cmath>
#include <map>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "algorithms/treeshap/model/xgboost_document.hpp"

namespace retable::treeshap {

namespace {

using detail::Array;
using detail::Integer;
using detail::Json;
using detail::Member;
using detail::Number;
using detail::XgboostDocument;

using Lists = XgboostDocument::Lists;

// A list of a tree.
const std::vector<double>& List(const Lists& tree, const std::string& name) {
  const auto found = tree.find(name);
  Require(found != tree.end(), "a tree has no list \"", name, "\"; the file is damaged");
  return found->second;
}

// One of `count` numbers.
const std::vector<double>& List(const Lists& tree, const std::string& name, std::size_t count) {
  const auto& list = List(tree, name);
  Require(list.size() == count, "a tree's list \"", name, "\" should have ", count,
          " numbers; the file is damaged");
  return list;
}

// XGBoost's numbers are floats: JSON rounds them to nine digits, which read as doubles are others.
double Float(double value) {
  return static_cast<float>(value);
}

constexpr double kMaxIndex = 2147483647.0;
// All sets of a model together, in words of 32 categories: a few bytes of a hostile file announce
// 16 million categories for every node.
constexpr std::size_t kMaxCategoryWords = std::size_t{1} << 24;

// From base_score, which is stored on the scale of the predictions, to the margin that trees add
// to.
enum class Link { kIdentity, kLogit, kLog };

Link LinkOf(std::string_view objective) {
  constexpr std::string_view kIdentity[] = {
      "reg:squarederror",  "reg:linear",        "reg:squaredlogerror", "reg:pseudohubererror",
      "reg:absoluteerror", "reg:quantileerror", "reg:expectileerror",  "binary:logitraw",
      "binary:hinge",      "multi:softmax",     "multi:softprob",      "rank:pairwise",
      "rank:ndcg",         "rank:map"};
  constexpr std::string_view kLogit[] = {"reg:logistic", "binary:logistic"};
  constexpr std::string_view kLog[] = {"count:poisson", "reg:gamma", "reg:tweedie", "survival:cox",
                                       "survival:aft"};
  const auto is_of = [&](const auto& list) {
    return std::ranges::find(list, objective) != std::end(list);
  };
  if (is_of(kIdentity)) return Link::kIdentity;
  if (is_of(kLogit)) return Link::kLogit;
  if (is_of(kLog)) return Link::kLog;
  throw std::invalid_argument("the objective \"" + std::string(objective) +
                              "\" is not known, and with it whether base_score is a margin; set "
                              "learner.objective.name to one that has the same link");
}

// In float, as XGBoost computes it: near 1, rounding moves a logit by whole units.
double Margin(double stored, Link link, bool clamped) {
  if (link == Link::kIdentity) return stored;
  auto base = static_cast<float>(stored);
  if (link == Link::kLog) {
    Require(base > 0, "base_score has to be > 0, as this objective's");
    return std::log(base);
  }
  if (clamped) base = std::clamp(base, 1e-6f, 1 - 1e-6f);
  Require(base > 0 && base < 1, "base_score ", stored,
          " is no probability in (0, 1), as this objective's");
  return -std::log(1.0f / base - 1.0f);
}

// From 3.2 on, XGBoost keeps a stored probability away from 0 and 1.
bool ClampsProbabilities(const Json& model) {
  if (!model.contains("version")) return false;
  const Json& version = Array(model, "version", 3);
  const auto major = Integer(version[0], "version", 0, kMaxIndex);
  return major > 3 || (major == 3 && Integer(version[1], "version", 0, kMaxIndex) >= 2);
}

// One number, or since XGBoost 3.1 a list in brackets with one for each output: margins.
std::vector<double> BaseScores(const Json& model, std::size_t outputs) {
  const Json& learner = Member(model, "learner");
  const Json& json = Member(Member(learner, "learner_model_param"), "base_score");
  const Link link = LinkOf(Member(Member(learner, "objective"), "name").get<std::string>());
  const bool clamped = ClampsProbabilities(model);
  std::vector<double> margins;
  std::string text = json.is_string() ? json.get<std::string>() : "";
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    margins.assign(outputs, Margin(Number(json, "base_score"), link, clamped));
    return margins;
  }
  text = text.substr(1, text.size() - 2);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const Json number(text.substr(at, comma - at));
    margins.push_back(Margin(Number(number, "base_score"), link, clamped));
    at = comma + 1;
  }
  if (margins.size() == 1) margins.resize(outputs, margins[0]);
  Require(margins.size() == outputs, "base_score has ", margins.size(), " numbers for ", outputs,
          " outputs");
  return margins;
}

// The sets of a tree, by node. XGBoost lists the categories that go right; all others go left.
// `words` counts over the whole model.
std::map<std::int32_t, CategorySet> ReadCategories(const Lists& lists, std::size_t& words) {
  std::map<std::int32_t, CategorySet> sets;
  if (!lists.contains("categories_nodes")) return sets;
  const auto& nodes = List(lists, "categories_nodes");
  const auto& segments = List(lists, "categories_segments", nodes.size());
  const auto& sizes = List(lists, "categories_sizes", nodes.size());
  const auto& all = List(lists, "categories");
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto begin =
        static_cast<std::size_t>(Integer(segments[k], "categories_segments", 0, kMaxIndex));
    const auto size = static_cast<std::size_t>(Integer(sizes[k], "categories_sizes", 0, kMaxIndex));
    Require(begin + size <= all.size(), "categories end too early");
    CategorySet set;
    set.others_left = true;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const auto category = static_cast<std::size_t>(Integer(all[i], "categories", 0, 16777216.0));
      if (category / 32 >= set.left.size()) {
        words += category / 32 + 1 - set.left.size();
        Require(words <= kMaxCategoryWords,
                "the category sets are larger than any trained model's");
        set.left.resize(category / 32 + 1, ~0u);
      }
      set.left[category / 32] &= ~(1u << (category % 32));
    }
    sets.emplace(Integer(nodes[k], "categories_nodes", 0, kMaxIndex), std::move(set));
  }
  return sets;
}

Tree ReadTree(const Lists& lists, TreeEnsemble& model, std::size_t& category_words) {
  const auto& lefts = List(lists, "left_children");
  const std::size_t n = lefts.size();
  const auto& rights = List(lists, "right_children", n);
  const auto& features = List(lists, "split_indices", n);
  const auto& conditions = List(lists, "split_conditions", n);
  const auto& defaults = List(lists, "default_left", n);
  const auto& covers = List(lists, "sum_hessian", n);
  auto categories = ReadCategories(lists, category_words);
  Tree tree;
  tree.nodes.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    TreeNode& node = tree.nodes[i];
    node.cover = Float(covers[i]);
    node.left = Integer(lefts[i], "left_children", -1, kMaxIndex);
    if (node.left < 0) {
      node.value = Float(conditions[i]);
      continue;
    }
    node.right = Integer(rights[i], "right_children", -1, kMaxIndex);
    node.feature = Integer(features[i], "split_indices", 0, kMaxIndex);
    node.default_left = defaults[i] != 0;
    node.threshold = static_cast<float>(conditions[i]);
    const auto set = categories.find(static_cast<std::int32_t>(i));
    if (set != categories.end()) {
      node.categories = static_cast<std::int32_t>(model.category_sets.size());
      node.threshold = 0;
      model.category_sets.push_back(std::move(set->second));
    }
  }
  return tree;
}

// Numbers at a leaf: one, or with multi_strategy "multi_output_tree" one for each output.
std::int32_t LeafSize(const Json& tree) {
  if (!tree.contains("tree_param")) return 1;
  const Json& parameters = tree.at("tree_param");
  if (!parameters.contains("size_leaf_vector")) return 1;
  return std::max(1, Integer(parameters.at("size_leaf_vector"), "size_leaf_vector", 0, 65536));
}

// One tree for each output. "leaf_weights" holds the vectors of the leaves, "right_children" a
// leaf's index among them.
void AddVectorTree(const Lists& lists, const Tree& structure, double weight, TreeEnsemble& model) {
  const auto outputs = static_cast<std::size_t>(model.groups);
  const std::size_t leaves = (structure.nodes.size() + 1) / 2;
  const auto& values = List(lists, "leaf_weights", leaves * outputs);
  const auto& rights = List(lists, "right_children");
  for (std::size_t g = 0; g < outputs; ++g) {
    Tree tree = structure;
    tree.group = static_cast<std::int32_t>(g);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      if (!tree.nodes[i].is_leaf()) continue;
      const auto leaf = static_cast<std::size_t>(
          Integer(rights[i], "right_children", 0, static_cast<double>(leaves - 1)));
      tree.nodes[i].value = weight * Float(values[leaf * outputs + g]);
    }
    model.trees.push_back(std::move(tree));
  }
}

// The tree model and, for dart, each tree's weight.
const Json& TreeModel(const Json& booster, std::vector<double>& weights) {
  const std::string name = Member(booster, "name").get<std::string>();
  if (name == "dart") {
    for (const Json& w : Member(booster, "weight_drop"))
      weights.push_back(Float(Number(w, "weight_drop")));
    return Member(Member(booster, "gbtree"), "model");
  }
  Require(name == "gbtree", "booster \"", name, "\" has no trees; use gbtree or dart");
  return Member(booster, "model");
}

// The categories of the training table's columns, which XGBoost 3.1 and later keep: "values" are
// the categories, or the bytes of all words, which "offsets" divide.
void ReadCategoryMaps(const Json& trees, TreeEnsemble& model) {
  if (!trees.contains("cats") || Member(trees.at("cats"), "enc").empty()) return;
  const Json& columns = Array(trees.at("cats"), "enc", static_cast<std::size_t>(model.features));
  for (std::size_t f = 0; f < columns.size(); ++f) {
    const Json& values = Member(columns[f], "values");
    const bool words = columns[f].contains("offsets");
    const std::size_t ends = words ? columns[f].at("offsets").size() : values.size() + 1;
    if (ends < 2) continue;  // a column of numbers
    FeatureEncoding& encoding = model.encodings[static_cast<std::int32_t>(f)];
    encoding.refuses_unknown = true;
    std::string bytes;
    for (const Json& value : values) {
      if (words) {
        bytes += static_cast<char>(Integer(value, "values", -128, 255));
      } else {
        encoding.categories.add({}, Number(value, "values"));
      }
    }
    Require(std::ranges::all_of(bytes, [](char c) { return (c & 0x80) == 0; }),
            "the categories of feature ", f,
            " have letters beyond ASCII, which XGBoost counts as letters in a pandas table and as "
            "bytes in others; train with categories in ASCII");
    const auto length = static_cast<double>(bytes.size());
    for (std::size_t i = 0; words && i + 1 < ends; ++i) {
      const auto begin = Integer(columns[f].at("offsets")[i], "offsets", 0, length);
      const auto end = Integer(columns[f].at("offsets")[i + 1], "offsets", begin, length);
      encoding.categories.add(
          {bytes.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))});
    }
  }
}

// The trees of the iterations up to the best one where training stopped early, else all.
std::size_t TreesThatPredict(const Json& learner, const Json& trees, const TreeEnsemble& model,
                             const ReadOptions& options) {
  const Json& list = Member(trees, "trees");
  if (options.all_trees || list.empty() || !learner.contains("attributes") ||
      !learner.at("attributes").contains("best_iteration")) {
    return list.size();
  }
  const auto best = static_cast<std::size_t>(
      Integer(learner.at("attributes").at("best_iteration"), "best_iteration", 0, kMaxIndex));
  std::size_t used = 0;
  if (trees.contains("iteration_indptr")) {  // since 2.0
    const Json& ends = trees.at("iteration_indptr");
    if (best + 1 >= ends.size()) return list.size();
    used = static_cast<std::size_t>(
        Integer(ends.at(best + 1), "iteration_indptr", 0, static_cast<double>(list.size())));
  } else {
    const Json& parameters = Member(trees, "gbtree_model_param");
    Require(parameters.contains("num_parallel_tree"),
            "the model is of an XGBoost before 1.6: load it with a later one and save it again");
    used = (best + 1) * static_cast<std::size_t>(model.groups) *
           static_cast<std::size_t>(
               Integer(parameters.at("num_parallel_tree"), "num_parallel_tree", 1, kMaxIndex));
  }
  if (used >= list.size()) return list.size();
  if (options.say) {
    options.say("training stopped early: the first " + std::to_string(used) + " of " +
                std::to_string(list.size()) + " trees, up to the best iteration, " +
                std::to_string(best) +
                ", are explained, as predict of XGBoost's scikit-learn interface uses them; "
                "--all-trees explains all");
  }
  return used;
}

TreeEnsemble Convert(const XgboostDocument& document, const ReadOptions& options) {
  const Json& json = document.json;
  const Json& learner = Member(json, "learner");
  const Json& parameters = Member(learner, "learner_model_param");
  TreeEnsemble model;
  model.features = Integer(Member(parameters, "num_feature"), "num_feature", 0, kMaxIndex);
  const auto classes = Integer(Member(parameters, "num_class"), "num_class", 0, 65536);
  model.groups = std::max(classes, 1);
  if (parameters.contains("num_target")) {
    model.groups =
        std::max(model.groups, Integer(parameters.at("num_target"), "num_target", 0, 65536));
  }
  model.base_score = BaseScores(json, static_cast<std::size_t>(model.groups));
  if (learner.contains("feature_names")) {
    for (const Json& name : learner.at("feature_names")) {
      model.feature_names.push_back(name.get<std::string>());
    }
  }
  std::vector<double> weights;
  const Json& trees = TreeModel(Member(learner, "gradient_booster"), weights);
  const Json& list = Member(trees, "trees");
  const Json& groups = Array(trees, "tree_info", list.size());
  Require(weights.empty() || weights.size() == list.size(),
          "\"weight_drop\" should have one entry per tree");
  std::size_t category_words = 0;
  const std::size_t used = TreesThatPredict(learner, trees, model, options);
  for (std::size_t t = 0; t < used; ++t) {
    const Lists& lists = document.ListsOf(list[t]);
    const std::int32_t leaf_size = LeafSize(list[t]);
    const bool vectors = leaf_size > 1;
    Require(!vectors || lists.contains("leaf_weights"),
            "trees of several outputs are read as XGBoost 3.2 writes them, older files hold no "
            "covers; train the model with it");
    Tree tree = ReadTree(lists, model, category_words);
    const double weight = weights.empty() ? 1.0 : weights[t];
    if (vectors) {
      Require(leaf_size == model.groups, "\"size_leaf_vector\" is not the number of outputs");
      AddVectorTree(lists, tree, weight, model);
      continue;
    }
    tree.group = Integer(groups[t], "tree_info", 0, 65536);
    for (TreeNode& node : tree.nodes) node.value *= weight;
    model.trees.push_back(std::move(tree));
  }
  ReadCategoryMaps(trees, model);
  RankMixedFeatures(model);
  Validate(model);
  return model;
}

TreeEnsemble ConvertChecked(const XgboostDocument& document, const ReadOptions& options) {
  try {
    return Convert(document, options);
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("the XGBoost model is damaged: ") + error.what());
  }
}

}  // namespace

TreeEnsemble ReadXgboostJson(std::string_view text, const ReadOptions& options) {
  return ConvertChecked(detail::ParseXgboostJson(text), options);
}

TreeEnsemble ReadXgboostUbj(std::string_view bytes, const ReadOptions& options) {
  return ConvertChecked(detail::ParseXgboostUbj(bytes), options);
}

}  // namespace retable::treeshap

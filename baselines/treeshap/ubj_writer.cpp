#include "baselines/treeshap/ubj_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

namespace retable::baselines::treeshap {

namespace {

using retable::treeshap::Tree;
using retable::treeshap::TreeEnsemble;
using retable::treeshap::TreeNode;

// The few UBJSON forms that XGBoost's own writer uses: big endian, 64-bit lengths.
class UbjWriter {
 public:
  void Key(const std::string& name) { Text(name); }
  void Field(const char* key, const std::string& text) {
    Key(key);
    out_ += 'S';
    Text(text);
  }
  template <class T>
  void Field(const char* key, const std::vector<T>& values) {
    constexpr char kInteger = sizeof(T) == 1 ? 'U' : sizeof(T) == 4 ? 'l' : 'L';
    constexpr char kType = std::is_same_v<T, float> ? 'd' : kInteger;
    Key(key);
    out_ += std::string("[$") + kType + "#L";
    BigEndian(values.size());
    for (const T value : values) BigEndian(value);
  }
  void Integer(std::int64_t value) {
    out_ += 'L';
    BigEndian(value);
  }
  void OpenObject() { out_ += '{'; }
  void OpenObject(const char* key) {
    Key(key);
    OpenObject();
  }
  void CloseObject() { out_ += '}'; }
  void OpenArray(const char* key, std::size_t count) {
    Key(key);
    out_ += "[#L";
    BigEndian(count);
  }
  std::string Take() { return std::move(out_); }

 private:
  void Text(const std::string& text) {
    out_ += 'L';
    BigEndian(text.size());
    out_ += text;
  }
  template <class T>
  void BigEndian(T value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
    for (std::size_t i = bytes.size(); i-- > 0;) out_ += bytes[i];  // of a little-endian machine
  }

  std::string out_;
};

// The shortest text of the float that XGBoost keeps, nine digits at most: of a longer number
// XGBoost 2.0.2 reads nothing and keeps its default, 0.5.
std::string ShortestFloat(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value),
                                 std::chars_format::scientific);
  return {text.data(), end.ptr};
}

// XGBoost's contributions assume its own numbering: level by level, siblings side by side.
Tree LevelOrder(const Tree& tree) {
  Tree out;
  out.group = tree.group;
  std::vector<std::int32_t> queue = {0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    TreeNode node = tree.at(queue[i]);
    if (!node.is_leaf()) {
      const auto next = static_cast<std::int32_t>(queue.size());
      queue.push_back(node.left);
      queue.push_back(node.right);
      node.left = next;
      node.right = next + 1;
    }
    out.nodes.push_back(node);
  }
  return out;
}

// By feature: one more than the largest category that the model names.
std::map<std::int32_t, std::int32_t> CategoryCounts(const TreeEnsemble& model) {
  std::map<std::int32_t, std::int32_t> counts;
  for (const Tree& tree : model.trees) {
    for (const TreeNode& node : tree.nodes) {
      if (node.is_leaf() || node.categories < 0) continue;
      const auto& words = model.category_sets[static_cast<std::size_t>(node.categories)].left;
      std::int32_t& count = counts[node.feature];
      count = std::max(count, static_cast<std::int32_t>(32 * words.size()));
    }
  }
  return counts;
}

void WriteTree(UbjWriter& w, const TreeEnsemble& model, const Tree& tree, std::size_t id,
               const std::map<std::int32_t, std::int32_t>& counts) {
  const std::size_t n = tree.nodes.size();
  // The categories that go right; all others go left.
  std::vector<std::int32_t> categories, categorical;
  std::vector<std::int64_t> segments, sizes;
  std::vector<std::int32_t> left(n, -1), right(n, -1), parents(n, 2147483647), indices(n, 0);
  std::vector<float> conditions(n), covers(n), weights(n, 0), gains(n, 0);
  std::vector<std::uint8_t> defaults(n, 0), types(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const TreeNode& node = tree.nodes[i];
    covers[i] = static_cast<float>(node.cover);
    if (node.is_leaf()) {
      conditions[i] = static_cast<float>(node.value);
      weights[i] = conditions[i];
      continue;
    }
    if (node.categories >= 0) {
      const auto& set = model.category_sets[static_cast<std::size_t>(node.categories)];
      types[i] = 1;
      categorical.push_back(static_cast<std::int32_t>(i));
      segments.push_back(static_cast<std::int64_t>(categories.size()));
      for (std::int32_t c = 0; c < counts.at(node.feature); ++c) {
        if (!set.goes_left(static_cast<float>(c))) categories.push_back(c);
      }
      sizes.push_back(static_cast<std::int64_t>(categories.size()) - segments.back());
    }
    left[i] = node.left;
    right[i] = node.right;
    parents[static_cast<std::size_t>(node.left)] = static_cast<std::int32_t>(i);
    parents[static_cast<std::size_t>(node.right)] = static_cast<std::int32_t>(i);
    indices[i] = node.feature;
    conditions[i] = node.threshold;
    defaults[i] = node.default_left ? 1 : 0;
  }
  w.OpenObject();
  w.Field("base_weights", weights);
  w.Field("categories", categories);
  w.Field("categories_nodes", categorical);
  w.Field("categories_segments", segments);
  w.Field("categories_sizes", sizes);
  w.Field("default_left", defaults);
  w.Key("id");
  w.Integer(static_cast<std::int64_t>(id));
  w.Field("left_children", left);
  w.Field("loss_changes", gains);
  w.Field("parents", parents);
  w.Field("right_children", right);
  w.Field("split_conditions", conditions);
  w.Field("split_indices", indices);
  w.Field("split_type", types);
  w.Field("sum_hessian", covers);
  w.OpenObject("tree_param");
  w.Field("num_deleted", "0");
  w.Field("num_feature", std::to_string(model.features));
  w.Field("num_nodes", std::to_string(n));
  w.Field("size_leaf_vector", "0");
  w.CloseObject();
  w.CloseObject();
}

void WriteBooster(UbjWriter& w, const TreeEnsemble& model) {
  w.OpenObject();
  w.OpenObject("model");
  w.OpenObject("gbtree_model_param");
  w.Field("num_parallel_tree", "1");
  w.Field("num_trees", std::to_string(model.trees.size()));
  w.Field("size_leaf_vector", "0");
  w.CloseObject();
  w.OpenArray("tree_info", model.trees.size());
  for (const Tree& tree : model.trees) w.Integer(tree.group);
  w.OpenArray("trees", model.trees.size());
  const auto counts = CategoryCounts(model);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    WriteTree(w, model, LevelOrder(model.trees[t]), t, counts);
  }
  w.CloseObject();
  w.Field("name", "gbtree");
  w.CloseObject();
}

}  // namespace

std::string WriteXgboostUbj(const TreeEnsemble& model) {
  retable::treeshap::Validate(model);
  UbjWriter w;
  const bool classes = model.groups > 1;
  w.OpenObject();
  w.OpenObject("learner");
  w.OpenObject("attributes");
  w.CloseObject();
  w.OpenArray("feature_names", 0);
  w.OpenArray("feature_types", 0);
  w.Key("gradient_booster");
  WriteBooster(w, model);
  w.OpenObject("learner_model_param");
  w.Field("base_score", ShortestFloat(model.base_score[0]));
  w.Field("num_class", classes ? std::to_string(model.groups) : "0");
  w.Field("num_feature", std::to_string(model.features));
  w.Field("num_target", "1");
  w.CloseObject();
  w.OpenObject("objective");
  w.Field("name", classes ? "multi:softmax" : "reg:squarederror");
  w.OpenObject(classes ? "softmax_multiclass_param" : "reg_loss_param");
  if (classes) {
    w.Field("num_class", std::to_string(model.groups));
  } else {
    w.Field("scale_pos_weight", "1");
  }
  w.CloseObject();
  w.CloseObject();
  w.CloseObject();
  w.OpenArray("version", 3);
  for (const std::int64_t number : {1, 7, 4}) w.Integer(number);
  w.CloseObject();
  return w.Take();
}

}  // namespace retable::baselines::treeshap

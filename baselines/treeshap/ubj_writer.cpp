#include "baselines/treeshap/ubj_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <map>
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
  void String(const std::string& text) {
    out_ += 'S';
    Text(text);
  }
  void Integer(std::int64_t value) {
    out_ += 'L';
    BigEndian(static_cast<std::uint64_t>(value), 8);
  }
  void OpenObject() { out_ += '{'; }
  void CloseObject() { out_ += '}'; }
  void OpenArray(std::size_t count) {
    out_ += "[#L";
    BigEndian(count, 8);
  }
  void Floats(const std::vector<float>& values) {
    Typed('d', values.size());
    for (const float v : values) BigEndian(std::bit_cast<std::uint32_t>(v), 4);
  }
  void Ints(const std::vector<std::int32_t>& values) {
    Typed('l', values.size());
    for (const auto v : values) BigEndian(static_cast<std::uint32_t>(v), 4);
  }
  void Longs(const std::vector<std::int64_t>& values) {
    Typed('L', values.size());
    for (const auto v : values) BigEndian(static_cast<std::uint64_t>(v), 8);
  }
  void Bytes(const std::vector<std::uint8_t>& values) {
    Typed('U', values.size());
    for (const auto v : values) out_ += static_cast<char>(v);
  }
  std::string Take() { return std::move(out_); }

 private:
  void Text(const std::string& text) {
    out_ += 'L';
    BigEndian(text.size(), 8);
    out_ += text;
  }
  void Typed(char type, std::size_t count) {
    out_ += "[$";
    out_ += type;
    out_ += "#L";
    BigEndian(count, 8);
  }
  void BigEndian(std::uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) out_ += static_cast<char>(value >> (8 * i));
  }

  std::string out_;
};

void StringField(UbjWriter& w, const char* key, const std::string& value) {
  w.Key(key);
  w.String(value);
}

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
    TreeNode node = tree.nodes[static_cast<std::size_t>(queue[i])];
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
  w.Key("base_weights");
  w.Floats(weights);
  w.Key("categories");
  w.Ints(categories);
  w.Key("categories_nodes");
  w.Ints(categorical);
  w.Key("categories_segments");
  w.Longs(segments);
  w.Key("categories_sizes");
  w.Longs(sizes);
  w.Key("default_left");
  w.Bytes(defaults);
  w.Key("id");
  w.Integer(static_cast<std::int64_t>(id));
  w.Key("left_children");
  w.Ints(left);
  w.Key("loss_changes");
  w.Floats(gains);
  w.Key("parents");
  w.Ints(parents);
  w.Key("right_children");
  w.Ints(right);
  w.Key("split_conditions");
  w.Floats(conditions);
  w.Key("split_indices");
  w.Ints(indices);
  w.Key("split_type");
  w.Bytes(types);
  w.Key("sum_hessian");
  w.Floats(covers);
  w.Key("tree_param");
  w.OpenObject();
  StringField(w, "num_deleted", "0");
  StringField(w, "num_feature", std::to_string(model.features));
  StringField(w, "num_nodes", std::to_string(n));
  StringField(w, "size_leaf_vector", "0");
  w.CloseObject();
  w.CloseObject();
}

void WriteBooster(UbjWriter& w, const TreeEnsemble& model) {
  w.OpenObject();
  w.Key("model");
  w.OpenObject();
  w.Key("gbtree_model_param");
  w.OpenObject();
  StringField(w, "num_parallel_tree", "1");
  StringField(w, "num_trees", std::to_string(model.trees.size()));
  StringField(w, "size_leaf_vector", "0");
  w.CloseObject();
  w.Key("tree_info");  // a plain array here, as in "version"
  w.OpenArray(model.trees.size());
  for (const Tree& tree : model.trees) w.Integer(tree.group);
  w.Key("trees");
  w.OpenArray(model.trees.size());
  const auto counts = CategoryCounts(model);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    WriteTree(w, model, LevelOrder(model.trees[t]), t, counts);
  }
  w.CloseObject();
  StringField(w, "name", "gbtree");
  w.CloseObject();
}

}  // namespace

std::string WriteXgboostUbj(const TreeEnsemble& model) {
  retable::treeshap::Validate(model);
  UbjWriter w;
  const bool classes = model.groups > 1;
  w.OpenObject();
  w.Key("learner");
  w.OpenObject();
  w.Key("attributes");
  w.OpenObject();
  w.CloseObject();
  w.Key("feature_names");
  w.OpenArray(0);
  w.Key("feature_types");
  w.OpenArray(0);
  w.Key("gradient_booster");
  WriteBooster(w, model);
  w.Key("learner_model_param");
  w.OpenObject();
  StringField(w, "base_score", ShortestFloat(model.base_score[0]));
  StringField(w, "num_class", classes ? std::to_string(model.groups) : "0");
  StringField(w, "num_feature", std::to_string(model.features));
  StringField(w, "num_target", "1");
  w.CloseObject();
  w.Key("objective");
  w.OpenObject();
  StringField(w, "name", classes ? "multi:softmax" : "reg:squarederror");
  w.Key(classes ? "softmax_multiclass_param" : "reg_loss_param");
  w.OpenObject();
  if (classes) {
    StringField(w, "num_class", std::to_string(model.groups));
  } else {
    StringField(w, "scale_pos_weight", "1");
  }
  w.CloseObject();
  w.CloseObject();
  w.CloseObject();
  w.Key("version");
  w.OpenArray(3);
  for (const std::int64_t number : {1, 7, 4}) w.Integer(number);
  w.CloseObject();
  return w.Take();
}

}  // namespace retable::baselines::treeshap

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "algorithms/treeshap/model/model_io.hpp"

namespace retable::treeshap {

namespace {

using Section = std::map<std::string, std::string, std::less<>>;

// "key=value" lines up to the next "Tree=" line, or the end.
struct Sections {
  Section header;
  std::vector<Section> trees;
};

Sections Split(std::string_view text) {
  Sections sections;
  Section* current = &sections.header;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line == "end of trees") return sections;
    if (line.substr(0, 5) == "Tree=") {
      sections.trees.emplace_back();
      current = &sections.trees.back();
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string key(line.substr(0, equals));
    (*current)[key] = equals == std::string_view::npos ? "" : std::string(line.substr(equals + 1));
  }
  throw std::invalid_argument("the LightGBM model ends before \"end of trees\"; it is truncated");
}

std::vector<double> Numbers(const Section& section, const char* key, std::size_t count) {
  const auto it = section.find(key);
  std::vector<double> numbers;
  if (it != section.end()) {
    const char* at = it->second.c_str();
    for (char* end = nullptr;; at = end) {
      const double number = std::strtod(at, &end);
      if (end == at) break;
      numbers.push_back(number);
    }
  }
  if (numbers.size() != count) {
    throw std::invalid_argument(std::string("LightGBM: \"") + key + "\" should have " +
                                std::to_string(count) + " numbers, has " +
                                std::to_string(numbers.size()));
  }
  return numbers;
}

std::int32_t WholeNumber(const Section& section, const char* key, double low, double high) {
  const double number = Numbers(section, key, 1)[0];
  if (!(number >= low && number <= high)) {
    throw std::invalid_argument(std::string("LightGBM: \"") + key + "\" is out of range");
  }
  return static_cast<std::int32_t>(number);
}

// Index of a child in our order: inner nodes first, then leaves.
std::int32_t Child(double child, std::size_t inner, std::size_t leaves) {
  const bool leaf = child < 0;
  const double index = leaf ? -child - 1 : child;
  if (!(index < static_cast<double>(leaf ? leaves : inner))) {
    throw std::invalid_argument("LightGBM: a child is out of range; the file is damaged");
  }
  return static_cast<std::int32_t>(index) + (leaf ? static_cast<std::int32_t>(inner) : 0);
}

CategorySet ReadCategories(const Section& section, double index) {
  const auto sets = static_cast<std::size_t>(WholeNumber(section, "num_cat", 0, 1e8));
  const auto bounds = Numbers(section, "cat_boundaries", sets + 1);
  if (!(index >= 0 && index < static_cast<double>(sets)) || !(bounds.back() >= 0) ||
      bounds.back() > 1e8) {
    throw std::invalid_argument("LightGBM: a category set is out of range");
  }
  const auto words = Numbers(section, "cat_threshold", static_cast<std::size_t>(bounds.back()));
  const double begin = bounds[static_cast<std::size_t>(index)];
  const double end = bounds[static_cast<std::size_t>(index) + 1];
  if (!(begin >= 0 && begin <= end && end <= bounds.back())) {
    throw std::invalid_argument("LightGBM: cat_boundaries do not rise");
  }
  CategorySet set;
  for (auto w = static_cast<std::size_t>(begin); w < static_cast<std::size_t>(end); ++w) {
    if (!(words[w] >= 0 && words[w] <= 4294967295.0)) {
      throw std::invalid_argument("LightGBM: cat_threshold is out of range");
    }
    set.left.push_back(static_cast<std::uint32_t>(words[w]));
  }
  return set;
}

void ReadSplit(const Section& section, TreeEnsemble& model, TreeNode& node, double threshold,
               double decision) {
  const int type = static_cast<int>(decision);
  const int missing = (type >> 2) & 3;  // 0: none, 1: zero, 2: NaN
  if (missing == 1) {
    throw std::invalid_argument("LightGBM: zero_as_missing is not supported; train without it");
  }
  if ((type & 1) != 0) {
    node.categories = static_cast<std::int32_t>(model.category_sets.size());
    model.category_sets.push_back(ReadCategories(section, threshold));
    return;  // a missing category goes right
  }
  if (std::isnan(threshold)) throw std::invalid_argument("LightGBM: a threshold is NaN");
  node.threshold = StrictThreshold(threshold);
  // Where NaN is not a missing value it counts as zero.
  node.default_left = missing == 2 ? (type & 2) != 0 : 0 <= threshold;
}

Tree ReadTree(const Section& section, TreeEnsemble& model, double scale) {
  const auto leaves = static_cast<std::size_t>(WholeNumber(section, "num_leaves", 1, 1e8));
  if (section.contains("is_linear") && Numbers(section, "is_linear", 1)[0] != 0) {
    throw std::invalid_argument("LightGBM: linear trees are not supported");
  }
  const std::size_t inner = leaves - 1;
  const auto values = Numbers(section, "leaf_value", leaves);
  Tree tree;
  tree.nodes.resize(inner + leaves);
  for (std::size_t i = 0; i < leaves; ++i) tree.nodes[inner + i].value = values[i] * scale;
  if (inner == 0) return tree;
  const auto counts = Numbers(section, "leaf_count", leaves);
  const auto inner_counts = Numbers(section, "internal_count", inner);
  const auto features = Numbers(section, "split_feature", inner);
  const auto thresholds = Numbers(section, "threshold", inner);
  const auto decisions = Numbers(section, "decision_type", inner);
  const auto lefts = Numbers(section, "left_child", inner);
  const auto rights = Numbers(section, "right_child", inner);
  for (std::size_t i = 0; i < leaves; ++i) tree.nodes[inner + i].cover = counts[i];
  for (std::size_t i = 0; i < inner; ++i) {
    TreeNode& node = tree.nodes[i];
    node.cover = inner_counts[i];
    if (!(features[i] >= 0 && features[i] < model.features)) {
      throw std::invalid_argument("LightGBM: split_feature is out of range");
    }
    node.feature = static_cast<std::int32_t>(features[i]);
    node.left = Child(lefts[i], inner, leaves);
    node.right = Child(rights[i], inner, leaves);
    ReadSplit(section, model, node, thresholds[i], decisions[i]);
  }
  return tree;
}

// The features' names, separated by spaces; none where LightGBM made them up ("Column_0") because
// the data had none.
std::vector<std::string> FeatureNames(const Section& header, std::int32_t features) {
  const auto it = header.find("feature_names");
  if (it == header.end()) return {};
  std::istringstream list(it->second);
  std::vector<std::string> names{std::istream_iterator<std::string>(list), {}};
  if (names.size() != static_cast<std::size_t>(features)) {
    throw std::invalid_argument("LightGBM: \"feature_names\" has " + std::to_string(names.size()) +
                                " names for " + std::to_string(features) + " features");
  }
  bool made_up = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    made_up = made_up && names[i] == "Column_" + std::to_string(i);
  }
  return made_up ? std::vector<std::string>{} : names;
}

}  // namespace

TreeEnsemble ReadLightgbmText(std::string_view text) {
  const Sections sections = Split(text);
  TreeEnsemble model;
  model.features = WholeNumber(sections.header, "max_feature_idx", 0, 2147483646.0) + 1;
  model.groups = WholeNumber(sections.header, "num_tree_per_iteration", 1, 65536);
  model.base_score.assign(static_cast<std::size_t>(model.groups), 0.0);
  model.feature_names = FeatureNames(sections.header, model.features);
  const auto groups = static_cast<std::size_t>(model.groups);
  // A random forest reports the mean of its trees.
  const bool average = sections.header.contains("average_output");
  const double iterations = static_cast<double>((sections.trees.size() + groups - 1) / groups);
  const double scale = average && iterations > 0 ? 1 / iterations : 1;
  for (std::size_t t = 0; t < sections.trees.size(); ++t) {
    model.trees.push_back(ReadTree(sections.trees[t], model, scale));
    model.trees.back().group = static_cast<std::int32_t>(t % groups);
  }
  Validate(model);
  return model;
}

}  // namespace retable::treeshap

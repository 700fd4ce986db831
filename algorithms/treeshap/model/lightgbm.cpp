#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/model/json.hpp"
#include "algorithms/treeshap/model/model_io.hpp"
#include "algorithms/treeshap/model/rank_splits.hpp"
#include "base/csv/number.hpp"

namespace retable::treeshap {

namespace {

using Section = std::map<std::string, std::string, std::less<>>;

// "key=value" lines up to the next "Tree=" line, or the end.
struct Sections {
  Section header;
  std::vector<Section> trees;
  std::string_view rest;  // behind the trees: parameters, and the categories of a pandas table
};

Sections Split(std::string_view text) {
  Sections sections;
  Section* current = &sections.header;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line == "end of trees") {
      sections.rest = text;
      return sections;
    }
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

// The number at the front of `text`, which is cut off; nothing where there is none.
std::optional<double> TakeNumber(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
  const std::size_t length = std::min(text.find_first_of(" \t\r:]"), text.size());
  const auto number = ParseNumber(text.substr(0, length));
  if (number) text.remove_prefix(length);
  return number;
}

std::vector<double> Numbers(const Section& section, const char* key, std::size_t count) {
  const auto it = section.find(key);
  std::vector<double> numbers;
  if (it != section.end()) {
    std::string_view text = it->second;
    while (const auto number = TakeNumber(text)) numbers.push_back(*number);
  }
  Require(numbers.size() == count, "LightGBM: \"", key, "\" should have ", count, " numbers, has ",
          numbers.size());
  return numbers;
}

std::int32_t WholeNumber(const Section& section, const char* key, double low, double high) {
  const double number = Numbers(section, key, 1)[0];
  Require(number >= low && number <= high, "LightGBM: \"", key, "\" is out of range");
  return static_cast<std::int32_t>(number);
}

// Index of a child in our order: inner nodes first, then leaves.
std::int32_t Child(double child, std::size_t inner, std::size_t leaves) {
  const bool leaf = child < 0;
  const double index = leaf ? -child - 1 : child;
  Require(index < static_cast<double>(leaf ? leaves : inner),
          "LightGBM: a child is out of range; the file is damaged");
  return static_cast<std::int32_t>(index) + (leaf ? static_cast<std::int32_t>(inner) : 0);
}

// The sets of categories of a tree.
struct TreeCategories {
  std::vector<double> bounds, words;

  explicit TreeCategories(const Section& section) {
    const auto sets = static_cast<std::size_t>(WholeNumber(section, "num_cat", 0, 1e8));
    if (sets == 0) return;
    bounds = Numbers(section, "cat_boundaries", sets + 1);
    Require(bounds.back() >= 0 && bounds.back() <= 1e8, "LightGBM: a category set is out of range");
    words = Numbers(section, "cat_threshold", static_cast<std::size_t>(bounds.back()));
  }

  CategorySet set(double index) const {
    Require(index >= 0 && index + 1 < static_cast<double>(bounds.size()),
            "LightGBM: a category set is out of range");
    const double begin = bounds[static_cast<std::size_t>(index)];
    const double end = bounds[static_cast<std::size_t>(index) + 1];
    Require(begin >= 0 && begin <= end && end <= bounds.back(),
            "LightGBM: cat_boundaries do not rise");
    CategorySet categories;
    for (auto w = static_cast<std::size_t>(begin); w < static_cast<std::size_t>(end); ++w) {
      Require(words[w] >= 0 && words[w] <= 4294967295.0, "LightGBM: cat_threshold is out of range");
      categories.left.push_back(static_cast<std::uint32_t>(words[w]));
    }
    return categories;
  }
};

// What LightGBM's NumericalDecision does with a value (include/LightGBM/tree.h), but for the
// comparison, which RankSplits prepares.
enum class Missing { kNone = 0, kZero = 1, kNan = 2 };

DoubleSplit ReadNumericalSplit(double threshold, int decision, TreeNode& node) {
  Require(!std::isnan(threshold), "LightGBM: a threshold is NaN");
  const auto missing = static_cast<Missing>((decision >> 2) & 3);
  Require(missing <= Missing::kNan, "LightGBM: a decision_type is out of range");
  // Where nothing was missing in training NaN counts as zero.
  node.default_left = missing == Missing::kNone ? 0 <= threshold : (decision & 2) != 0;
  return {.limit = threshold, .zero_missing = missing == Missing::kZero};
}

Tree ReadTree(const Section& section, TreeEnsemble& model, std::vector<DoubleSplit>& splits) {
  const auto leaves = static_cast<std::size_t>(WholeNumber(section, "num_leaves", 1, 1e8));
  const bool linear = section.contains("is_linear") && Numbers(section, "is_linear", 1)[0] != 0;
  Require(!linear, "LightGBM: linear trees are not supported");
  const std::size_t inner = leaves - 1;
  const auto values = Numbers(section, "leaf_value", leaves);
  Tree tree;
  tree.nodes.resize(inner + leaves);
  for (std::size_t i = 0; i < leaves; ++i) tree.nodes[inner + i].value = values[i];
  if (inner == 0) return tree;
  const auto counts = Numbers(section, "leaf_count", leaves);
  const auto inner_counts = Numbers(section, "internal_count", inner);
  const auto features = Numbers(section, "split_feature", inner);
  const auto thresholds = Numbers(section, "threshold", inner);
  const auto decisions = Numbers(section, "decision_type", inner);
  const auto lefts = Numbers(section, "left_child", inner);
  const auto rights = Numbers(section, "right_child", inner);
  const TreeCategories categories(section);
  for (std::size_t i = 0; i < leaves; ++i) tree.nodes[inner + i].cover = counts[i];
  for (std::size_t i = 0; i < inner; ++i) {
    TreeNode& node = tree.nodes[i];
    node.cover = inner_counts[i];
    Require(features[i] >= 0 && features[i] < model.features,
            "LightGBM: split_feature is out of range");
    node.feature = static_cast<std::int32_t>(features[i]);
    node.left = Child(lefts[i], inner, leaves);
    node.right = Child(rights[i], inner, leaves);
    Require(decisions[i] >= 0 && decisions[i] < 256, "LightGBM: decision_type is out of range");
    const int decision = static_cast<int>(decisions[i]);
    if ((decision & 1) != 0) {  // a missing category goes right
      node.categories = static_cast<std::int32_t>(model.category_sets.size());
      model.category_sets.push_back(categories.set(thresholds[i]));
      continue;
    }
    splits.push_back(ReadNumericalSplit(thresholds[i], decision, node));
    splits.back().tree = model.trees.size();
    splits.back().node = i;
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
  Require(names.size() == static_cast<std::size_t>(features), "LightGBM: \"feature_names\" has ",
          names.size(), " names for ", features, " features");
  bool made_up = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    made_up = made_up && names[i] == "Column_" + std::to_string(i);
  }
  return made_up ? std::vector<std::string>{} : names;
}

// What "feature_infos" tells of a feature in the training data.
struct FeatureInfo {
  bool known = false;  // not "none": a feature without information
  bool categorical = false;
  double low = 0, high = 0;  // of the values, or of the categories

  // Whether the feature may be a column of so many categories, which has codes for values.
  bool fits(std::size_t categories) const {
    if (!known) return true;
    const bool codes =
        categorical || (low >= 0 && low == std::floor(low) && high == std::floor(high));
    return codes && high < static_cast<double>(categories);
  }
};

// "[low:high]" for numbers, categories separated by colons, or "none".
std::vector<FeatureInfo> FeatureInfos(const Sections& sections, std::int32_t features) {
  const auto it = sections.header.find("feature_infos");
  if (it == sections.header.end()) return {};
  std::istringstream list(it->second);
  std::vector<FeatureInfo> infos;
  for (std::string word; list >> word;) {
    FeatureInfo info;
    info.known = word != "none";
    info.categorical = info.known && word.front() != '[';
    std::string_view text = word;
    text.remove_prefix(info.known && !info.categorical ? 1 : 0);
    for (bool first = true; info.known; first = false) {
      const auto number = TakeNumber(text);
      if (!number) break;
      info.low = first ? *number : std::min(info.low, *number);
      info.high = first ? *number : std::max(info.high, *number);
      text.remove_prefix(text.starts_with(':') ? 1 : 0);
    }
    infos.push_back(info);
  }
  Require(infos.size() == static_cast<std::size_t>(features), "LightGBM: \"feature_infos\" has ",
          infos.size(), " entries for ", features, " features");
  // Categorical features without information are told by the parameters alone.
  constexpr std::string_view key = "\n[categorical_feature: ";
  const std::size_t begin = sections.rest.find(key);
  if (begin == std::string_view::npos) return infos;
  std::istringstream indices(std::string(sections.rest.substr(begin + key.size(), 1 << 20)));
  for (std::size_t i = 0; indices >> i; indices.ignore(1)) {
    if (i < infos.size() && !infos[i].known) infos[i].categorical = true;
    if (indices.peek() != ',') break;
  }
  return infos;
}

// The categories of a pandas table's columns of type "category", in the columns' order.
std::vector<CategoryMap> PandasCategories(std::string_view rest) {
  constexpr std::string_view key = "\npandas_categorical:";
  const std::size_t begin = rest.rfind(key);
  if (begin == std::string_view::npos) return {};
  rest.remove_prefix(begin + key.size());
  const auto json = detail::ParseJson(rest.substr(0, rest.find('\n')));
  std::vector<CategoryMap> maps;
  if (json.is_null()) return maps;
  for (const auto& column : json) {
    CategoryMap& map = maps.emplace_back();
    for (const auto& category : column) {
      if (category.is_string()) {
        map.add({category.get<std::string>()});
      } else if (category.is_boolean()) {
        const bool yes = category.get<bool>();
        map.add({yes ? "True" : "False", yes ? "true" : "false"}, yes ? 1.0 : 0.0);
      } else {
        map.add({}, detail::Number(category, "pandas_categorical"));
      }
    }
  }
  return maps;
}

// Ways to give the columns features, in order, each to a feature that it fits.
class Placement {
 public:
  // `all`: every categorical feature is one of the columns.
  Placement(const std::vector<CategoryMap>& maps, const std::vector<FeatureInfo>& infos, bool all)
      : maps_(maps), infos_(infos), all_(all), ways_((infos.size() + 1) * (maps.size() + 1), 0) {
    at(infos.size(), maps.size()) = 1;
    for (std::size_t f = infos.size(); f-- > 0;) {
      for (std::size_t c = 0; c <= maps.size(); ++c) {
        at(f, c) = static_cast<char>(std::min(2, skips(f, c) + takes(f, c)));
      }
    }
  }

  int count() { return at(0, 0); }  // 2: or more
  // The features, where there is one way.
  std::vector<std::size_t> features() {
    std::vector<std::size_t> list;
    for (std::size_t f = 0; f < infos_.size(); ++f) {
      if (takes(f, list.size()) != 0) list.push_back(f);
    }
    return list;
  }

 private:
  // Ways for the columns from c on among the features from f on: 0, 1, or 2 for more.
  char& at(std::size_t f, std::size_t c) { return ways_[f * (maps_.size() + 1) + c]; }
  int skips(std::size_t f, std::size_t c) {
    return all_ && infos_[f].categorical ? 0 : at(f + 1, c);
  }
  int takes(std::size_t f, std::size_t c) {
    return c < maps_.size() && infos_[f].fits(maps_[c].size()) ? at(f + 1, c + 1) : 0;
  }

  const std::vector<CategoryMap>& maps_;
  const std::vector<FeatureInfo>& infos_;
  bool all_;
  std::vector<char> ways_;
};

// The features that the columns are; nothing where it cannot be told. LightGBM does not write it:
// categorical features are columns unless they were named in training, and columns whose
// categories are ordered are no categorical features.
// @param guessed whether it is told only by the assumption that none were named
std::vector<std::size_t> PlaceColumns(const std::vector<CategoryMap>& maps,
                                      const std::vector<FeatureInfo>& infos, bool& guessed) {
  if (infos.size() * maps.size() > (std::size_t{1} << 26)) return {};
  for (const bool all : {true, false}) {
    Placement placement(maps, infos, all);
    if (placement.count() == 1) {
      guessed = all && Placement(maps, infos, false).count() > 1;
      return placement.features();
    }
    if (placement.count() > 1) break;
  }
  return {};
}

std::string GuessNote(const std::vector<std::size_t>& features, const TreeEnsemble& model) {
  std::string list;
  for (const std::size_t f : features) {
    list += (list.empty() ? "\"" : ", \"") +
            (model.feature_names.empty() ? std::to_string(f) : model.feature_names[f]) + '"';
  }
  return "\"pandas_categorical\" does not say whose categories it lists; they are taken for those "
         "of " +
         list +
         ", which is a guess, since others fit too; where it is wrong, write the data with the "
         "codes of the categories, and an empty list, [], in the model's last line";
}

void ReadCategoryMaps(const Sections& sections, TreeEnsemble& model, const ReadOptions& options) {
  const std::vector<FeatureInfo> infos = FeatureInfos(sections, model.features);
  for (auto& [feature, encoding] : model.encodings) {
    if (infos.empty() || encoding.largest_category < 0) continue;
    encoding.largest_category =
        std::max(encoding.largest_category, infos[static_cast<std::size_t>(feature)].high);
  }
  std::vector<CategoryMap> maps = PandasCategories(sections.rest);
  if (maps.empty()) return;
  bool guessed = false;
  const auto features = PlaceColumns(maps, infos, guessed);
  Require(!features.empty(), "LightGBM: \"pandas_categorical\" lists the categories of ",
          maps.size(),
          " columns, and it cannot be told which features these are; write the data with the codes "
          "of the categories, and an empty list, [], in the model's last line");
  if (guessed && options.say) options.say(GuessNote(features, model));
  for (std::size_t c = 0; c < maps.size(); ++c) {
    model.encodings[static_cast<std::int32_t>(features[c])].categories = std::move(maps[c]);
  }
}

}  // namespace

TreeEnsemble ReadLightgbmText(std::string_view text, const ReadOptions& options) {
  const Sections sections = Split(text);
  TreeEnsemble model;
  model.features = WholeNumber(sections.header, "max_feature_idx", 0, 2147483646.0) + 1;
  model.groups = WholeNumber(sections.header, "num_tree_per_iteration", 1, 65536);
  model.base_score.assign(static_cast<std::size_t>(model.groups), 0.0);
  model.feature_names = FeatureNames(sections.header, model.features);
  model.names_without_spaces = true;
  // Trees add up, in a random forest too (its predictions are means, its raw scores and
  // contributions are not).
  const auto groups = static_cast<std::size_t>(model.groups);
  std::vector<DoubleSplit> splits;
  for (std::size_t t = 0; t < sections.trees.size(); ++t) {
    model.trees.push_back(ReadTree(sections.trees[t], model, splits));
    model.trees.back().group = static_cast<std::int32_t>(t % groups);
  }
  RankSplits(model, splits, RowRule::kLightgbm);
  ReadCategoryMaps(sections, model, options);
  Validate(model);
  return model;
}

}  // namespace retable::treeshap

#pragma once
//! @file
//! One model form for every library's trees: binary splits on a float, or on a set of categories,
//! with a direction for missing values and a cover (weight of training rows) at each node.
//!
//! Conventions. A numerical split sends x < threshold to the left; x <= t of other libraries
//! becomes x < nextafter(t). NaN is a missing value. Infinite values count as the largest finite
//! float (ClampInfinity), so that an interval without an upper end holds every value. The weight of
//! a left child is cover_left / (cover_left + cover_right), and 1/2 where both are zero: weights of
//! siblings sum to one exactly, which float covers stored by libraries do not. All trees split a
//! feature by number, or all by category. Rows are what feature_encoding.hpp makes of a table's.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "algorithms/treeshap/model/feature_encoding.hpp"

namespace retable::treeshap {

//! A node: a leaf where feature < 0.
struct TreeNode {
  std::int32_t feature = -1;
  float threshold = 0;
  std::int32_t left = -1;
  std::int32_t right = -1;
  std::int32_t categories = -1;  //!< index into TreeEnsemble::category_sets; -1: numerical
  bool default_left = false;     //!< whether a missing value goes left
  double cover = 0;
  double value = 0;  //!< a leaf's output

  bool is_leaf() const { return feature < 0; }
};

//! The categories (x truncated to an integer) that go left.
struct CategorySet {
  std::vector<std::uint32_t> left;  //!< bit i % 32 of word i / 32 is category i
  bool others_left = false;         //!< negative categories and those beyond the last word

  bool goes_left(float x) const;
  //! Whether a category that the words hold goes left.
  bool holds(std::size_t category) const {
    return ((left[category / 32] >> (category % 32)) & 1u) != 0;
  }
};

//! A tree; node 0 is the root.
struct Tree {
  std::vector<TreeNode> nodes;
  std::int32_t group = 0;  //!< the output (class) it adds to

  const TreeNode& at(std::int32_t n) const { return nodes[static_cast<std::size_t>(n)]; }
};

//! A sum of trees for each output, plus a base score.
struct TreeEnsemble {
  std::int32_t features = 0;
  std::int32_t groups = 1;
  std::vector<double> base_score = {0.0};  //!< one per group, on the margin's scale
  std::vector<Tree> trees;
  std::vector<CategorySet> category_sets;
  std::vector<std::string> feature_names;  //!< empty, or one per feature
  //! The trainer wrote "_" for each space of a name, as LightGBM does.
  bool names_without_spaces = false;
  //! By feature: how values of the table become the floats of a row. Where there is none: by
  //! rounding.
  std::map<std::int32_t, FeatureEncoding> encodings;
};

//! Rows of data: row-major, `rows` x `columns`; NaN is missing.
struct RowBlock {
  std::span<const float> values;
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::span<const float> row(std::size_t i) const { return values.subspan(i * columns, columns); }
  RowBlock slice(std::size_t begin, std::size_t count) const {
    return {values.subspan(begin * columns, count * columns), count, columns};
  }
};

//! Nodes deeper than this are refused: only a hostile file has them.
inline constexpr int kMaxTreeDepth = 512;

//! Whether the row value x takes the left child of the (inner) node.
bool GoesLeft(const TreeEnsemble& model, const TreeNode& node, float x);

//! The fraction of the node's cover that goes left, in [0, 1].
double LeftWeight(const Tree& tree, const TreeNode& node);

//! The cover-weighted mean of the leaf values.
double ExpectedValue(const Tree& tree);

//! Depth of the deepest leaf: 0 for a single leaf.
int Depth(const Tree& tree);

//! Calls visit(features) for each leaf, with the number of distinct features on the path to it.
void ForEachLeaf(const Tree& tree, const std::function<void(int features)>& visit);

//! The largest of these numbers.
int MaxPathFeatures(const Tree& tree);

//! The largest |output| of a leaf.
double LargestLeaf(const Tree& tree);

std::size_t LeafCount(const Tree& tree);
std::size_t LeafCount(const TreeEnsemble& model);

//! Those that some split of the model tells by category.
std::set<std::int32_t> CategoricalFeatures(const TreeEnsemble& model);

//! Margins of one row, one per group, in double. Cost O(depth) a tree.
std::vector<double> Predict(const TreeEnsemble& model, std::span<const float> row);

//! The float t for which x <= limit and x < t agree for every float x: some libraries split by <=.
float StrictThreshold(double limit);

//! Checks every promise of this header. @throws std::invalid_argument naming tree, node and remedy.
void Validate(const TreeEnsemble& model);

//! @throws std::invalid_argument unless the rows' shape fits the model.
void ValidateRows(const TreeEnsemble& model, const RowBlock& rows);

}  // namespace retable::treeshap

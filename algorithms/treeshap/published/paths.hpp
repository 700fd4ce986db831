#pragma once
//! @file
//! Path extraction: an ensemble as the list of its root-to-leaf paths, each a hyperrectangle.
//!
//! A feature that occurs twice on a path is one element: intervals, category sets and directions
//! for missing values are intersected and the weights of the edges multiplied, which removes
//! UNWIND's second use from Algorithm 1 (Mitchell et al. 2022, "Extract paths", "Remove duplicate
//! features"). Element 0 of each path is the bias (feature -1, both fractions 1). Memory O(sum of
//! path lengths).

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::treeshap {

//! One distinct feature of one path (listing 1 of the paper).
struct PathElement {
  std::int32_t feature = -1;  //!< -1: the bias
  //! x in [lower, upper) follows the path when the feature is present
  float lower = -std::numeric_limits<float>::infinity();
  float upper = std::numeric_limits<float>::infinity();
  std::int32_t categories = -1;  //!< index into PathList::category_sets, or -1
  bool missing_follows = true;   //!< whether NaN follows the path
  double zero_fraction = 1;      //!< fraction of the cover that follows when the feature is absent
};

struct Path {
  std::size_t begin = 0;    //!< first element (the bias)
  std::int32_t length = 0;  //!< elements, bias included
  std::int32_t group = 0;
  double value = 0;  //!< the leaf's value
};

struct PathList {
  std::vector<PathElement> elements;
  std::vector<Path> paths;
  std::vector<CategorySet> category_sets;  //!< intersections; "left" means "follows"

  std::span<const PathElement> of(const Path& path) const {
    return std::span(elements).subspan(path.begin, static_cast<std::size_t>(path.length));
  }
};

//! All paths, in depth-first order of each tree. The model must be valid.
PathList ExtractPaths(const TreeEnsemble& model);

//! 1 when the row value follows the element's condition, else 0.
inline bool Follows(const PathList& list, const PathElement& element, float x) {
  if (std::isnan(x)) return element.missing_follows;
  if (element.categories >= 0) {
    return list.category_sets[static_cast<std::size_t>(element.categories)].goes_left(x);
  }
  x = ClampInfinity(x);
  return x >= element.lower && x < element.upper;
}

//! What the path says of the split's feature on one side of it, where it said `above` before. A new
//! set of categories is appended to `sets`, to which the element's belongs.
PathElement Narrowed(const PathElement& above, const TreeEnsemble& model, const Tree& tree,
                     const TreeNode& node, bool left, std::vector<CategorySet>& sets);

}  // namespace retable::treeshap

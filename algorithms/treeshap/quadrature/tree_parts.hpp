#pragma once
//! @file
//! Large trees as sums of smaller ones.
//!
//! SHAP values and interactions are linear in the leaves and do not see a constant. So the values
//! of a tree are the sums of those of its *parts*: a part has some neighbouring leaves and all
//! splits above them; each subtree beside them is one leaf of the tree's mean. Parts keep all
//! multiprocessors busy where a model has few trees, their stacks are lower, and each has the
//! quadrature points of its own deepest leaves. They repeat the splits above them: 1 to 3 % for
//! parts of 256 leaves.

#include <cstddef>

#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {

//! The model with parts of at most so many leaves, which are at least 1, in place of trees of more.
//! A tree whose parts would have more than a quarter more splits stays whole. O(nodes x parts)
AnnotatedModel CutTrees(AnnotatedModel model, std::size_t most_leaves);

}  // namespace retable::treeshap

#pragma once
//! @file
//! Flop counts of the two ways to exact tree SHAP: what a method declares as its work.
//!
//! Counted is what cannot be left out, an addition, a multiplication or a division each as one; a
//! method that needs more of them (two directions of a comparison, tables) reaches a smaller share
//! of its machine. Routing, comparisons and memory are not counted.

#include "algorithms/treeshap/model/tree_ensemble.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {

//! Operations a row of EXTEND and UNWOUNDSUM (published/path_steps.hpp). A path of d distinct
//! features asks for d sums of d steps, four operations each; where every path is extended by
//! itself (GPUTreeShap), for d (d + 3) / 2 new weights of two operations. Interactions condition
//! each path on each of its features, which leaves d - 1 (Mitchell et al. 2022, section
//! "Interactions").
double PathFlops(const TreeEnsemble& model, bool interactions, bool extends_each_path);

//! Operations a row of the sibling recurrence (quadrature/annotated_model.hpp), each row alone: 10
//! Q at a node with inner children, 4 Q at a parent of two leaves, with the Q points of the tree.
double QuadratureFlops(const AnnotatedModel& model, bool in_float);

}  // namespace retable::treeshap

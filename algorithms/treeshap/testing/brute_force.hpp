#pragma once
//! @file
//! Reference values, slow and plain, in double.
//!
//! BruteForce enumerates all subsets of the features and evaluates the conditional expectation of
//! each by recursion: the definition itself, O(2^F) traversals, F up to 20. PathReference
//! integrates each path alone and builds the weights of the others afresh for every feature: it
//! only ever adds positive numbers, so it is right at any depth, at O(d^3) a path.

#include <vector>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

//! phi in the layout of TreeExplainer::values. @throws std::invalid_argument over 20 features.
std::vector<double> BruteForceValues(const TreeEnsemble& model, const RowBlock& rows);
//! The layout of TreeExplainer::interactions.
std::vector<double> BruteForceInteractions(const TreeEnsemble& model, const RowBlock& rows);
//! Banzhaf values: all subsets weigh the same.
std::vector<double> BruteForceBanzhaf(const TreeEnsemble& model, const RowBlock& rows);
//! The interaction index of every set of `order` features, Shapley's (Grabisch and Roubens 1999) or
//! Banzhaf's: rows x groups x 2^F by the set's bits, zero for sets of another size.
std::vector<double> BruteForceIndex(const TreeEnsemble& model, const RowBlock& rows, int order,
                                    bool banzhaf);
//! Interventional values: f(S) is the mean over background rows b of f(x on S, b elsewhere).
std::vector<double> BruteForceInterventional(const TreeEnsemble& model, const RowBlock& rows,
                                             const RowBlock& background);

//! Path-dependent values at any depth.
std::vector<double> PathReferenceValues(const TreeEnsemble& model, const RowBlock& rows);
//! Path-dependent interactions at any depth: O(d^4) a path.
std::vector<double> PathReferenceInteractions(const TreeEnsemble& model, const RowBlock& rows);

}  // namespace retable::treeshap

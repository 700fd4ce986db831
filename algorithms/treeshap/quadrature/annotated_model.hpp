#pragma once
//! @file
//! The model as the quadrature methods see it: exact tree SHAP as an integral, by sibling
//! recurrence.
//!
//! Let every feature be present independently with probability t. The expected output F(t) is
//! multilinear, and the Shapley value is the diagonal integral phi_i = int_0^1 dF/dt_i (Owen 1972).
//! A leaf contributes value * prod_j u_j(t) with u_j = h_j t + c_j (1 - t), where h_j says whether
//! the row satisfies all splits on j along the path and c_j is the product of their weights. The
//! integrand has degree below d, the number of distinct features on the path, so Gauss-Legendre
//! with Q = ceil(d / 2) nodes is exact: Q = 4 for eight features at any depth.
//!
//! Sibling recurrence. Going down, G is the product of the u_j so far; coming up, K is the expected
//! value of the subtree in which every feature is already split as its parent says. At a node that
//! splits feature f, with c the accumulated weight of f above it, D(t) = t + c (1 - t),
//! w the right child's weight and h = 1 where the row goes right:
//!
//!     delta = h - w where the row satisfies all earlier splits on f ("inside"), else 0
//!     r     = w + delta g,   g = t / D           the share of the right child
//!     G_right = G r,  G_left = G - G_right,  K = K_left + r (K_right - K_left)
//!     phi_f += delta * sum_q G e (K_right - K_left),   e = weight_q c / D^2
//!
//! g and e do not depend on the row: they are tabulated for each node, which leaves 7 operations
//! for each node, row and quadrature point, without a division. K is a convex combination of leaf
//! values and G lies in [0, 1], so nothing overflows and nothing is divided by a small cover. A
//! node whose children are both leaves has a closed form of 2 operations. O(T L Q) a row.
//!
//! Sources: Owen 1972 (multilinear extension); Wettenstein, Mitchell, Yu 2026 (quadrature tree
//! SHAP); the sibling form and its one contribution per node are rederived here.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/treeshap/model/tree_ensemble.hpp"

namespace retable::treeshap {

//! Nodes and weights on (0, 1).
struct QuadratureRule {
  std::vector<double> node;
  std::vector<double> weight;

  std::size_t size() const { return node.size(); }
};

//! The n-point Gauss-Legendre rule, exact for polynomials of degree 2n - 1. Newton's method on the
//! Legendre recurrence, to the last digits of double. n >= 1.
QuadratureRule GaussLegendre(int n);

//! Points for a tree with paths of at most d distinct features: max(1, ceil(d / 2)).
int ExactPoints(int d);

struct AnnotatedTree;

//! Points, ExactPoints at most, with which the rule's error of a leaf's share in any value of any
//! row is below 2^-23 of the largest leaf's value: a float cannot tell it from the exact integral.
//! Deep trees need far fewer than ExactPoints unless their paths take the rare side at every split.
//! O(leaves d^2) where d is above 8.
//!
//! Why: on t = cos^2(a), u_j = (1 + c) / 2 + (1 - c) / 2 cos(2a) where the row satisfies the splits
//! on j, else c / 2 - c / 2 cos(2a). The product's Chebyshev coefficients from 2n on, which alone
//! the rule of n points gets wrong, are therefore at most twice the chance that a walk ends at 2n
//! or beyond, which stays in place with the first weight and goes one step either way with half the
//! second. The share of feature j lacks the factor j, has |h_j - c_j| in its place and thus at most
//! four times the chance of 2n + 1 or beyond with all factors.
int FloatPoints(const AnnotatedTree& tree);

//! A split with everything that does not depend on the row.
struct AnnotatedNode {
  std::int32_t feature = -1;  //!< -1: leaf
  std::int32_t left = -1, right = -1;
  float lower = 0,
        upper = 0;      //!< inside: lower <= x < upper, from the earlier splits on the feature
  float threshold = 0;  //!< x < threshold goes left
  std::int32_t inside_set = -1, left_set = -1;  //!< category sets, -1: numerical
  bool missing_inside = true;
  bool missing_left = false;
  std::int16_t height = 0;  //!< 0: leaf
  std::int32_t leaves = 1;  //!< at and below the node
  double cover_above = 1;   //!< c: product of the weights of the earlier splits on the feature
  double left_weight = 0.5;
  //! A leaf's value over the tree's mean, which no contribution sees; a split's mean over its
  //! leaves.
  double value = 0;
};

static_assert(sizeof(AnnotatedNode) == 64, "a line of the cache");

struct AnnotatedTree {
  std::vector<AnnotatedNode> nodes;  //!< preorder; node 0 is the root
  std::int32_t group = 0;
  std::int32_t path_features = 0;  //!< largest number of distinct features on a path

  const AnnotatedNode& at(std::int32_t n) const { return nodes[static_cast<std::size_t>(n)]; }
};

//! Sets the height, the leaves and the mean of a split whose children are in the tree.
void Summarise(const AnnotatedTree& tree, AnnotatedNode& split);

struct AnnotatedModel {
  std::int32_t features = 0;
  std::int32_t groups = 1;
  std::vector<AnnotatedTree> trees;
  std::vector<CategorySet> sets;  //!< "left" means "is in"
  std::vector<double> expected;   //!< per group, base score included
};

//! Validates and annotates. @throws std::invalid_argument as Validate, and over kMaxPathFeatures
//! distinct features on one path.
AnnotatedModel Annotate(const TreeEnsemble& model);

//! The largest |value| of a leaf, which bounds the tree's sums.
double LargestLeaf(const AnnotatedTree& tree);

//! Splits of all trees.
std::size_t SplitCount(const AnnotatedModel& model);

inline constexpr int kMaxPathFeatures = 256;

}  // namespace retable::treeshap

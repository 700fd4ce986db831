#pragma once
//! @file
//! Interactions of any order: how much does a set S of features do that its subsets do not?
//!
//! The Shapley interaction index (Grabisch and Roubens 1999) is a weighted mean, over the sets T
//! disjoint from S, of the discrete derivative of the game at T in the direction of S; Banzhaf's
//! gives all T equal weight. Both follow from the integral of quadrature/annotated_model.hpp: a
//! leaf adds
//!
//!     value * prod_{j in S} (h_j - c_j) * int_0^1 prod_{k not in S} u_k(t) dt,
//!
//! and Banzhaf's index is the integrand at t = 1/2. With d features on the path the degree is d -
//! s: ceil((d - s + 1) / 2) Gauss-Legendre points are exact. Nothing is divided: one pass over
//! a path's features serves all sets, those in S as factors and the others as products over the
//! points.
//!
//! O(leaves * C(d, s) * d / 2) a row, and as many numbers of memory as leaves have sets. Order 1 is
//! the values; order 2 is twice the matrix's entry, as a matrix has two triangles.

#include <cstdint>
#include <vector>

#include "algorithms/treeshap/published/paths.hpp"
#include "algorithms/treeshap/quadrature/annotated_model.hpp"

namespace retable::treeshap {

struct InteractionIndexOptions {
  int order = 2;  //!< features in a set, at least 1
  bool banzhaf = false;
  int threads = 0;  //!< 0: all
};

//! A set of features, ascending, and its index.
struct SetValue {
  std::vector<std::int32_t> features;
  double value = 0;
};

class InteractionIndex {
 public:
  //! @throws std::invalid_argument as Validate, for an order below 1, and where the paths have more
  //! than kMostPathSets sets of this order.
  InteractionIndex(const TreeEnsemble& model, InteractionIndexOptions options);

  //! Sets of all outputs that some path has.
  std::size_t sets() const;

  //! For each row and output (row-major) the sets whose index is not zero, in lexicographic order;
  //! all features of a set are on one path of some tree. In double.
  //! @throws std::invalid_argument for rows of another shape.
  std::vector<std::vector<SetValue>> find(const RowBlock& rows) const;

 private:
  struct Visitor;
  void Explain(std::span<const float> row, std::vector<std::vector<double>>& sums) const;

  InteractionIndexOptions options_;
  TreeEnsemble shape_;                  // features and groups alone
  PathList paths_;                      // elements by feature
  std::vector<QuadratureRule> rules_;   // by number of features on the path
  std::vector<std::size_t> first_;      // first entry of each path in numbers_
  std::vector<std::uint32_t> numbers_;  // index of each path's sets among its output's
  std::vector<std::vector<std::vector<std::int32_t>>> sets_;  // each output's
  std::vector<std::vector<std::uint32_t>> order_;             // each output's sets sorted
};

//! Numbers that paths may have in all: 4 GB.
inline constexpr std::size_t kMostPathSets = std::size_t{1} << 30;

}  // namespace retable::treeshap

#pragma once
//! @file
//! What moments prove about a distribution: its atoms if they are few, and bounds on its ranks.
//!
//! Problem: given Chebyshev moments of a distribution on [-1, 1], (a) decide whether it has only a
//! few atoms, and which; (b) bound its distribution function at a point, for every distribution
//! with these moments. Approach: the modified Chebyshev algorithm turns 2m moments into the first m
//! rows of the Jacobi matrix of its orthogonal polynomials (Wheeler 1974; Gautschi, Orthogonal
//! Polynomials, 2004, section 2.1.7), well-conditioned because the moments already are Chebyshev's.
//! The product beta_1 ... beta_k is the least squared norm of a monic polynomial of degree k: it is
//! zero just if the distribution has k points, which then are the eigenvalues of the k x k matrix
//! (Golub, Welsch 1969). Otherwise the matrix grown by one row so that t is an eigenvalue gives the
//! distribution of m + 1 points, one of them t, whose masses left of t and up to t enclose those of
//! every distribution with these 2m + 1 moments (Chebyshev, Markov, Stieltjes; Akhiezer 1965,
//! section 2.5).
//!
//! Complexity O(l^2) for the matrix, an eigenproblem of size 8 a bound. Deterministic.

#include <array>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

namespace retable::quantiles {

//! Points of mass.
struct Atoms {
  std::vector<double> point;  //!< ascending
  std::vector<double> mass;   //!< sums to 1
};

//! Of the ranks [F(t-), F(t)] that a value t holds: the upper end is at least `through`, the lower
//! end at most `below`. The rank error of t as the phi-quantile is at most
//! max(0, below - phi, phi - through).
struct RankBounds {
  double through = 0;
  double below = 1;
};

class JacobiMatrix {
 public:
  //! Moments mu[0..order], mu[0] = 1, of precision `noise`, of `count` values.
  JacobiMatrix(const Moments& mu, int order, double noise, double count);

  //! Number of points if the moments tell that there are at most order / 2; else 0.
  int atom_count() const { return complete_ ? size_ : 0; }
  //! The Gauss rule of the matrix: the atoms themselves if atom_count() > 0.
  Atoms Gauss() const;
  //! Bounds on the ranks of t, -1 < t < 1. `step` > 0: t and all values are multiples of it (from
  //! some origin). Moments locate an atom up to their noise only: without a lattice an answer near
  //! an atom may lie left or right of it, and the bounds cover both.
  RankBounds Bounds(double t, double step) const;

 private:
  Atoms Solve(int size, double last) const;

  static constexpr int kMax = (kMaxOrder + 1) / 2;
  std::array<double, kMax + 1> alpha_{};
  std::array<double, kMax + 1> beta_{};
  int size_ = 0;           //!< rows of the matrix
  bool complete_ = false;  //!< The distribution has exactly size_ atoms.
  bool closed_ = false;    //!< beta_[size_] is known
  Atoms gauss_;
  std::vector<double> doubt_;  //!< Largest distance of an atom's values from it.
};

}  // namespace retable::quantiles

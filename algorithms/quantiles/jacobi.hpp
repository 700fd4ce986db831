#pragma once
//! @file
//! What moments prove about a distribution: its atoms if they are few, and bounds on its ranks.
//!
//! Problem: given Chebyshev moments of a distribution on [-1, 1], (a) tell whether it sits on a few
//! points, and on which; (b) bound its distribution function at a point, for every distribution
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

#include "algorithms/quantiles/dual.hpp"

namespace retable::quantiles {

//! Points of mass.
struct Atoms {
  std::vector<double> point;  //!< ascending
  std::vector<double> mass;   //!< sums to 1
};

//! F(t-) is at least `low`, F(t) at most `high`.
struct RankInterval {
  double low = 0;
  double high = 1;
};

class JacobiMatrix {
 public:
  //! Moments mu[0..order], mu[0] = 1, of precision `noise`.
  JacobiMatrix(const Moments& mu, int order, double noise);

  //! Number of points if the moments tell that there are at most order / 2; else 0.
  int atom_count() const { return complete_ ? size_ : 0; }
  //! The Gauss rule of the matrix: the atoms themselves if atom_count() > 0.
  Atoms Gauss() const;
  //! Bounds on the ranks of t, -1 < t < 1.
  RankInterval Bounds(double t) const;

 private:
  Atoms Solve(int size, double last) const;

  static constexpr int kMax = (kMaxOrder + 1) / 2;
  std::array<double, kMax + 1> alpha_{};
  std::array<double, kMax + 1> beta_{};
  int size_ = 0;           //!< rows of the matrix
  bool complete_ = false;  //!< there are just size_ points
  bool closed_ = false;    //!< beta_[size_] is known
  Atoms gauss_;
};

}  // namespace retable::quantiles

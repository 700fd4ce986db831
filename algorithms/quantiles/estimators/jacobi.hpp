#pragma once
//! @file
//! Jacobi matrices from moments: the atoms of a distribution if they are few, and points for
//! bounds.
//!
//! Problem: given Chebyshev moments of a distribution on [-1, 1], (a) decide whether it has only a
//! few atoms, and which; (b) find the points of the distribution that has these moments and an atom
//! at t (rank_bounds.hpp). Approach: the modified Chebyshev algorithm turns 2m moments into the
//! first m rows of the Jacobi matrix of its orthogonal polynomials (Wheeler 1974; Gautschi,
//! Orthogonal Polynomials, 2004, section 2.1.7), well-conditioned because the moments already are
//! Chebyshev's. The product beta_1 ... beta_k is the least squared norm of a monic polynomial of
//! degree k: it is zero just if the distribution has k points, which then are the eigenvalues of
//! the k x k matrix (Golub, Welsch 1969). Otherwise the matrix grown by one row so that t is an
//! eigenvalue gives the distribution of m + 1 points, one of them t.
//!
//! Complexity O(l^2) for the matrix, an eigenproblem of size 8 for points. Deterministic.

#include <array>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

namespace retable::quantiles {

//! Points of mass.
struct Atoms {
  std::vector<double> point;  //!< ascending
  std::vector<double> mass;   //!< sums to 1
};

class JacobiMatrix {
 public:
  //! Moments mu[0..order], mu[0] = 1, of precision `noise`.
  JacobiMatrix(const Moments& mu, int order, double noise);

  //! Number of points if the moments tell that there are at most order / 2; else 0.
  int atom_count() const { return complete_ ? size_ : 0; }
  //! The Gauss rule of the matrix: the atoms themselves if atom_count() > 0.
  Atoms Gauss() const;
  //! The most rows that may precede the row that PointsWith adds.
  int PrescribedRows() const { return closed_ || complete_ ? size_ : size_ - 1; }
  //! rows + 1 points, one of them about t: the eigenvalues of `rows` rows and one chosen for t. Not
  //! sorted; empty where they are not finite.
  std::vector<double> PointsWith(double t, int rows) const;

 private:
  static constexpr int kMax = (kMaxOrder + 1) / 2;
  std::array<double, kMax + 1> alpha_{};
  std::array<double, kMax + 1> beta_{};
  int size_ = 0;           //!< rows of the matrix
  bool complete_ = false;  //!< The distribution has exactly size_ atoms.
  bool closed_ = false;    //!< beta_[size_] is known
};

}  // namespace retable::quantiles

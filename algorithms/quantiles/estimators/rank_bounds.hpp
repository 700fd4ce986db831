#pragma once
//! @file
//! What moments prove about ranks: bounds on a distribution function at a point, for every
//! distribution with these moments.
//!
//! Problem: given Chebyshev moments of a distribution on an interval, each known up to an error,
//! bound P(X <= t) from above and below so that rounding cannot make the bound false. Approach: for
//! any points z of the interval, the polynomial p that is 1 at those up to t, 0 at those beyond,
//! and flat at all but t and the interval's ends, is nowhere below the step 1{x <= t} (Chebyshev,
//! Markov, Stieltjes; Akhiezer 1965, section 2.5), so that P(X <= t) <= E p(X) = sum c_k E T_k.
//! The points of the canonical representation, eigenvalues of a Jacobi matrix with t as one of
//! them, make this the least upper bound; but *any* points make it true. Hence eigenvalues may be
//! inexact, and only the last sum needs care: the moments' error times sum |c_k| and the rounding
//! of the c_k, both known, are added. Where points come so close that these outweigh the gain,
//! fewer points are taken.
//!
//! Values on a lattice: p need not stay above the step between two adjacent lattice points, so a
//! flat point becomes a pair of them. Seventeen points of a lattice are determined by 15 moments.
//!
//! Complexity: O(l^3) a bound, 5 to 50 us. Deterministic.

#include <array>
#include <vector>

#include "algorithms/quantiles/estimators/jacobi.hpp"

namespace retable::quantiles {

//! Of the ranks [F(t-), F(t)] that a value t holds: the upper end is at least `through`, the lower
//! end at most `below`. The rank error of t as the phi-quantile is at most
//! max(0, below - phi, phi - through).
struct RankBounds {
  double through = 0;
  double below = 1;

  double Error(double phi) const;
};

//! Where values may lie, in [-1, 1].
struct Support {
  double low = -1;
  double high = 1;
  double step = 0;   //!< > 0: only points low + i step
  double slack = 0;  //!< largest distance of a value from where it was summed: its lattice point
};

class RankBounder {
 public:
  //! More precise than a double where the machine has it.
  using Wide = long double;
  //! Points of p in ascending order; the first `ones` have the value 1, the others 0.
  struct Points {
    std::array<Wide, kMaxOrder + 1> at{};
    int count = 0;
    int ones = 0;
    bool full = false;  //!< More were added than there is room for.

    void Add(Wide z) {
      full = full || count > kMaxOrder;
      if (!full) at[static_cast<std::size_t>(count++)] = z;
    }
  };

  //! Moments mu[0..order], mu[0] = 1, each within `error` of the true one; mu[1..order] may be NaN,
  //! and prove nothing then.
  RankBounder(const Moments& mu, int order, double error, const Support& support);

  //! Bounds on the ranks of t. On a lattice t is taken for its nearest point, and ranks are those
  //! of all values within `slack` of it.
  RankBounds Ranks(double t) const;

 private:
  //! One direction: a bound on P(X <= t); P(X >= t) is that of the mirrored moments.
  class Side {
   public:
    Side(const Moments& mu, int order, double error, const Support& support);
    //! Upper bound on P(X <= t).
    double Upper(double t) const;

   private:
    //! A Jacobi matrix of (x - low)^a (high - x)^b dF: its eigenvalues, with the ends of positive
    //! exponent, are the points of p.
    struct Family {
      bool low;
      bool high;
      JacobiMatrix jacobi;
    };
    void Add(bool low, bool high);
    //! E p for `others` besides t, or 1 or more where it is of no use; `cost`: what the errors of
    //! moments and rounding add to it.
    double Try(double t, const std::vector<double>& others, const Family& family,
               double& cost) const;
    //! Adds a flat point on one side of `at`, or the end of the support once. @return whether the
    //! end is used now
    bool AddLeft(Points& points, double z, Wide at, bool low_used) const;
    bool AddRight(Points& points, double z, Wide at, bool high_used) const;
    //! E p and what the errors of moments and rounding add to it.
    double Mean(const Points& points, double& cost) const;

    Moments mu_;
    int order_;
    double error_;
    Support support_;
    std::vector<Family> families_;
  };

  Support support_;
  Side below_;
  Side above_;
};

}  // namespace retable::quantiles

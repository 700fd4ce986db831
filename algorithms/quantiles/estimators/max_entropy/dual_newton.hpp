#pragma once
//! @file
//! Newton's iteration on the maximum-entropy dual, written once for a team of lanes: a CPU core
//! with a vector of eight nodes is a team of one, a GPU warp one of 32 lanes with a node each.
//!
//! Approach: Newton on the convex dual (Mitchell et al. 2021, eq. 6) with theta_0 eliminated,
//!     L(theta) = log sum_j w_j exp(sum_{k>=1} theta_k T_k(t_j)) - sum_{k>=1} theta_k mu_k,
//! whose minimum is that of eq. 6 and which cannot overflow. The Hessian is the covariance of
//! T_1..T_l, from 2l moments by T_i T_j = (T_{i+j} + T_{|i-j|}) / 2; the step is a Cholesky solve
//! with a ridge that grows until the factor is sound; Armijo's rule halves it.
//!
//! The moments of data with few distinct values lie on the boundary of the moment space: the dual
//! has no minimum, and full Newton steps would remove mass from nodes that later steps need. So no
//! step may change a log-density by more than a limit, 4 at first and 3 % more in each iteration.
//! The iterates then tend to the atoms while the gradient tends to zero; the fit keeps the iterate
//! of the smallest gradient. For moments outside of the moment space the gradient does not vanish:
//! `residual` is its size.
//!
//! Complexity: N (6 l + 1 exp) + l^3 / 6 operations an iteration, 1 to 200 iterations.
//! Deterministic for a given team.
//!
//! A Team has: Value, an arithmetic type of kWidth nodes; kLanes; kItems, the most Values of a
//! lane; lane(); Sync(); Sum and Max over the Values of all lanes; SumAll, many sums at once; Exp
//! of Values <= 0; Node and Weight of an item; Fill.

#include <cmath>

#include "algorithms/quantiles/estimators/max_entropy/dual_problem.hpp"
#include "algorithms/quantiles/select.hpp"
#include "base/cuda/unroll.hpp"

#if defined(__CUDACC__)
#define RETABLE_TEAM __device__ __forceinline__
#else
#define RETABLE_TEAM inline __attribute__((always_inline))
// Vectors never cross a call that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace retable::quantiles {

inline constexpr int kDualIterations = 200;
inline constexpr double kDualTolerance = 1e-10;  // gradient: below the precision of float data
inline constexpr double kDualReach = 4;          // change of a log-density in the first iteration
inline constexpr double kDualReachGrowth = 1.03;
inline constexpr double kDualRidge = 1e-13;  // first ridge, relative to the Hessian's diagonal

//! Memory shared by a team's lanes. Vectors are indexed by order; only `moment` uses index 0.
template <int L>
struct DualShared {
  double moment[2 * L + 2];
  double gradient[L + 1];
  double direction[L + 1];
  double theta[L + 1];
  double best[L + 1];
  double hessian[L + 1][L + 2];
  double factor[L + 1][L + 2];
};

template <int L, class Team>
class DualNewton {
 public:
  using Value = typename Team::Value;

  //! `count` nodes; no other team uses `shared`.
  RETABLE_TEAM DualNewton(Team& team, DualShared<L>& shared, int count)
      : team_(team), s_(shared), items_((count + kStep - 1) / kStep) {}

  RETABLE_TEAM void Solve(const double* mu, int order, DualAnswer& answer) {
    for (int k = 1 + team_.lane(); k <= order; k += Team::kLanes) s_.theta[k] = s_.best[k] = 0;
    exponent_[0] = along_[0] = team_.Fill(0);
    for (int i = 1; i < items_; ++i) exponent_[i] = along_[i] = team_.Fill(0);
    team_.Sync();
    double log_normaliser = Trial(0);
    double best_log_normaliser = log_normaliser;
    double residual = order > 0 ? 1e300 : 0;
    double limit = kDualReach;
    int iteration = 0;
    for (; order > 0 && iteration < kDualIterations; ++iteration) {
      FindMoments();
      const double size = FindGradient(mu, order);
      if (size < residual) {
        residual = size;
        best_log_normaliser = log_normaliser;
        for (int k = 1 + team_.lane(); k <= order; k += Team::kLanes) s_.best[k] = s_.theta[k];
      }
      if (size < kDualTolerance) break;
      FindDirection(order);
      const double reach = FindAlong(order);
      double slope = 0;
      double here = log_normaliser;
      double drift = 0;
      for (int k = 1; k <= order; ++k) {
        slope += s_.gradient[k] * s_.direction[k];
        here -= s_.theta[k] * mu[k];
        drift += s_.direction[k] * mu[k];
      }
      const double start = here - log_normaliser;
      double step = limit / reach;
      step = step < 1 ? step : 1;
      bool moved = false;
      for (; step > 1e-10; step *= 0.5) {
        const double next = Trial(step);
        if (next + start - step * drift <= here + 1e-4 * step * slope) {
          log_normaliser = next;
          moved = true;
          break;
        }
      }
      if (!moved) break;
      for (int i = 0; i < items_; ++i) exponent_[i] += step * along_[i];
      team_.Sync();
      for (int k = 1 + team_.lane(); k <= order; k += Team::kLanes) {
        s_.theta[k] += step * s_.direction[k];
      }
      team_.Sync();
      limit *= kDualReachGrowth;
    }
    team_.Sync();
    if (team_.lane() != 0) return;
    answer.residual = residual;
    answer.iterations = iteration;
    answer.dual = best_log_normaliser;
    answer.theta[0] = -best_log_normaliser;
    for (int k = 1; k <= kMaxOrder; ++k) {
      answer.theta[k] = k <= order ? s_.best[k] : 0;
      if (k <= order) answer.dual -= s_.best[k] * mu[k];
    }
  }

 private:
  static constexpr int kStep = Team::kLanes * Team::kWidth;

  //! gradient = moment - mu; its largest magnitude.
  RETABLE_TEAM double FindGradient(const double* mu, int order) {
    double size = 0;
    for (int k = 1; k <= order; ++k) {
      const double g = s_.moment[k] - mu[k];
      size = fabs(g) > size ? fabs(g) : size;
      if (team_.lane() == 0) s_.gradient[k] = g;
    }
    team_.Sync();
    return size;
  }

  //! mass = weight exp(exponent + step along - top), where `top` avoids overflow. The logarithm of
  //! the sum of weight exp(exponent + step along).
  RETABLE_TEAM double Trial(double step) {
    Value most = exponent_[0] + step * along_[0];
    for (int i = 1; i < items_; ++i) {
      const Value e = exponent_[i] + step * along_[i];
      most = Select(e > most, e, most);
    }
    const double top = team_.Max(most);
    Value total = team_.Fill(0);
    for (int i = 0; i < items_; ++i) {
      mass_[i] = team_.Weight(i) * team_.Exp(exponent_[i] + step * along_[i] - top);
      total += mass_[i];
    }
    const double sum = team_.Sum(total);
    inverse_ = 1 / sum;
    return top + log(sum);
  }

  //! moment[k] = E[T_k], k = 0..2L.
  RETABLE_TEAM void FindMoments() {
    Value sum[2 * L + 2];
    RETABLE_UNROLL_ALL
    for (int k = 0; k < 2 * L + 2; ++k) sum[k] = team_.Fill(0);
    for (int i = 0; i < items_; ++i) {
      const Value twice = 2.0 * team_.Node(i);
      Value before = mass_[i];
      Value now = 0.5 * twice * before;
      sum[0] += before;
      sum[1] += now;
      RETABLE_UNROLL_ALL
      for (int k = 2; k <= 2 * L; ++k) {
        const Value next = twice * now - before;
        before = now;
        now = next;
        sum[k] += now;
      }
    }
    team_.template SumAll<2 * L + 2>(sum, s_.moment, inverse_);
  }

  //! Newton's direction: solves (H + ridge I) d = -g; the ridge grows until the factor exists and d
  //! descends.
  RETABLE_TEAM void FindDirection(int order) {
    for (int i = 1 + team_.lane(); i <= order; i += Team::kLanes) {
      for (int j = 1; j <= i; ++j) {
        s_.hessian[i][j] =
            0.5 * (s_.moment[i + j] + s_.moment[i - j]) - s_.moment[i] * s_.moment[j];
      }
    }
    team_.Sync();
    double top = 1e-300;
    for (int i = 1; i <= order; ++i) top = s_.hessian[i][i] > top ? s_.hessian[i][i] : top;
    for (double ridge = kDualRidge; ridge < 10; ridge *= 100) {
      if (!Factor(order, ridge * top)) continue;
      SolveFactor(order);
      double slope = 0;
      for (int k = 1; k <= order; ++k) slope += s_.direction[k] * s_.gradient[k];
      if (slope < 0 && slope > -1e300) return;
    }
    team_.Sync();
    for (int k = 1 + team_.lane(); k <= order; k += Team::kLanes) s_.direction[k] = -s_.gradient[k];
    team_.Sync();
  }

  //! Cholesky factor, one row per lane. False if a pivot is not positive.
  RETABLE_TEAM bool Factor(int order, double ridge) {
    team_.Sync();
    for (int i = 1 + team_.lane(); i <= order; i += Team::kLanes) {
      for (int j = 1; j <= i; ++j) s_.factor[i][j] = s_.hessian[i][j] + (i == j ? ridge : 0);
    }
    for (int j = 1; j <= order; ++j) {
      team_.Sync();
      const double pivot = s_.factor[j][j];
      if (!(pivot > 0)) return false;
      const double inverse = 1 / sqrt(pivot);
      team_.Sync();
      for (int i = j + team_.lane(); i <= order; i += Team::kLanes) s_.factor[i][j] *= inverse;
      team_.Sync();
      for (int i = j + 1 + team_.lane(); i <= order; i += Team::kLanes) {
        for (int k = j + 1; k <= i; ++k) s_.factor[i][k] -= s_.factor[i][j] * s_.factor[k][j];
      }
    }
    team_.Sync();
    return true;
  }

  //! direction = -(factor factor^T)^-1 gradient.
  RETABLE_TEAM void SolveFactor(int order) {
    for (int k = 1 + team_.lane(); k <= order; k += Team::kLanes) s_.direction[k] = -s_.gradient[k];
    for (int j = 1; j <= order; ++j) {
      team_.Sync();
      const double x = s_.direction[j] / s_.factor[j][j];
      team_.Sync();
      if (team_.lane() == 0) s_.direction[j] = x;
      for (int i = j + 1 + team_.lane(); i <= order; i += Team::kLanes) {
        s_.direction[i] -= s_.factor[i][j] * x;
      }
    }
    for (int j = order; j >= 1; --j) {
      team_.Sync();
      const double x = s_.direction[j] / s_.factor[j][j];
      team_.Sync();
      if (team_.lane() == 0) s_.direction[j] = x;
      for (int i = 1 + team_.lane(); i < j; i += Team::kLanes) {
        s_.direction[i] -= s_.factor[j][i] * x;
      }
    }
    team_.Sync();
  }

  //! along = sum_k direction_k T_k at the nodes (Clenshaw); its range over them.
  RETABLE_TEAM double FindAlong(int order) {
    Value least = team_.Fill(1e300);
    Value most = team_.Fill(-1e300);
    for (int i = 0; i < items_; ++i) {
      const Value t = team_.Node(i);
      Value b1 = team_.Fill(0);
      Value b2 = team_.Fill(0);
      for (int k = order; k >= 1; --k) {
        const Value b = s_.direction[k] + 2.0 * t * b1 - b2;
        b2 = b1;
        b1 = b;
      }
      along_[i] = t * b1 - b2;
      least = Select(along_[i] < least, along_[i], least);
      most = Select(along_[i] > most, along_[i], most);
    }
    return team_.Max(most) + team_.Max(-least);
  }

  Team& team_;
  DualShared<L>& s_;
  int items_;
  double inverse_ = 0;
  Value exponent_[Team::kItems];
  Value along_[Team::kItems];
  Value mass_[Team::kItems];
};

}  // namespace retable::quantiles

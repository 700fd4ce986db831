#pragma once
//! @file
//! Bracketed Newton: the inverse of a distribution function.
//!
//! Newton's step where it stays inside the bracket and shrinks it fast enough, bisection otherwise.
//! It converges for any function with f(low) <= target <= f(high), monotone or not, to *a* root,
//! the first it finds (Mitchell et al. 2021, section 5). Source of the scheme: Press et al.,
//! Numerical Recipes, section 9.4. Deterministic; at most 100 evaluations, 4 to 6 usually.

#include <cmath>
#include <utility>

namespace retable::quantiles {

//! A t in [low, high] with value(t) = target, to `tolerance` in t, starting at `start`. `function`
//! gives {value, derivative}. If the target lies outside of the values at low and high, the nearer
//! of the two is returned.
template <class Function>
double BracketedNewton(const Function& function, double target, double low, double high,
                       double start, double tolerance) {
  if (!(function(low).first < target)) return low;
  if (!(function(high).first > target)) return high;
  double t = start;
  double step = high - low;
  double step_before = step;
  std::pair<double, double> at = function(t);
  for (int i = 0; i < 100; ++i) {
    const double error = at.first - target;
    if (error == 0) return t;
    (error < 0 ? low : high) = t;
    const double newton = t - error / at.second;
    const bool usable =
        newton > low && newton < high && std::abs(2 * error) < std::abs(step_before * at.second);
    const double next = usable ? newton : 0.5 * (low + high);
    step_before = step;
    step = next - t;
    t = next;
    if (std::abs(step) < tolerance) return t;
    at = function(t);
  }
  return t;
}

}  // namespace retable::quantiles

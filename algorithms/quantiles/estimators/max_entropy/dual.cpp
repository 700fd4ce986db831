#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "algorithms/quantiles/estimators/max_entropy/dual_newton.hpp"
#include "algorithms/quantiles/estimators/max_entropy/quadrature.hpp"
#include "algorithms/quantiles/sums/simd.hpp"
#include "base/parallel.hpp"

namespace retable::quantiles {
namespace {

//! exp of eight values <= 0, to 2 units in the last place: 2^n e^r, |r| <= log(2) / 2, and e^r by
//! its Taylor polynomial (remainder below 1e-17).
RETABLE_ALWAYS_INLINE Double8 ExpOfNonPositive(Double8 x) {
  const Double8 least = Double8{} - 708.0;  // below this the result is less than 3e-308
  x = x > least ? x : least;
  // Adding 1.5 * 2^52 rounds to a whole number, and leaves it in the low bits.
  const double rounder = 6755399441055744.0;
  const Double8 shifted = x * 1.4426950408889634 + rounder;
  const Double8 n = shifted - rounder;
  const Double8 r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  Double8 e = Double8{} + 1.0 / 6227020800.0;
  e = e * r + 1.0 / 479001600.0;
  e = e * r + 1.0 / 39916800.0;
  e = e * r + 1.0 / 3628800.0;
  e = e * r + 1.0 / 362880.0;
  e = e * r + 1.0 / 40320.0;
  e = e * r + 1.0 / 5040.0;
  e = e * r + 1.0 / 720.0;
  e = e * r + 1.0 / 120.0;
  e = e * r + 1.0 / 24.0;
  e = e * r + 1.0 / 6.0;
  e = e * r + 0.5;
  e = e * r + 1.0;
  e = e * r + 1.0;
  Long8 bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  Double8 power;
  std::memcpy(&power, &bits, sizeof power);
  return e * power;
}

//! A team of one CPU core: one lane, whose items are eight nodes.
class CoreTeam {
 public:
  using Value = Double8;
  static constexpr int kWidth = 8;
  static constexpr int kLanes = 1;
  static constexpr int kItems = kMaxLatticePoints / kWidth;

  RETABLE_ALWAYS_INLINE explicit CoreTeam(const DualProblem& problem) : problem_(problem) {}
  RETABLE_ALWAYS_INLINE int lane() const { return 0; }
  RETABLE_ALWAYS_INLINE void Sync() const {}
  RETABLE_ALWAYS_INLINE Value Fill(double x) const { return Double8{} + x; }
  RETABLE_ALWAYS_INLINE Value Exp(Value x) const { return ExpOfNonPositive(x); }
  RETABLE_ALWAYS_INLINE double Sum(Value x) const {
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
  }
  RETABLE_ALWAYS_INLINE double Max(Value x) const {
    double most = x[0];
    for (int i = 1; i < 8; ++i) most = x[i] > most ? x[i] : most;
    return most;
  }
  template <int kCount>
  RETABLE_ALWAYS_INLINE void SumAll(const Value* sums, double* out, double factor) const {
    for (int k = 0; k < kCount; ++k) out[k] = Sum(sums[k]) * factor;
  }
  //! Items past the last point repeat the first with weight 0.
  RETABLE_ALWAYS_INLINE Value Node(int item) const {
    if (problem_.points == 0) return Load8(&Quadrature::Get().node[8 * item]);
    return problem_.first + problem_.step * (Index(item) < Points() ? Index(item) : Double8{});
  }
  RETABLE_ALWAYS_INLINE Value Weight(int item) const {
    if (problem_.points == 0) return Load8(&Quadrature::Get().weight[8 * item]);
    return Index(item) < Points() ? Double8{} + 1.0 : Double8{};
  }

 private:
  RETABLE_ALWAYS_INLINE Value Index(int item) const {
    return Double8{0, 1, 2, 3, 4, 5, 6, 7} + 8.0 * item;
  }
  RETABLE_ALWAYS_INLINE Value Points() const {
    return Double8{} + static_cast<double>(problem_.points);
  }

  const DualProblem& problem_;
};

template <int L>
RETABLE_ALWAYS_INLINE DualAnswer SolveOnCore(const DualProblem& problem) {
  CoreTeam team(problem);
  DualShared<L> shared;
  DualNewton<L, CoreTeam> newton(team, shared, problem.points == 0 ? kNodes : problem.points);
  DualAnswer answer;
  newton.Solve(problem.mu.data(), problem.order, answer);
  return answer;
}

template <int L>
DualAnswer SolvePlain(const DualProblem& problem) {
  return SolveOnCore<L>(problem);
}
#if defined(__x86_64__)
template <int L>
RETABLE_AVX2 DualAnswer SolveAvx2(const DualProblem& problem) {
  return SolveOnCore<L>(problem);
}
template <int L>
RETABLE_AVX512 DualAnswer SolveAvx512(const DualProblem& problem) {
  return SolveOnCore<L>(problem);
}
#endif

template <int L>
DualAnswer SolveByWidestTarget(const DualProblem& problem) {
#if defined(__x86_64__)
  static const Simd simd = DetectSimd();
  if (simd == Simd::kAvx512) return SolveAvx512<L>(problem);
  if (simd == Simd::kAvx2) return SolveAvx2<L>(problem);
#endif
  return SolvePlain<L>(problem);
}

}  // namespace

DualAnswer SolveDual(const DualProblem& problem) {
  if (problem.order < 0 || problem.order > kMaxOrder || problem.points < 0 ||
      problem.points > kMaxLatticePoints) {
    throw std::invalid_argument("a dual has order 0 to 15 and at most " +
                                std::to_string(kMaxLatticePoints) + " places");
  }
  if (problem.order <= 5) return SolveByWidestTarget<5>(problem);
  if (problem.order <= 10) return SolveByWidestTarget<10>(problem);
  return SolveByWidestTarget<15>(problem);
}

std::vector<double> DualMasses(const DualProblem& problem, const DualAnswer& answer) {
  const Quadrature& rule = Quadrature::Get();
  const int count = problem.points == 0 ? kNodes : problem.points;
  std::vector<double> mass;
  mass.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const double t = problem.points == 0 ? rule.node[static_cast<std::size_t>(i)]
                                         : problem.first + problem.step * i;
    double b1 = 0;
    double b2 = 0;
    for (int k = problem.order; k >= 1; --k) {
      const double b = answer.theta[static_cast<std::size_t>(k)] + 2 * t * b1 - b2;
      b2 = b1;
      b1 = b;
    }
    const double weight = problem.points == 0 ? rule.weight[static_cast<std::size_t>(i)] : 1;
    mass.push_back(weight * std::exp(answer.theta[0] + t * b1 - b2));
  }
  return mass;
}

DualSolver CpuDualSolver(int threads) {
  if (threads < 1) throw std::invalid_argument("a solver needs at least one thread");
  return [threads](std::span<const DualProblem> problems) {
    std::vector<DualAnswer> answers(problems.size());
    ParallelFor(problems.size(), threads,
                [&](std::size_t i) { answers[i] = SolveDual(problems[i]); });
    return answers;
  };
}

}  // namespace retable::quantiles

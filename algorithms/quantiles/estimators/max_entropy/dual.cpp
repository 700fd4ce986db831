#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

#include <cmath>
#include <cstring>

#include "algorithms/common/require.hpp"
#include "algorithms/quantiles/estimators/max_entropy/dual_newton.hpp"
#include "algorithms/quantiles/estimators/max_entropy/quadrature.hpp"
#include "algorithms/quantiles/sums/simd.hpp"
#include "base/parallel.hpp"

namespace retable::quantiles {
namespace {

//! exp of eight values <= 0, to 2 units in the last place: 2^n e^r, |r| <= log(2) / 2, and e^r by
//! its Taylor polynomial (remainder below 1e-17).
template <int W>
RETABLE_ALWAYS_INLINE Doubles<W> ExpOfNonPositive(Doubles<W> x) {
  using V = Doubles<W>;
  const V least = -708.0;  // below this the result is less than 3e-308
  x = Select(x > least, x, least);
  // Adding 1.5 * 2^52 rounds to a whole number, and leaves it in the low bits.
  const double rounder = 6755399441055744.0;
  const V shifted = x * 1.4426950408889634 + rounder;
  const V n = shifted - rounder;
  const V r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  constexpr double kFactorials[] = {479001600, 39916800, 3628800, 362880, 40320, 5040, 720,
                                    120,       24,       6,       2,      1,     1};  // 12! to 0!
  V e = 1.0 / 6227020800.0;
  RETABLE_UNROLL_ALL
  for (const double factorial : kFactorials) e = e * r + 1.0 / factorial;
  V power;
  RETABLE_UNROLL_ALL
  for (int p = 0; p < V::kParts; ++p) {
    typename V::Longs bits;
    std::memcpy(&bits, &shifted.part[p], sizeof bits);
    bits = (bits + 1023) << 52;
    std::memcpy(&power.part[p], &bits, sizeof bits);
  }
  return e * power;
}

//! A team of one CPU core: one lane, whose items are eight nodes.
template <int W>
class CoreTeam {
 public:
  using Value = Doubles<W>;
  static constexpr int kWidth = 8;
  static constexpr int kLanes = 1;
  static constexpr int kItems = kMaxLatticePoints / kWidth;

  RETABLE_ALWAYS_INLINE explicit CoreTeam(const DualProblem& problem) : problem_(problem) {}
  RETABLE_ALWAYS_INLINE int lane() const { return 0; }
  RETABLE_ALWAYS_INLINE void Sync() const {}
  RETABLE_ALWAYS_INLINE Value Fill(double x) const { return x; }
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
    if (problem_.points == 0) return Value::Load(&Quadrature::Get().node[8 * item]);
    return problem_.first + problem_.step * Select(Index(item) < Points(), Index(item), Value(0));
  }
  RETABLE_ALWAYS_INLINE Value Weight(int item) const {
    if (problem_.points == 0) return Value::Load(&Quadrature::Get().weight[8 * item]);
    return Select(Index(item) < Points(), Value(1), Value(0));
  }

 private:
  RETABLE_ALWAYS_INLINE Value Index(int item) const {
    static constexpr double kLanesOf[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return Value::Load(kLanesOf) + 8.0 * item;
  }
  RETABLE_ALWAYS_INLINE Value Points() const { return static_cast<double>(problem_.points); }

  const DualProblem& problem_;
};

template <int L, int W>
RETABLE_ALWAYS_INLINE DualAnswer SolveOnCore(const DualProblem& problem) {
  CoreTeam<W> team(problem);
  DualShared<L> shared;
  DualNewton<L, CoreTeam<W>> newton(team, shared, problem.points == 0 ? kNodes : problem.points);
  DualAnswer answer;
  newton.Solve(problem.mu.data(), problem.order, answer);
  return answer;
}

template <int L>
DualAnswer Solve(const DualProblem& problem) {
  return ByWidestVectors([&]<int W>() RETABLE_INLINED { return SolveOnCore<L, W>(problem); });
}

}  // namespace

DualAnswer SolveDual(const DualProblem& problem) {
  Require(problem.order >= 0 && problem.order <= kMaxOrder && problem.points >= 0 &&
              problem.points <= kMaxLatticePoints,
          "a dual has order 0 to 15 and at most ", kMaxLatticePoints, " places");
  if (problem.order <= 5) return Solve<5>(problem);
  if (problem.order <= 10) return Solve<10>(problem);
  return Solve<15>(problem);
}

double DualDensity(const DualAnswer& answer, int order, double t) {
  double b1 = 0;
  double b2 = 0;
  for (int k = order; k >= 1; --k) {
    const double b = answer.theta[static_cast<std::size_t>(k)] + 2 * t * b1 - b2;
    b2 = b1;
    b1 = b;
  }
  return std::exp(answer.theta[0] + t * b1 - b2);
}

std::vector<double> DualMasses(const DualProblem& problem, const DualAnswer& answer) {
  const Quadrature& rule = Quadrature::Get();
  const int count = problem.points == 0 ? kNodes : problem.points;
  std::vector<double> mass;
  mass.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const double t = problem.points == 0 ? rule.node[static_cast<std::size_t>(i)]
                                         : problem.first + problem.step * i;
    const double weight = problem.points == 0 ? rule.weight[static_cast<std::size_t>(i)] : 1;
    mass.push_back(weight * DualDensity(answer, problem.order, t));
  }
  return mass;
}

DualSolver CpuDualSolver(int threads) {
  Require(threads >= 1, "a solver needs at least one thread");
  return [threads](std::span<const DualProblem> problems) {
    std::vector<DualAnswer> answers(problems.size());
    ParallelFor(problems.size(), threads,
                [&](std::size_t i) { answers[i] = SolveDual(problems[i]); });
    return answers;
  };
}

}  // namespace retable::quantiles

#include "algorithms/quantiles/estimators/max_entropy/density.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "algorithms/quantiles/estimators/legendre_series.hpp"
#include "algorithms/quantiles/sketches/moment_sketch.hpp"

namespace retable::quantiles {
namespace {

Moments ChebyshevOf(const std::vector<double>& atoms, const std::vector<double>& weights) {
  Moments mu{};
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    for (int k = 0; k <= kMaxOrder; ++k) mu[k] += weights[i] * std::cos(k * std::acos(atoms[i]));
  }
  return mu;
}

TEST(MaxEntropy, UniformMomentsGiveTheUniformDensity) {
  Moments mu{};
  for (int k = 0; k <= kMaxOrder; k += 2) mu[k] = 1.0 / (1 - k * k);
  for (int order = 1; order <= kMaxOrder; ++order) {
    const MaxEntropyDensity density(mu, order);
    EXPECT_LT(density.residual(), 1e-9);
    for (const double phi : {0.0, 1e-9, 0.1, 0.5, 0.77, 1.0}) {
      EXPECT_NEAR(density.Quantile(phi), 2 * phi - 1, 1e-8);
    }
    EXPECT_NEAR(density.Density(0.3), 0.5, 1e-7);
    EXPECT_NEAR(SolveDual({mu, order}).dual, std::log(2.0), 1e-8);
  }
}

TEST(MaxEntropy, RecoversAnExponentialFamilyMember) {
  // f = c exp(2 T_1 - 3 T_2 + T_3), whose moments come from a fine sum.
  const auto log_density = [](double t) {
    const double a = std::acos(t);
    return 2 * t - 3 * std::cos(2 * a) + std::cos(3 * a);
  };
  const int n = 200000;
  Moments mu{};
  for (int i = 0; i < n; ++i) {
    const double t = -1 + 2 * (i + 0.5) / n;
    for (int k = 0; k <= kMaxOrder; ++k) {
      mu[k] += std::exp(log_density(t)) * std::cos(k * std::acos(t));
    }
  }
  for (int k = kMaxOrder; k >= 0; --k) mu[k] /= mu[0];
  const MaxEntropyDensity density(mu, 5);
  const Moments theta = SolveDual({mu, 5}).theta;
  EXPECT_NEAR(theta[1], 2, 1e-5);
  EXPECT_NEAR(theta[2], -3, 1e-5);
  EXPECT_NEAR(theta[3], 1, 1e-5);
  EXPECT_NEAR(theta[4], 0, 1e-5);
  for (const double phi : {0.01, 0.3, 0.9}) {
    EXPECT_NEAR(density.Cdf(density.Quantile(phi)), phi, 1e-9);
  }
}

TEST(MaxEntropy, ComesCloseToAtoms) {
  const MaxEntropyDensity binary(ChebyshevOf({-1, 1}, {0.3, 0.7}), 15);
  EXPECT_LT(binary.residual(), 1e-3);
  EXPECT_NEAR(binary.Quantile(0.2), -1, 0.01);
  EXPECT_NEAR(binary.Quantile(0.4), 1, 0.01);

  const MaxEntropyDensity three(ChebyshevOf({-1, 0.1, 1}, {0.5, 0.2, 0.3}), 15);
  EXPECT_LT(three.residual(), kPanels * 1e-3);
  EXPECT_NEAR(three.Quantile(0.4), -1, 0.02);
  EXPECT_NEAR(three.Quantile(0.6), 0.1, 0.02);
  EXPECT_NEAR(three.Quantile(0.8), 1, 0.02);
}

TEST(MaxEntropy, SaysSoWhenNoDensityHasTheMoments) {
  Moments mu{};
  mu[0] = 1;
  mu[1] = 0.9;
  mu[2] = -0.9;  // E[2t^2 - 1] >= 2 E[t]^2 - 1 = 0.62
  const MaxEntropyDensity density(mu, 2);
  EXPECT_GT(density.residual(), 0.1);
  EXPECT_TRUE(std::isfinite(density.Quantile(0.5)));
}

TEST(MaxEntropy, QuantilesAscendForAnyMoments) {
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> phis;
  for (int i = 0; i <= 1000; ++i) phis.push_back(i / 1000.0);
  int answered = 0;
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> atoms(static_cast<std::size_t>(2 + trial));
    for (double& a : atoms) a = uniform(engine);
    const auto sketch = MakeMaxEntropySketch(MakeCentralAccumulator(15), false);
    sketch->update(std::span<const double>(atoms));
    try {
      const std::vector<double> quantiles = sketch->quantiles(phis);
      EXPECT_TRUE(std::is_sorted(quantiles.begin(), quantiles.end())) << trial;
      ++answered;
    } catch (const SketchFailure&) {
    }
  }
  EXPECT_GT(answered, 10);
}

//! Moments of random atoms, on a lattice or not: hard and easy problems.
std::vector<DualProblem> RandomProblems(std::size_t count) {
  std::mt19937_64 engine(8);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<DualProblem> problems;
  for (std::size_t i = 0; i < count; ++i) {
    const bool lattice = i % 2 == 1;
    DualProblem problem;
    problem.order = 1 + static_cast<int>(i % 15);
    problem.points = lattice ? 2 + static_cast<int>(engine() % 900) : 0;
    problem.first = -0.95;
    problem.step = lattice ? 1.9 / (problem.points - 1) : 0;
    std::vector<double> atoms(20 + engine() % 300);
    for (double& a : atoms) {
      a = uniform(engine);
      if (lattice) {
        a = problem.first + problem.step * static_cast<double>(engine() % problem.points);
      }
    }
    const std::vector<double> weights(atoms.size(), 1.0 / static_cast<double>(atoms.size()));
    problem.mu = ChebyshevOf(atoms, weights);
    problem.mu[0] = 1;
    problems.push_back(problem);
  }
  return problems;
}

TEST(Dual, MassesHaveTheMomentsAskedFor) {
  for (const DualProblem& problem : RandomProblems(60)) {
    const DualAnswer answer = SolveDual(problem);
    EXPECT_LT(answer.residual, 2e-3);
    const std::vector<double> mass = DualMasses(problem, answer);
    double total = 0;
    for (const double m : mass) total += m;
    EXPECT_NEAR(total, 1, 1e-9);
    if (problem.points == 0) continue;
    for (int k = 1; k <= problem.order; ++k) {
      double moment = 0;
      for (std::size_t j = 0; j < mass.size(); ++j) {
        const double t = problem.first + problem.step * static_cast<double>(j);
        moment += mass[j] * std::cos(k * std::acos(t));
      }
      EXPECT_NEAR(moment, problem.mu[static_cast<std::size_t>(k)], answer.residual + 1e-9);
    }
  }
}

TEST(Dual, AnyNumberOfThreadsGivesTheSameBits) {
  const std::vector<DualProblem> problems = RandomProblems(40);
  const auto alone = CpuDualSolver(1)(problems);
  const auto together = CpuDualSolver(4)(problems);
  ASSERT_EQ(alone.size(), together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].theta, together[i].theta);
    EXPECT_EQ(alone[i].iterations, together[i].iterations);
  }
  EXPECT_TRUE(CpuDualSolver(2)({}).empty());
  EXPECT_THROW(CpuDualSolver(0), std::invalid_argument);
  DualProblem wrong;
  wrong.order = 16;
  EXPECT_THROW(SolveDual(wrong), std::invalid_argument);
  wrong.order = 3;
  wrong.points = kMaxLatticePoints + 1;
  EXPECT_THROW(SolveDual(wrong), std::invalid_argument);
}

TEST(LegendreSeries, IntegratesItsDensity) {
  Moments mu{};
  mu[0] = 1;
  mu[1] = 0.2;
  mu[2] = -0.1;
  mu[3] = 0.05;
  const LegendreSeries series(mu, 3);
  EXPECT_NEAR(series.CdfAndDensity(-1).first, 0, 1e-15);
  EXPECT_NEAR(series.CdfAndDensity(1).first, 1, 1e-15);
  for (const double t : {-0.9, -0.2, 0.0, 0.5, 0.99}) {
    const double h = 1e-5;
    const double slope =
        (series.CdfAndDensity(t + h).first - series.CdfAndDensity(t - h).first) / (2 * h);
    EXPECT_NEAR(series.Density(t), slope, 1e-8);
  }
  for (const double phi : {0.01, 0.5, 0.9}) {
    EXPECT_NEAR(series.CdfAndDensity(series.Quantile(phi)).first, phi, 1e-10);
  }
}

}  // namespace
}  // namespace retable::quantiles

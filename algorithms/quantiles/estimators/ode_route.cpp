#include "algorithms/quantiles/estimators/ode_route.hpp"

#include <algorithm>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <cmath>

#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {
namespace {

constexpr double kFloor = 1e-7;
constexpr int kMaxSteps = 20000;

}  // namespace

std::vector<double> QuantilesByOde(const MaxEntropyDensity& density, std::span<const double> phis) {
  namespace odeint = boost::numeric::odeint;
  const auto slope = [&](double y, double& dy, double /*phi*/) {
    dy = y >= 1 ? 0.0 : 1.0 / std::max(density.Density(std::max(y, -1.0)), kFloor);
  };
  auto stepper = odeint::make_dense_output(1e-9, 1e-9, odeint::runge_kutta_dopri5<double>());
  stepper.initialize(-1.0, 0.0, 1e-6);
  std::vector<double> out;
  out.reserve(phis.size());
  int steps = 0;
  double y = -1;
  for (const double phi : phis) {
    if (phi >= 1) {
      out.push_back(1);
      continue;
    }
    while (stepper.current_time() < phi && stepper.current_state() < 1) {
      if (++steps > kMaxSteps) throw SketchFailure("the ODE route ran out of steps");
      try {
        stepper.do_step(slope);
      } catch (const std::exception&) {
        throw SketchFailure("the ODE route could not find a step size");
      }
    }
    if (phi <= 0) {
      y = -1;
    } else if (stepper.current_time() >= phi) {
      stepper.calc_state(phi, y);
    } else {
      y = 1;
    }
    out.push_back(std::clamp(y, -1.0, 1.0));
  }
  return out;
}

}  // namespace retable::quantiles

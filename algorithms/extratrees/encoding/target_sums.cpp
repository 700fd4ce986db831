#include "algorithms/extratrees/encoding/target_sums.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/csv/number.hpp"

namespace retable::extratrees {
namespace {

//! Bits after the point that keep numbers adding up to `total` in size below 2^limit.
int BitsBelow(double total, int limit) {
  int exponent = 0;
  std::frexp(total, &exponent);
  return limit - exponent;
}

double WeightOf(const Targets& targets, std::uint32_t row) {
  return targets.weights.empty() ? 1.0 : targets.weights[row];
}

//! Refuses what fixed point and its squares do not hold beside each other.
void CheckHeld(double value, int bits, const std::string& before, const std::string& after = "") {
  const double most = std::ldexp(1.0, bits);
  if (value <= most && value >= 1 / most) return;
  const std::string power = std::to_string(bits);
  throw std::invalid_argument(before + " " + FormatNumber(value) + after +
                              ": scale them, between 2^-" + power + " and 2^" + power + " is held");
}

//! The weighted mean, rounded to a power of two about as large as the targets' spread: whole
//! numbers stay whole.
double Centre(const Targets& targets, std::span<const std::uint32_t> order) {
  double weight = 0;
  double sum = 0;
  for (const std::uint32_t row : order) {
    weight += WeightOf(targets, row);
    sum += WeightOf(targets, row) * targets.values[row];
  }
  const double mean = sum / weight;
  double spread = 0;
  for (const std::uint32_t row : order) {
    spread = std::max(spread, std::abs(targets.values[row] - mean));
  }
  if (spread == 0 && std::isfinite(mean)) return mean;
  CheckHeld(std::isfinite(mean) ? spread : mean, 400, "the targets lie up to", " from their mean");
  const double unit = std::ldexp(1.0, std::ilogb(spread));
  return std::nearbyint(mean / unit) * unit;
}

void EncodeWeights(const Targets& targets, std::span<const std::uint32_t> order,
                   EncodedTargets& out) {
  double total = 0;
  for (const std::uint32_t row : order) total += WeightOf(targets, row);
  CheckHeld(total, 300, "the weights add up to");
  out.scale.weight_bits = targets.weights.empty() ? 0 : BitsBelow(total, 52);
  for (const std::uint32_t row : order) {
    const double scaled = std::ldexp(WeightOf(targets, row), out.scale.weight_bits);
    out.weight.push_back(std::max<std::int64_t>(std::llrint(scaled), 1));
    out.scale.total += out.weight.back();
  }
}

void EncodeValues(const Targets& targets, std::span<const std::uint32_t> order, bool drawn,
                  EncodedTargets& out) {
  TargetScale& scale = out.scale;
  scale.center = Centre(targets, order);
  // The weights that nodes add up, rounded: a mean stays among its targets.
  const auto weight_of = [&](std::size_t i) {
    return std::ldexp(static_cast<double>(out.weight[i]), -scale.weight_bits);
  };
  double sizes = 0;
  double squares = 0;
  double farthest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double apart = targets.values[order[i]] - scale.center;
    farthest = std::max(farthest, std::abs(apart));
    sizes += weight_of(i) * std::abs(apart);
    squares += weight_of(i) * apart * apart;
  }
  if (drawn) {  // the farthest row may be drawn again and again
    sizes = static_cast<double>(order.size()) * farthest;
    squares = sizes * farthest;
  }
  if (farthest > 0) {
    CheckHeld(sizes, 830, "weights times targets' distances from their mean add up to");
    CheckHeld(squares, 830,
              "weights times squares of targets' distances from their mean add up to");
  }
  scale.sum_bits = BitsBelow(sizes, 61);
  scale.square_bits = BitsBelow(squares, 61);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double value = targets.values[order[i]];
    const double apart = value - scale.center;
    out.sum.push_back(std::llrint(std::ldexp(weight_of(i) * apart, scale.sum_bits)));
    out.squares.push_back(std::llrint(std::ldexp(weight_of(i) * apart * apart, scale.square_bits)));
    out.value.push_back(value);
  }
}

}  // namespace

EncodedTargets EncodeTargets(const Targets& targets, std::span<const std::uint32_t> order,
                             bool drawn) {
  EncodedTargets out;
  EncodeWeights(targets, order, out);
  if (targets.regression()) EncodeValues(targets, order, drawn, out);
  return out;
}

}  // namespace retable::extratrees

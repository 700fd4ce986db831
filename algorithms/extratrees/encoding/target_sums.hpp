#pragma once
//! @file
//! Sums over the targets of a node, for weighted classes and for real targets.
//!
//! Problem: trees have to be equal bit for bit on any device and grid, and sums of doubles depend
//! on their order. Approach: weights, weighted targets and weighted squares become integers, in
//! units of a power of two chosen so that all rows together, repeated ones of a bootstrap included,
//! stay below 2^62 (weights: 2^53, so that they are doubles, too). Integer sums have no order; what
//! is computed from a node's sums - scores, impurities, means - is rounded in one fixed order.
//! Targets are taken relative to a centre near their mean, so that an offset costs no digits: a
//! target keeps 61 - log2(rows) bits or more, and whole numbers and dyadic fractions of ordinary
//! size are exact. Scores:
//!   classes  sum_c L_c^2 / W_L + sum_c R_c^2 / W_R        (Gini)
//!   targets  W_L W_R (S_L / W_L - S_R / W_R)^2            (squared error)
//! which is each criterion's decrease up to terms that all cuts of a node share.

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/extratrees/model/forest.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"

namespace retable::extratrees {

//! How integers stand for weights and targets: value = integer * 2^-bits.
struct TargetScale {
  int weight_bits = 0;
  int sum_bits = 0;
  int square_bits = 0;
  double center = 0;
  std::int64_t total = 0;  //!< weight of all rows
};

//! A node's sums. Classes use `weight` and `class_squares`, targets all but the latter.
struct NodeSums {
  std::int64_t weight = 0;
  std::int64_t sum = 0;      //!< weighted targets
  std::int64_t squares = 0;  //!< weighted squared targets
  double class_squares = 0;  //!< sum over classes, ascending, of the squared weight
};

RETABLE_HD double NodeWeight(const TargetScale& scale, const NodeSums& node) {
  return MulRn(static_cast<double>(node.weight), PowerOfTwo(-scale.weight_bits));
}

//! Gini impurity.
RETABLE_HD double ClassImpurity(const NodeSums& node) {
  const double weight = static_cast<double>(node.weight);
  return AddRn(1.0, -DivRn(node.class_squares, MulRn(weight, weight)));
}

//! Mean target, relative to the centre.
RETABLE_HD double CentredMean(const TargetScale& scale, const NodeSums& node) {
  const double mean = DivRn(static_cast<double>(node.sum), static_cast<double>(node.weight));
  return MulRn(mean, PowerOfTwo(scale.weight_bits - scale.sum_bits));
}
RETABLE_HD double TargetMean(const TargetScale& scale, const NodeSums& node) {
  return AddRn(scale.center, CentredMean(scale, node));
}

//! Variance of the targets; not below 0.
RETABLE_HD double TargetVariance(const TargetScale& scale, const NodeSums& node) {
  const double raw = DivRn(static_cast<double>(node.squares), static_cast<double>(node.weight));
  const double squares = MulRn(raw, PowerOfTwo(scale.weight_bits - scale.square_bits));
  const double mean = CentredMean(scale, node);
  const double variance = AddRn(squares, -MulRn(mean, mean));
  return variance > 0 ? variance : 0.0;
}

RETABLE_HD double ClassScore(const NodeSums& left, const NodeSums& right) {
  return AddRn(DivRn(left.class_squares, static_cast<double>(left.weight)),
               DivRn(right.class_squares, static_cast<double>(right.weight)));
}

RETABLE_HD double TargetScore(const NodeSums& left, const NodeSums& right) {
  const double left_weight = static_cast<double>(left.weight);
  const double right_weight = static_cast<double>(right.weight);
  const double apart = AddRn(DivRn(static_cast<double>(left.sum), left_weight),
                             -DivRn(static_cast<double>(right.sum), right_weight));
  return MulRn(MulRn(left_weight, right_weight), MulRn(apart, apart));
}

//! Weighted impurity decrease of the best cut (scikit-learn's definition).
RETABLE_HD double ClassDecrease(const TargetScale& scale, const NodeSums& node, double score) {
  const double gain = AddRn(score, -DivRn(node.class_squares, static_cast<double>(node.weight)));
  return DivRn(gain, static_cast<double>(scale.total));
}
RETABLE_HD double TargetDecrease(const TargetScale& scale, const NodeSums& node, double score) {
  const double gain =
      DivRn(DivRn(score, static_cast<double>(node.weight)), static_cast<double>(scale.total));
  const double unit = PowerOfTwo(scale.weight_bits - scale.sum_bits);
  return MulRn(MulRn(gain, unit), unit);
}

//! Whether the best cut gains too little.
RETABLE_HD bool GainsTooLittle(const TargetScale& scale, const NodeSums& node, double score,
                               bool regression, double min_decrease) {
  if (min_decrease <= 0) return false;
  const double gain =
      regression ? TargetDecrease(scale, node, score) : ClassDecrease(scale, node, score);
  return IsTooLittle(gain, min_decrease);
}

//! Every row's integers, in the order of the encoded rows.
struct EncodedTargets {
  TargetScale scale;
  std::vector<std::int64_t> weight;
  std::vector<std::int64_t> sum, squares;  //!< regression
  std::vector<double> value;               //!< regression: the targets themselves, ascending
};

//! @param order for each encoded row its row in `targets`.
//! @param drawn sums are over as many rows drawn with replacement, of weight 1, not over each once.
EncodedTargets EncodeTargets(const Targets& targets, std::span<const std::uint32_t> order,
                             bool drawn = false);

}  // namespace retable::extratrees

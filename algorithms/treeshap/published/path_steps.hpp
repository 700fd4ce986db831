#pragma once
//! @file
//! EXTEND and UNWOUNDSUM as single steps, the mathematics shared by the array form on the CPU and
//! the shuffle form on the GPU.
//!
//! Weight w_i of a path with n elements is the fraction of feature subsets with i features present,
//! each with its Shapley weight. Adding an element is a convex-like combination of
//! neighbours (stable: nothing is subtracted); removing one divides by its fraction and subtracts,
//! which loses digits where fractions are small and paths are long. Source: Mitchell et al. 2022,
//! algorithms 1 to 3; Lundberg et al. 2020. Indices here start at 0.

#include "base/cuda/host_device.hpp"

namespace retable::treeshap {

//! w_i after element number `length` (fractions zero, one) joins a path of `length` elements;
//! `left` is the old w_{i-1} (anything for i = 0), `own` the old w_i (0 for i = length), `step` is
//! 1 / (length + 1).
template <class T>
RETABLE_HD T ExtendStep(T own, T left, T i, T length, T step, T zero, T one) {
  return own * zero * ((length - i) * step) + one * left * (i * step);
}

//! UNWOUNDSUM of an element that the row follows (one = 1): a running state over
//! j = length - 2 ... 0, started with next = w_{length - 1}.
template <class T>
struct FollowedSum {
  T next;
  T total = T(0);

  //! Takes w_j. @param grown length / (j + 1) @param shrunk zero (length - 1 - j) / length
  RETABLE_HD void Add(T weight, T grown, T shrunk) {
    const T removed = next * grown;
    total += removed;
    next = weight - removed * shrunk;
  }
};

//! Adds an element to the weights of a path of `length` elements (room for one more).
template <class T>
RETABLE_HD void Extend(T* weights, int length, T zero, T one) {
  if (length == 0) {
    weights[0] = T(1);
    return;
  }
  weights[length] = T(0);
  const T step = T(1) / static_cast<T>(length + 1);
  for (int i = length; i >= 0; --i) {
    weights[i] = ExtendStep(weights[i], i > 0 ? weights[i - 1] : T(0), static_cast<T>(i),
                            static_cast<T>(length), step, zero, one);
  }
}

//! The sum of the weights after an element is removed again. @param one 0 or 1. An element with
//! both fractions zero has no weight and adds nothing.
template <class T>
RETABLE_HD T UnwoundSum(const T* weights, int length, T zero, T one) {
  const T n = static_cast<T>(length);
  if (one == T(0)) {
    T sum = T(0);
    for (int j = 0; j <= length - 2; ++j) sum += weights[j] / static_cast<T>(length - 1 - j);
    return zero != T(0) ? sum * n / zero : T(0);
  }
  FollowedSum<T> sum{weights[length - 1]};
  for (int j = length - 2; j >= 0; --j) {
    sum.Add(weights[j], n / static_cast<T>(j + 1), zero * static_cast<T>(length - 1 - j) / n);
  }
  return sum.total;
}

}  // namespace retable::treeshap

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

//! a / b; on the GPU in float by the fast reciprocal, as the published kernel does (2 ulp).
template <class T>
RETABLE_HD T Divide(T a, T b) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == sizeof(float)) return __fdividef(a, b);
#endif
  return a / b;
}

//! w_i after element number `length` (fractions zero, one) joins a path of `length` elements;
//! `left` is the old w_{i-1} (0 for i = 0), `own` the old w_i (0 for i = length).
template <class T>
RETABLE_HD T ExtendStep(T own, T left, int i, int length, T zero, T one) {
  const T step = Divide(T(1), static_cast<T>(length + 1));
  return own * zero * (static_cast<T>(length - i) * step) + one * left * (static_cast<T>(i) * step);
}

//! The running state of UNWOUNDSUM over j = length - 2 ... 0, started with next = w_{length - 1}.
template <class T>
struct UnwoundState {
  T next;
  T total = T(0);
};

//! One step: takes w_j of a path of `length` elements; (zero, one) are the removed element's
//! fractions. An element with both fractions zero has no weight and adds nothing.
template <class T>
RETABLE_HD void UnwoundStep(UnwoundState<T>& state, T weight, int j, int length, T zero, T one) {
  const T n = static_cast<T>(length);
  if (one != T(0)) {
    const T removed = Divide(state.next * n, static_cast<T>(j + 1) * one);
    state.total += removed;
    state.next = weight - removed * zero * Divide(static_cast<T>(length - 1 - j), n);
  } else if (zero != T(0)) {
    state.total += Divide(weight * n, zero * static_cast<T>(length - 1 - j));
  }
}

//! Adds an element to the weights of a path of `length` elements (room for one more).
template <class T>
RETABLE_HD void Extend(T* weights, int length, T zero, T one) {
  if (length == 0) {
    weights[0] = T(1);
    return;
  }
  weights[length] = T(0);
  for (int i = length; i >= 0; --i) {
    weights[i] = ExtendStep(weights[i], i > 0 ? weights[i - 1] : T(0), i, length, zero, one);
  }
}

//! The sum of the weights after one element is removed again.
template <class T>
RETABLE_HD T UnwoundSum(const T* weights, int length, T zero, T one) {
  UnwoundState<T> state{weights[length - 1]};
  for (int j = length - 2; j >= 0; --j) UnwoundStep(state, weights[j], j, length, zero, one);
  return state.total;
}

}  // namespace retable::treeshap

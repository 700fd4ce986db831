#pragma once
//! @file
//! The mathematics of one split, written once for the CPU and the GPU: which random bits a node
//! owns, where a cut falls, which of two cuts is better. Everything here is exact or rounded once
//! in a fixed order, so that the two devices grow the same trees bit for bit.
//!
//! - Random bits are a function of (seed, tree, path from the root, draw number): a node's draws do
//!   not depend on when, where or beside which other nodes it is grown.
//! - Gini: the best cut minimises the children's weighted impurity, which is to maximise
//!   sL / nL + sR / nR with s the sum of squared class counts (the proxy of the report's section IV
//!   and of scikit-learn). As the fraction (sL nR + sR nL) / (nL nR) two cuts are compared by
//!   cross-multiplication in 128 bits: no rounding, so no order of summation to agree on.
//! - Cuts are drawn in real values, uniform on [lowest, highest) of the node's own samples.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "algorithms/common/philox.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::extratrees {

inline constexpr std::uint64_t kMaxRows = 1u << 21;  //!< n^3 / 4 has to stay below 2^63
inline constexpr std::uint32_t kMaxClasses = 65535;

//! Multiplication, addition, division in double, rounded each on its own on either device.
RETABLE_HD double MulRn(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
RETABLE_HD double AddRn(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
RETABLE_HD double DivRn(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}

// ---------------------------------------------------------------- random bits

//! The 64-bit name of the root's path. Zero is kept for draws that belong to no node.
inline constexpr std::uint64_t kRootPath = 0x9E3779B97F4A7C15ull;

//! The path of a child: SplitMix64's finaliser (Steele, Lea, Flood 2014) of the parent's.
RETABLE_HD std::uint64_t ChildPath(std::uint64_t path, bool right) {
  std::uint64_t z = path + (right ? 0xD1B54A32D192ED03ull : 0x8CB92BA72F3D8DD7ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

//! Four words for draw number `draw` of a node.
RETABLE_HD PhiloxBlock NodeBits(std::uint64_t seed, std::uint32_t tree, std::uint64_t path,
                                std::uint32_t draw) {
  return Philox4x32::FromSeed(seed)(draw, tree, static_cast<std::uint32_t>(path),
                                    static_cast<std::uint32_t>(path >> 32));
}

//! Step i of Fisher and Yates over n features: the place it swaps with, in [i, n).
RETABLE_HD std::uint32_t SwapPlace(const PhiloxBlock& bits, std::uint32_t i, std::uint32_t n) {
  return i + static_cast<std::uint32_t>(UniformBelow(bits.half(0), n - i));
}

//! Row i of a bootstrap sample of n rows.
RETABLE_HD std::uint32_t BootstrapRow(std::uint64_t seed, std::uint32_t tree, std::uint32_t i,
                                      std::uint32_t n) {
  return static_cast<std::uint32_t>(UniformBelow(NodeBits(seed, tree, 0, i).half(0), n));
}

// ---------------------------------------------------------------- cuts

//! scikit-learn's test in float32: a feature whose range is within 1e-7 is constant.
RETABLE_HD bool IsConstant(float lowest, float highest) {
#if defined(__CUDA_ARCH__)
  return highest <= __fadd_rn(lowest, 1e-7f);
#else
  return highest <= lowest + 1e-7f;
#endif
}

//! A cut uniform on [lowest, highest): some value is <= it and some is above.
RETABLE_HD double DrawCut(float lowest, float highest, std::uint64_t bits) {
  const double low = lowest;
  const double high = highest;
  const double cut = AddRn(MulRn(UniformDouble(bits), AddRn(high, -low)), low);
  return cut >= high ? low : cut;
}

//! The largest code whose value is <= cut, given value[low] <= cut < value[high]. A guess at the
//! same fraction of the codes is right or next to right where values are evenly spaced (pixels);
//! bisection does the rest. At most 2 + log2(high - low) reads.
RETABLE_HD std::uint32_t CutCode(const float* value, std::uint32_t low, std::uint32_t high,
                                 double cut, std::uint64_t bits) {
  const std::uint32_t guess = low + static_cast<std::uint32_t>(((bits >> 32) * (high - low)) >> 32);
  if (static_cast<double>(value[guess]) <= cut) {
    low = guess;
    if (guess + 1 < high && static_cast<double>(value[guess + 1]) > cut) high = guess + 1;
  } else {
    high = guess;
    if (guess > low && static_cast<double>(value[guess - 1]) <= cut) low = guess - 1;
  }
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (static_cast<double>(value[middle]) <= cut) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

//! The largest float that is not above a double: for a float x, x <= it is x <= cut. No branch, as
//! every other double rounds up.
inline float LargestFloatUpTo(double cut) {
  const auto near = static_cast<float>(cut);
  const auto bits = std::bit_cast<std::int32_t>(near);
  const std::int32_t below =
      bits > 0 ? bits - 1 : (bits | std::numeric_limits<std::int32_t>::min()) + 1;
  return std::bit_cast<float>(static_cast<double>(near) <= cut ? bits : below);
}

//! The bits of a float, NaN aside, as a number of the same order: a GPU finds ranges of integers in
//! one instruction a warp.
RETABLE_HD std::uint32_t OrderedBits(float x) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t bits = __float_as_uint(x);
#else
  const auto bits = std::bit_cast<std::uint32_t>(x);
#endif
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
RETABLE_HD float FromOrderedBits(std::uint32_t ordered) {
  const std::uint32_t bits = ordered >> 31 != 0 ? ordered & 0x7FFFFFFFu : ~ordered;
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

//! Whether a sample goes left: code <= cut, with `shift` 1 where missing values do. A missing value
//! is the largest code; shifted by one it wraps to the smallest.
template <class Code>
RETABLE_HD bool GoesLeft(Code code, std::uint32_t cut, std::uint32_t shift) {
  return static_cast<Code>(code + shift) <= static_cast<Code>(cut + shift);
}

//! The side of missing values: a bit that DrawCut does not use.
RETABLE_HD bool DrawMissingLeft(std::uint64_t bits) {
  return (bits & 1u) != 0;
}

// ---------------------------------------------------------------- scores

//! (sL nR + sR nL) / (nL nR). numerator == 0 marks "no cut".
struct SplitScore {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;
};

RETABLE_HD SplitScore GiniScore(std::uint64_t left_squares, std::uint64_t right_squares,
                                std::uint64_t n_left, std::uint64_t n_right) {
  return {left_squares * n_right + right_squares * n_left, n_left * n_right};
}

//! Whether a is strictly better than b: exact, 128 bits.
RETABLE_HD bool Better(const SplitScore& a, const SplitScore& b) {
  const std::uint64_t high_a = MultiplyHigh64(a.numerator, b.denominator);
  const std::uint64_t high_b = MultiplyHigh64(b.numerator, a.denominator);
  if (high_a != high_b) return high_a > high_b;
  return a.numerator * b.denominator > b.numerator * a.denominator;
}

//! The score rounded to double. Up to kExactQuotientRows samples two different scores differ by
//! 16 / n^5 >= 2^-51 of their size, so that their quotients are different and in the same order.
inline constexpr std::uint32_t kExactQuotientRows = 2048;
RETABLE_HD double Quotient(const SplitScore& score) {
  return DivRn(static_cast<double>(score.numerator), static_cast<double>(score.denominator));
}

//! Gini impurity 1 - s / n^2.
RETABLE_HD double GiniImpurity(std::uint64_t squares, std::uint64_t n) {
  return AddRn(1.0, -DivRn(static_cast<double>(squares), static_cast<double>(n * n)));
}

//! Weighted impurity decrease of a split (scikit-learn's definition) among `total` rows.
RETABLE_HD double ImpurityDecrease(std::uint64_t squares, std::uint64_t n,
                                   std::uint64_t left_squares, std::uint64_t n_left,
                                   std::uint64_t right_squares, std::uint64_t total) {
  const std::uint64_t n_right = n - n_left;
  const double here = static_cast<double>(n);
  const double left =
      MulRn(DivRn(static_cast<double>(n_left), here), GiniImpurity(left_squares, n_left));
  const double right =
      MulRn(DivRn(static_cast<double>(n_right), here), GiniImpurity(right_squares, n_right));
  const double gain = AddRn(AddRn(GiniImpurity(squares, n), -right), -left);
  return MulRn(DivRn(here, static_cast<double>(total)), gain);
}

//! Whether a gain is too little to split for (scikit-learn's tolerance of one epsilon).
RETABLE_HD bool IsTooLittle(double gain, double min_decrease) {
  return min_decrease > 0 && AddRn(gain, 2.220446049250313e-16) < min_decrease;
}

//! When growth stops, in integers wherever it can be.
struct GrowthLimits {
  std::uint32_t max_depth;  //!< 0xFFFFFFFF: none
  std::uint32_t min_split;
  std::uint32_t min_leaf;
  double min_decrease;
  double min_weight_share;  //!< a child's least share of its tree's weight; 0: rows are counted
  std::uint64_t total;      //!< rows of the whole training set

  //! Whether a node is a leaf before any cut is tried.
  RETABLE_HD bool Stops(std::uint32_t n, std::uint64_t squares, std::uint32_t depth) const {
    return squares == std::uint64_t{n} * n || StopsAt(n, depth);
  }
  RETABLE_HD bool StopsAt(std::uint32_t n, std::uint32_t depth) const {
    return depth >= max_depth || n < min_split || n < 2ull * min_leaf;
  }
  //! Whether the best cut gains too little.
  RETABLE_HD bool Refuses(std::uint64_t squares, std::uint64_t n, std::uint64_t left_squares,
                          std::uint64_t n_left, std::uint64_t right_squares) const {
    if (min_decrease <= 0) return false;
    const double gain = ImpurityDecrease(squares, n, left_squares, n_left, right_squares, total);
    return IsTooLittle(gain, min_decrease);
  }
};

// ---------------------------------------------------------------- votes

//! A power of two, 2^exponent, for exponents of normal doubles.
RETABLE_HD double PowerOfTwo(int exponent) {
  const std::uint64_t bits = static_cast<std::uint64_t>(1023 + exponent) << 52;
#if defined(__CUDA_ARCH__)
  return __longlong_as_double(static_cast<long long>(bits));
#else
  return std::bit_cast<double>(bits);
#endif
}

//! A tree's answer in units of 2^-bits, rounded to nearest: sums do not depend on their order.
RETABLE_HD std::int64_t FixedPointVote(double value, int bits) {
#if defined(__CUDA_ARCH__)
  return __double2ll_rn(MulRn(value, PowerOfTwo(bits)));
#else
  return std::llrint(value * PowerOfTwo(bits));
#endif
}
RETABLE_HD double MeanVote(std::int64_t sum, std::uint32_t trees, int bits) {
  return MulRn(DivRn(static_cast<double>(sum), static_cast<double>(trees)), PowerOfTwo(-bits));
}

}  // namespace retable::extratrees

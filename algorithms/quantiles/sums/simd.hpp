#pragma once
//! @file
//! Eight doubles at once, for code that is compiled for several instruction sets
//! (base/simd_target.hpp). Eight lanes on every target, so that the lanes' sums, and hence the bits
//! of a result, do not depend on the machine. They lie in vectors of W doubles, of the target's own
//! width: of wider ones compilers compare and choose number by number.

#include <cstring>

#include "base/cuda/unroll.hpp"
#include "base/simd_target.hpp"

// Vectors never cross a call that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace retable::quantiles {

//! Not by `using`, in which GCC forgets a size that depends on W.
template <int W>
struct VectorTypes {
  typedef double Reals __attribute__((vector_size(8 * W)));
  typedef float Floats __attribute__((vector_size(4 * W)));
  typedef long long Longs __attribute__((vector_size(8 * W)));
};

//! N doubles in vectors of W.
template <int W, int N = 8>
struct Doubles {
  static constexpr int kParts = N / W;
  using Vector = typename VectorTypes<W>::Reals;
  using Longs = typename VectorTypes<W>::Longs;

  //! Of each lane, all bits or none.
  struct Mask {
    Longs part[kParts];
  };

  Vector part[kParts];

  RETABLE_ALWAYS_INLINE Doubles(double x = 0) {  // NOLINT: N times that number
    RETABLE_UNROLL_ALL
    for (int p = 0; p < kParts; ++p) part[p] = Vector{} + x;
  }

  //! From any address.
  RETABLE_ALWAYS_INLINE static Doubles Load(const double* values) {
    Doubles x;
    RETABLE_UNROLL_ALL
    for (int p = 0; p < kParts; ++p) std::memcpy(&x.part[p], values + p * W, sizeof x.part[p]);
    return x;
  }
  RETABLE_ALWAYS_INLINE static Doubles Load(const float* values) {
    Doubles x;
    RETABLE_UNROLL_ALL
    for (int p = 0; p < kParts; ++p) {
      typename VectorTypes<W>::Floats v;
      std::memcpy(&v, values + p * W, sizeof v);
      x.part[p] = __builtin_convertvector(v, Vector);
    }
    return x;
  }

  RETABLE_ALWAYS_INLINE void Store(double* values) const {
    RETABLE_UNROLL_ALL
    for (int p = 0; p < kParts; ++p) std::memcpy(values + p * W, &part[p], sizeof part[p]);
  }

  RETABLE_ALWAYS_INLINE double operator[](int lane) const { return part[lane / W][lane % W]; }

#define RETABLE_LANES_OPERATOR(RESULT, OP)                                              \
  friend RETABLE_ALWAYS_INLINE RESULT operator OP(const Doubles& a, const Doubles& b) { \
    RESULT c;                                                                           \
    RETABLE_UNROLL_ALL                                                                  \
    for (int p = 0; p < kParts; ++p) c.part[p] = a.part[p] OP b.part[p];                \
    return c;                                                                           \
  }
  RETABLE_LANES_OPERATOR(Doubles, +)
  RETABLE_LANES_OPERATOR(Doubles, -)
  RETABLE_LANES_OPERATOR(Doubles, *)
  RETABLE_LANES_OPERATOR(Mask, <)
  RETABLE_LANES_OPERATOR(Mask, >)
  RETABLE_LANES_OPERATOR(Mask, ==)
#undef RETABLE_LANES_OPERATOR
  RETABLE_ALWAYS_INLINE Doubles operator-() const {
    Doubles c;
    RETABLE_UNROLL_ALL
    for (int p = 0; p < kParts; ++p) c.part[p] = -part[p];
    return c;
  }
  RETABLE_ALWAYS_INLINE Doubles& operator+=(const Doubles& b) {
    return *this = *this + b;
  }
  RETABLE_ALWAYS_INLINE Doubles& operator*=(const Doubles& b) {
    return *this = *this * b;
  }

  friend RETABLE_ALWAYS_INLINE Doubles Select(const Mask& which, const Doubles& a,
                                              const Doubles& b) {
    Doubles c;
    RETABLE_UNROLL_ALL
    for (int p = 0; p < kParts; ++p) c.part[p] = which.part[p] ? a.part[p] : b.part[p];
    return c;
  }
};

}  // namespace retable::quantiles

#pragma once
//! @file
//! Chebyshev sums of a stream on the CPU: tiles of 4096 values, eight at a time.
//!
//! A tile is read twice from the first-level cache: for its bounds, then for its sums on them
//! (chebyshev_sums.hpp). The accumulator also tests whether the values are decimals
//! (lattice/decimal_digits.hpp), as most real columns are: a query then knows the lattice that
//! holds all mass. Results have the same bits on every instruction set; they depend on how a stream
//! is divided into update() calls.

#include <cstddef>
#include <span>

#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/sums/chebyshev_sums.hpp"
#include "algorithms/quantiles/sums/infinities.hpp"

namespace retable::quantiles {

//! How far sums and values can be trusted.
struct Precision {
  //! Largest error of a mean of T_k, before the sums are moved to a wider interval: a move adds an
  //! error of its own, and lets the others grow by the factor kMoveGrowth at most, all moves
  //! together, since they compose to one.
  double error = 0;
  double rounding = 0;  //!< kRounding of the least precise type among the values
};

//! sum_j |c_j| of T_k(alpha t + beta) = sum_j c_j T_j(t) is at most 1 + sqrt(2 k), as its square's
//! mean is at most 1 (Parseval); 1 + sqrt(30) is 6.5, and the rest is for rounding.
inline constexpr double kMoveGrowth = 8;

//! Gathers Chebyshev sums of order 1..15 of the finite values of a stream.
class ChebyshevAccumulator {
 public:
  //! @throws std::invalid_argument unless 1 <= order <= 15. Without `find_lattice` the test
  //! for decimals is skipped.
  explicit ChebyshevAccumulator(int order, bool find_lattice = true);

  void Update(std::span<const float> values);
  void Update(std::span<const double> values);
  //! Adds sums of the same order over data with this many digits.
  void Merge(const ChebyshevSums& sums, int digits, const Precision& precision);
  //! Adds another stream. @throws nothing; the order must be the same.
  void Merge(const ChebyshevAccumulator& other);
  void Count(const Infinities& infinities) { infinities_.Merge(infinities); }

  int order() const { return order_; }
  const ChebyshevSums& sums() const { return sums_; }
  //! 0..kMaxDigits or kNoLattice; 0 for an empty stream.
  int digits() const { return digits_; }
  const Infinities& infinities() const { return infinities_; }
  const Precision& precision() const { return precision_; }

 private:
  template <class Real>
  void Feed(std::span<const Real> values);
  template <class Real>
  void AddTile(const Real* values, std::size_t n);
  //! Counts infinite values, and adds the others.
  template <class Real>
  void AddFinite(const Real* values, std::size_t n);
  //! Raises digits_ until `values`, of at most this magnitude, are multiples of 10^-digits_.
  template <class Real>
  void FindDigits(const Real* values, std::size_t eights, double magnitude);

  int order_;
  int digits_;
  ChebyshevSums sums_;
  Infinities infinities_;
  Precision precision_;
};

}  // namespace retable::quantiles

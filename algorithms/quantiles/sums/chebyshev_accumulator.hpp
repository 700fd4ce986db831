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
#include <memory>
#include <span>

#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! Gathers Chebyshev sums of order 1..15.
class ChebyshevAccumulator {
 public:
  //! @throws std::invalid_argument unless 1 <= order <= 15. Without `find_lattice` the test
  //! for decimals is skipped.
  explicit ChebyshevAccumulator(int order, bool find_lattice = true);

  void Update(std::span<const float> values);
  void Update(std::span<const double> values);
  //! Adds sums of the same order over data with this many digits.
  void Merge(const ChebyshevSums& sums, int digits);

  int order() const { return order_; }
  const ChebyshevSums& sums() const { return sums_; }
  //! 0..kMaxDigits or kNoLattice; 0 for an empty stream.
  int digits() const { return digits_; }

 private:
  template <class Real>
  void Feed(std::span<const Real> values);
  template <class Real>
  void AddTile(const Real* values, std::size_t n);
  //! Raises digits_ until `values`, of at most this magnitude, are multiples of 10^-digits_.
  template <class Real>
  void FindDigits(const Real* values, std::size_t eights, double magnitude);

  int order_;
  int digits_;
  ChebyshevSums sums_;
};

}  // namespace retable::quantiles

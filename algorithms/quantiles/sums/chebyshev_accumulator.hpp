#pragma once
//! @file
//! Chebyshev sums of a stream on the CPU: tiles of 4096 values, eight at a time.
//!
//! A tile is read twice while it lies in the first-level cache: once for its bounds, once for its
//! sums on them (chebyshev_sums.hpp). Whether the values are multiples of a power of ten (or whole
//! numbers) is tested on the way, as most real columns are; a query then knows the few places where
//! mass can be. Same bits on every instruction set; the bits do depend on how a stream is cut into
//! update() calls.

#include <cstddef>
#include <memory>
#include <span>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! Gathers Chebyshev sums of order 1..15.
class ChebyshevAccumulator {
 public:
  //! @throws std::invalid_argument unless 1 <= order <= 15. `find_lattice` off saves the test.
  explicit ChebyshevAccumulator(int order, bool find_lattice = true);

  void Update(std::span<const float> values);
  void Update(std::span<const double> values);
  //! Adds sums gathered elsewhere, of the same order, over data with this many digits.
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

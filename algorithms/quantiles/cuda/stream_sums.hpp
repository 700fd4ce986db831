#pragma once
//! @file
//! Chebyshev sums of device memory in one pass, at the speed of reading it.

#include <cstddef>
#include <memory>

#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! Owns the device memory that the sums of one stream need.
class ChebyshevCuda {
 public:
  //! @throws std::invalid_argument unless 1 <= order <= 15; std::runtime_error without a device.
  explicit ChebyshevCuda(int order);
  ~ChebyshevCuda();

  //! The sums of n values in device memory, floats or doubles, behind what `stream` (a
  //! cudaStream_t) holds. Waits for the answer. @throws std::runtime_error on a CUDA error.
  template <class Real>
  ChebyshevSums Sum(const Real* values, std::size_t n, void* stream);
  //! Decimal digits of the values of the last Sum, as ColumnsCuda::Digits tells.
  int digits() const { return digits_; }
  //! Whether the last Sum was exact to float64: float32 values of a long stream that were not few
  //! enough to be counted are summed in float32.
  bool exact() const { return exact_; }

 private:
  struct Memory;
  template <class Real>
  void Launch(const Real* values, std::size_t n, bool count, void* stream);
  template <class Real>
  ChebyshevSums SumLong(const Real* values, std::size_t n, void* stream);

  int order_;
  int digits_ = 0;
  bool exact_ = true;
  std::unique_ptr<Memory> memory_;
};

}  // namespace retable::quantiles

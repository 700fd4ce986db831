#pragma once
//! @file
//! Chebyshev sums of device memory in one pass, at the speed of reading it.

#include <cstddef>
#include <memory>
#include <optional>

#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! Owns the device memory that the sums of one stream need.
class ChebyshevCuda {
 public:
  //! @throws std::invalid_argument unless 1 <= order <= 15; std::runtime_error without a device.
  explicit ChebyshevCuda(int order);
  ~ChebyshevCuda();

  //! The sums of n values in device memory, behind what `stream` (a cudaStream_t) holds. Waits for
  //! the answer. @throws std::runtime_error on a CUDA error.
  ChebyshevSums Sum(const float* values, std::size_t n, void* stream);
  ChebyshevSums Sum(const double* values, std::size_t n, void* stream);
  //! Decimal digits of the values of the last Sum, as ColumnsCuda::Digits tells; nothing where they
  //! were not few enough to be counted.
  std::optional<int> digits() const { return digits_; }

 private:
  struct Memory;
  template <class Real>
  void Launch(const Real* values, std::size_t n, void* stream);
  ChebyshevSums Fetch(void* stream);

  int order_;
  std::optional<int> digits_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace retable::quantiles

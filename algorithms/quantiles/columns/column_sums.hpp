#pragma once
//! @file
//! Chebyshev sums of all columns of a table, in one pass.

#include <cstddef>
#include <memory>
#include <vector>

#include "algorithms/quantiles/sums/chebyshev_sums.hpp"

namespace retable::quantiles {

//! Sums of a column, NaN skipped.
struct ColumnSums {
  ChebyshevSums sums;
  ChebyshevSums log_sums;  //!< Sums of log x if requested and every x > 0; else empty.
  int digits = 0;
};

//! A column-major table in device memory: column c starts at data + c * stride.
template <class Real>
struct DeviceColumns {
  const Real* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
};

//! Sums all columns of a table in device memory, one block per tile of a column.
//!
//! Sums are float64 for either input type, use the bounds of the tile, and are joined in an order
//! that depends on the number of rows alone: the bits do not depend on the device. Memory: one
//! state per tile of kColumnTile values.
class ColumnsCuda {
 public:
  //! `logs` adds sums of log x. @throws std::invalid_argument unless 1 <= order <= 15;
  //! std::runtime_error without a device.
  explicit ColumnsCuda(int order, bool logs = false);
  ~ColumnsCuda();

  //! Of floats or doubles. Runs in order on `stream` (a cudaStream_t) and waits for the result.
  //! @throws std::runtime_error on a CUDA error.
  template <class Real>
  std::vector<ColumnSums> Sum(const DeviceColumns<Real>& columns, void* stream);

  //! Decimal digits of n values in device memory: 0..kMaxDigits or kNoLattice. One pass at read
  //! speed, which ends early where values are no decimals.
  template <class Real>
  int Digits(const Real* values, std::size_t n, void* stream);

 private:
  struct Memory;

  int order_;
  bool logs_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace retable::quantiles

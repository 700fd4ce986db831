#pragma once
//! @file
//! What a sketch keeps of a column, and the sums of many columns at once.

#include <cstddef>
#include <memory>
#include <vector>

#include "algorithms/quantiles/sums/chebyshev_sums.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::quantiles {

//! Values are multiples of 10^-digits, 0 <= digits <= kMaxDigits; kNoLattice: of none of these.
inline constexpr int kMaxDigits = 6;
inline constexpr int kNoLattice = 15;

//! Relative rounding of a value read as this type.
template <class Real>
inline constexpr double kRounding = sizeof(Real) == 4 ? 1.2e-7 : 4.5e-16;

//! 10^digits, exactly.
RETABLE_HD double PowerOfTen(int digits) {
  double power = 1;
  for (int i = 0; i < digits; ++i) power *= 10;
  return power;
}

//! By how much x power misses a whole number, beyond what rounding explains: at most 0 on the
//! lattice. Needs |x power| < 2^51. Works on vectors, hence no returned value.
template <class Value>
RETABLE_HD void LatticeExcess(const Value& x, double power, double rounding, Value& excess) {
  // Adding and taking off 1.5 * 2^52 rounds to a whole number.
  const double rounder = 6755399441055744.0;
  const Value v = x * power;
  const Value size = v < 0 ? -v : v;
  const Value off = v - ((v + rounder) - rounder);
  excess = (off < 0 ? -off : off) - size * rounding;
}

//! The same for one value.
RETABLE_HD bool IsOnLattice(double x, int digits, double rounding) {
  double excess = 0;
  LatticeExcess(x, PowerOfTen(digits), rounding, excess);
  return excess <= 0;
}

//! Whether values of at most this magnitude leave room between multiples of 10^-digits for their
//! type's rounding.
RETABLE_HD bool LatticeIsFiner(double magnitude, int digits, double rounding) {
  return magnitude * PowerOfTen(digits) * rounding < 0.05;
}

//! Sums of a column. Missing values are not counted.
struct ColumnSums {
  ChebyshevSums sums;
  ChebyshevSums log_sums;  //!< of log x, where asked for and every x > 0; else empty
  int digits = 0;
};

//! Columns of device memory, one below the other: column c starts at data + c * stride.
template <class Real>
struct DeviceColumns {
  const Real* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
};

//! Sums of all columns of a table in device memory in one pass, a block per tile of a column.
//!
//! Sums are taken in float64 whatever the input, on a tile's own bounds, and joined in the order of
//! the tiles: the same bits on every device. Cost: two reads of each tile, the second from the
//! second-level cache. Memory: one state a tile, at most 64 tiles a column.
class ColumnsCuda {
 public:
  //! `logs`: sums of log x too. @throws std::invalid_argument unless 1 <= order <= 15;
  //! std::runtime_error without a device.
  explicit ColumnsCuda(int order, bool logs = false);
  ~ColumnsCuda();
  ColumnsCuda(ColumnsCuda&&) noexcept;
  ColumnsCuda& operator=(ColumnsCuda&&) noexcept;

  //! Behind what `stream` (a cudaStream_t) holds; waits for the answer. @throws
  //! std::runtime_error on a CUDA error.
  std::vector<ColumnSums> Sum(const DeviceColumns<float>& columns, void* stream);
  std::vector<ColumnSums> Sum(const DeviceColumns<double>& columns, void* stream);

 private:
  struct Memory;
  template <class Real>
  void Launch(const DeviceColumns<Real>& columns, void* stream);
  std::vector<ColumnSums> Fetch(std::size_t columns, void* stream);

  int order_;
  bool logs_;
  std::unique_ptr<Memory> memory_;
};

//! Digits of the values of device memory: 0..kMaxDigits or kNoLattice. A look at the first values
//! mostly rules a lattice out; else one more pass at the speed of reading.
int FindDigitsCuda(const float* values, std::size_t n, void* stream);
int FindDigitsCuda(const double* values, std::size_t n, void* stream);

}  // namespace retable::quantiles

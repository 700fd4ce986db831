#pragma once
//! @file
//! The Chebyshev sketch, registered as "Retable": Chebyshev sums on growing intervals, with bounds
//! on the error of its answers.
//!
//! Sums: sums/chebyshev_sums.hpp; estimator: estimators/chebyshev_fit.hpp. Serialised, 84 bytes:
//!
//!     byte 0        version (low 4 bits), decimal digits of the data or 15 (high 4 bits)
//!     bytes 1-6     count (low 44 bits), order (high 4 bits)
//!     bytes 7-22    minimum, maximum (IEEE 754 binary64)
//!     bytes 23-32   counts at the minimum and at the maximum (40 bits each)
//!     bytes 33-81   15 moments E[T_k] on [min, max], 26 bits each, two's complement,
//!                   unit 1/(2^25 - 1)
//!     bytes 82-83   CRC-16/CCITT of the bytes before
//!
//! all little-endian whatever the machine. With log moments (version 2), 49 bytes of these precede
//! the checksum: 133 bytes. Rounding the moments to 26 bits moves them by 1.5e-8.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/estimators/chebyshev_fit.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"

namespace retable::quantiles {

//! Quantiles with bounds on their errors.
struct SketchAnswer {
  std::vector<double> values;
  //! Largest rank error (interval, see niae.hpp) over all distributions with these moments and
  //! bounds.
  std::vector<double> rank_bound;
  FitStatus status;
};

class ChebyshevSketch : public QuantileSketch, public DensityEstimate {
 public:
  //! `log` keeps moments of log x too, for heavy-tailed positive data. @throws
  //! std::invalid_argument unless 1 <= order <= 15.
  explicit ChebyshevSketch(int order = kMaxOrder, bool log = false);

  void update(std::span<const float> values) override;
  void update(std::span<const double> values) override;
  void merge(const QuantileSketch& other) override;
  std::size_t count() const override;
  std::vector<double> quantiles(std::span<const double> phis) const override;
  std::vector<double> density(std::span<const double> xs) const override;
  std::size_t bytes() const override;
  //! Reads the values; for each moment of each at least one multiplication and one addition.
  std::vector<Work> work(std::size_t values, std::size_t value_bytes) const override {
    std::vector<Work> work = QuantileSketch::work(values, value_bytes);
    work.push_back({"FMA fp64", 2.0 * sums_.order() * static_cast<double>(values)});
    return work;
  }
  std::unique_ptr<QuantileSketch> empty_clone() const override;

  //! @throws as quantiles().
  SketchAnswer Ask(std::span<const double> phis) const;

  //! @throws std::length_error for more than 2^44 values, or 2^40 on one end.
  std::vector<std::byte> Serialize() const;
  //! @throws std::invalid_argument with the reason for bytes that Serialize did not write.
  static std::unique_ptr<ChebyshevSketch> Deserialize(std::span<const std::byte> bytes);

  //! The input of a fit, as for FitColumns. @throws
  //! std::logic_error when empty, SketchFailure when the stream holds an infinite value.
  FitInput Input() const;

  //! Adds sums whose moments have this precision.
  void Absorb(const ColumnSums& sums, double noise);

 protected:
  ChebyshevAccumulator sums_;
  double noise_ = 1e-13;  //!< precision of the moments

 private:
  template <class Real>
  void Feed(std::span<const Real> values);
  bool HasLogs() const;

  bool log_;
  ChebyshevAccumulator log_sums_;
};

}  // namespace retable::quantiles

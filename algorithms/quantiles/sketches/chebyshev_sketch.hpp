#pragma once
//! @file
//! The Chebyshev sketch, registered as "Retable": Chebyshev sums on growing intervals, with bounds
//! on the error of its answers.
//!
//! Sums: sums/chebyshev_sums.hpp; estimator: estimators/chebyshev_fit.hpp.
//!
//! Fifteen moments of a heavy tail, or of anything beside one far value, leave most ranks open: no
//! estimator can know them. So quantiles() proves a bound for each answer (rank_bounds.hpp) and
//! fails where it exceeds kUselessRankBound; Ask() answers whatever the bound, and states it. The
//! bound takes the errors of the sums into account, which depend on how they were merged, and holds
//! for any order of updates and merges: two orders give answers that differ, in rank, by less than
//! the sum of their bounds. Their moments differ by less than 1e-12, but a form of fit may be
//! chosen by the last bit where the moments leave several.
//!
//! Serialised, 84 bytes:
//!
//!     byte 0        version (low 4 bits), decimal digits of the data or 15 (high 4 bits)
//!     bytes 1-6     count (low 44 bits), order (high 4 bits)
//!     bytes 7-22    minimum, maximum (IEEE 754 binary64)
//!     bytes 23-32   counts at the minimum and at the maximum (40 bits each)
//!     bytes 33-81   15 moments E[T_k] on [min, max], 26 bits each, two's complement,
//!                   unit 1/(2^25 - 1); then a bit for float32 values, a bit for moments rounded
//!                   more than once
//!     bytes 82-83   CRC-16/CCITT of the bytes before
//!
//! all little-endian whatever the machine. With log moments 49 bytes of these precede the checksum:
//! 133 bytes. Rounding the moments to 26 bits moves them by 1.5e-8. Where the stream held infinite
//! values, or the moments' error exceeds 1e-7, 14 bytes more precede the checksum: counts of minus
//! and plus infinity (40 bits each), and the error (binary32). Version 3 is this; version 4, with
//! log moments. Versions 1 and 2 had neither those two bits nor these 14 bytes; they are read as
//! float32 values with an error of 1e-6.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/quantiles/columns/column_sums.hpp"
#include "algorithms/quantiles/estimators/chebyshev_fit.hpp"
#include "algorithms/quantiles/quantile_sketch.hpp"
#include "algorithms/quantiles/sums/moment_accumulator.hpp"

namespace retable::quantiles {

//! quantiles() fails where the rank of an answer may be off by more. Any value at all is within 1/2
//! of the median's rank. A stream of draws from a normal, exponential or lognormal(0, 1) law has
//! bounds of 0.2 to 0.35 at order 15; the error itself is a tenth of it or less.
inline constexpr double kUselessRankBound = 0.4;

//! Quantiles of the finite values with bounds on their errors.
struct SketchAnswer {
  std::vector<double> values;
  //! Largest rank error (interval, see niae.hpp) over all streams with these moments and bounds. If
  //! the values are decimals, ranks are those of all values that are the same number but for the
  //! rounding of their type.
  std::vector<double> rank_bound;
  FitStatus status;
};

//! CRC-16/CCITT-FALSE, which ends a serialised sketch.
std::uint16_t SketchChecksum(std::span<const std::byte> bytes);

class ChebyshevSketch : public QuantileSketch, public DensityEstimate {
 public:
  //! `log` keeps moments of log x too, for heavy-tailed positive data. @throws
  //! std::invalid_argument unless 1 <= order <= 15.
  explicit ChebyshevSketch(int order = kMaxOrder, bool log = false);

  void update(std::span<const float> values) override;
  void update(std::span<const double> values) override;
  void merge(const QuantileSketch& other) override;
  std::size_t count() const override;
  Infinities infinities() const override { return sums_.infinities(); }
  std::vector<double> density(std::span<const double> xs) const override;
  std::size_t bytes() const override;
  //! Reads the values; for each moment of each at least one multiplication and one addition.
  std::vector<Work> work(std::size_t values, std::size_t value_bytes) const override {
    std::vector<Work> work = QuantileSketch::work(values, value_bytes);
    work.push_back({"FMA fp64", 2.0 * sums_.order() * static_cast<double>(values)});
    return work;
  }
  std::unique_ptr<QuantileSketch> empty_clone() const override;

  //! The finite values' quantiles, however wide their bounds. @throws as quantiles() otherwise.
  SketchAnswer Ask(std::span<const double> phis) const;

  //! Moments, and whether those of log x are kept.
  int order() const { return sums_.order(); }
  bool log() const { return log_; }
  //! Of the finite values; bounds of 0 where there is none.
  const ChebyshevSums& sums() const { return sums_.sums(); }

  //! @throws std::length_error from 2^44 values on, or 2^40 on one end or infinite.
  std::vector<std::byte> Serialize() const;
  //! @throws std::invalid_argument with the reason for bytes that Serialize did not write.
  static std::unique_ptr<ChebyshevSketch> Deserialize(std::span<const std::byte> bytes);

  //! The input of a fit, as for FitColumns. @throws
  //! std::logic_error when no value is finite, SketchFailure when the range is below 2e-305.
  FitInput Input() const;

  //! The largest number that counts as x: where the values are decimals and x is one but for the
  //! rounding of their type, the values that are this decimal may lie on either side of x.
  double UpTo(double x) const;

  //! @throws SketchFailure, which names `what(i)`, where the rank of values[i] may be off from
  //! phis[i] by more than kUselessRankBound. Both ascend.
  void CheckRanks(const ChebyshevFit& fit, std::span<const double> values,
                  std::span<const double> phis,
                  const std::function<std::string(std::size_t)>& what) const;

  //! Adds sums whose moments have this noise, of values of this rounding.
  void Absorb(const ColumnSums& sums, double noise, double rounding);

 protected:
  //! @throws SketchFailure where a bound exceeds kUselessRankBound.
  std::vector<double> finite_quantiles(std::span<const double> phis) const override;
  std::vector<double> finite_rank_bounds(std::span<const double> phis) const override {
    return Ask(phis).rank_bound;
  }

  //! @throws std::length_error where so many more are beyond 2^53, to which a double counts
  void RequireRoom(std::size_t more) const;

  ChebyshevAccumulator sums_;
  double noise_ = 1e-13;  //!< precision of the moments that the choice of a form assumes

 private:
  template <class Real>
  void Feed(std::span<const Real> values);
  bool HasLogs() const;

  bool log_;
  ChebyshevAccumulator log_sums_;
};

//! How it registers, on the CPU and with CUDA.
template <class Sketch>
Method<QuantileSketch> ChebyshevMethod(Device device) {
  return {.name = "Retable",
          .device = device,
          .summary = "Chebyshev sums on growing intervals, counts at the ends, atoms",
          .citation = "this project",
          .parameters = {{"l", std::int64_t{15}, "highest order of the moments, 1 to 15"},
                         {"log", false, "keep moments of log x too"}},
          .make = [](const Parameters& p) {
            return std::make_unique<Sketch>(CheckOrder(IntegerParameter(p, "l", 15)),
                                            SwitchParameter(p, "log", false));
          }};
}

}  // namespace retable::quantiles

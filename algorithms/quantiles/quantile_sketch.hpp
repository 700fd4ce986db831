#pragma once
//! @file
//! The interface of the quantile family: a sketch takes values, merges with another of the same
//! method, and answers quantile queries, in a stated number of bytes.

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "algorithms/common/registry.hpp"
#include "algorithms/common/work.hpp"
#include "algorithms/quantiles/sums/infinities.hpp"

namespace retable::quantiles {

//! The method could not produce quantiles for numerical reasons. The measuring protocol counts
//! these as the papers do; they are never dropped.
class SketchFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

//! Adds values in device memory (cuda/device_update.hpp).
class DeviceUpdate;

//! A one- or two-pass summary of a stream of numbers.
//!
//! NaN values are missing values and are skipped by every method. Infinite values are values: they
//! are counted, merged, and answered at the ends; a method's summary is that of the finite ones.
class QuantileSketch {
 public:
  virtual ~QuantileSketch() = default;

  //! Passes over the data: 1 (streaming) or 2 (bounds first, then coefficients).
  virtual int passes() const { return 1; }
  //! Starts pass 0, 1, ... A caller feeds all values between two of these calls.
  virtual void begin_pass(int /*pass*/) {}

  //! Adds values. CUDA backends copy host memory here; device_update() takes device memory.
  virtual void update(std::span<const float> values) = 0;
  virtual void update(std::span<const double> values) = 0;

  //! Where values in device memory can be added; nullptr for a sketch that has no such way.
  virtual DeviceUpdate* device_update() { return nullptr; }

  //! Adds the other sketch's stream to this one. @throws std::invalid_argument for another type or
  //! other parameters; std::logic_error where the method cannot merge.
  virtual void merge(const QuantileSketch& other) = 0;

  //! Number of values seen, infinite ones too (missing ones not counted).
  virtual std::size_t count() const = 0;
  //! The infinite ones among them that the summary does not hold; none where a method summarises
  //! infinite values as any others.
  virtual Infinities infinities() const { return {}; }

  //! Approximate quantiles F^-1(phi) for ascending phi in [0, 1]: one density is fitted, then all
  //! are answered. @throws SketchFailure on numerical failure, or where a method that knows bounds
  //! finds them too wide; std::logic_error when empty.
  std::vector<double> quantiles(std::span<const double> phis) const;
  double quantile(double phi) const { return quantiles(std::span(&phi, 1)).front(); }

  //! Of each answer of quantiles(phis), the largest rank error (niae.hpp) that any stream with this
  //! summary can show, certain for every stream; empty if the method knows no such bound. Also
  //! where quantiles(phis) fails since a bound is too wide. @throws otherwise as quantiles().
  std::vector<double> rank_bounds(std::span<const double> phis) const;

  //! Whether answers ascend with phi. A truncated series may be negative somewhere, and a quantile
  //! is then *a* root of F = phi: answers may descend. They are left as the published method has
  //! them.
  virtual bool monotone() const { return true; }

  //! Bytes of state that would have to be sent to another machine (serialised size).
  virtual std::size_t bytes() const = 0;

  //! The least work of an update with this many values: by default reading them once per pass.
  //! @param value_bytes 4 or 8
  virtual std::vector<Work> work(std::size_t values, std::size_t value_bytes) const {
    return {{"read", static_cast<double>(passes()) * static_cast<double>(values) *
                         static_cast<double>(value_bytes)}};
  }

  //! An empty sketch with the same parameters.
  virtual std::unique_ptr<QuantileSketch> empty_clone() const = 0;

 protected:
  //! quantiles() of the values that are not infinities(), of which there is at least one, or none
  //! at all.
  virtual std::vector<double> finite_quantiles(std::span<const double> phis) const = 0;
  //! rank_bounds() of these values.
  virtual std::vector<double> finite_rank_bounds(std::span<const double> /*phis*/) const {
    return {};
  }
};

//! Implemented by sketches that answer through a density. Each call fits once, hence many points
//! at once.
class DensityEstimate {
 public:
  virtual ~DensityEstimate() = default;
  //! The density of the finite values at each x, in the data's units (1 / unit of x); zero outside
  //! of [min, max]. A truncated series may be negative somewhere. @throws as
  //! QuantileSketch::quantiles; SketchFailure too for a constant stream, which has no density.
  virtual std::vector<double> density(std::span<const double> xs) const = 0;
};

//! Implemented by sketches that estimate the distribution function itself. Each call fits once.
class DistributionEstimate {
 public:
  virtual ~DistributionEstimate() = default;
  //! The estimate of F(x) = P(X <= x) of the finite values at each x in [min, max], as the method
  //! has it: that of a truncated series may descend and leave [0, 1], which its quantiles hide.
  //! @throws as QuantileSketch::quantiles.
  virtual std::vector<double> cdf(std::span<const double> xs) const = 0;
};

}  // namespace retable::quantiles

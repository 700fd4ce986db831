#pragma once
//! @file
//! Quantile sketches: a stream of fewer than 2^40 values in 84 bytes.
//!
//!     retable::QuantileSketch sketch;
//!     sketch.update(values);                    // float or double, any number of times
//!     sketch.merge(of_another_machine);
//!     sketch.quantile(0.99);
//!     sketch.to_bytes();      // 84 bytes; 133 with log moments; 14 more for infinite values
//!
//! The sketch holds 15 Chebyshev moments on growing intervals, the bounds, and counts at the
//! bounds; answers come from the distribution of maximum entropy (algorithms/quantiles/README.md).
//! NaN is a missing value and skipped. Infinite values are counted and answered at the ends.
//!
//! Functions throw std::invalid_argument for arguments that they do not take, std::logic_error for
//! questions to an empty sketch, std::length_error for more than 2^53 values in a sketch, or from
//! 2^44 on (2^40 of one value) in its bytes, and std::runtime_error where the moments do not
//! determine an answer.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace retable {

//! What a sketch keeps, and who sums.
struct QuantileSketchOptions {
  int order = 15;              //!< moments, 1 to 15
  bool log = false;            //!< moments of log x too, for heavy tails of positive values
  std::string device = "cpu";  //!< "cpu" or "cuda": who sums the values of update()
};

//! A stream's quantiles. Not for several threads at a time: give each its own, and merge.
class QuantileSketch {
 public:
  //! Of an empty stream. @throws std::invalid_argument for an order outside of 1 .. 15
  explicit QuantileSketch(const QuantileSketchOptions& options = {});
  ~QuantileSketch();
  QuantileSketch(const QuantileSketch& other);               //!< copies the stream's sketch
  QuantileSketch(QuantileSketch&&) noexcept;                 //!< moves
  QuantileSketch& operator=(QuantileSketch other) noexcept;  //!< copies or moves

  //! Adds values. O(values * order).
  void update(std::span<const float> values);
  //! The same for doubles.
  void update(std::span<const double> values);
  //! Adds n values in the memory of CUDA device 0 (DeviceMemory in retable/core.hpp), behind what
  //! the stream holds, and waits for the sums. @throws std::invalid_argument for a sketch whose
  //! device is not "cuda".
  void update_on_device(const float* values, std::size_t n, void* stream);
  //! The same for doubles.
  void update_on_device(const double* values, std::size_t n, void* stream);
  //! Adds the other sketch's stream. @throws std::invalid_argument for another order or log.
  void merge(const QuantileSketch& other);

  //! Values seen, infinite ones too; NaN not counted.
  std::size_t count() const;
  double min() const;  //!< the smallest value
  double max() const;  //!< the largest value
  //! The quantile of each phi in [0, 1], ascending; 0.1 to 5 ms for all of them.
  std::vector<double> quantiles(std::span<const double> phis) const;
  //! The quantile of one phi.
  double quantile(double phi) const { return quantiles(std::span(&phi, 1)).front(); }
  //! Of each answer of quantiles() the largest rank error that any stream with this sketch can
  //! show.
  std::vector<double> rank_bounds(std::span<const double> phis) const;
  //! The fraction of values <= x, for each ascending x. x counts as equal to a decimal number of
  //! the stream if they differ only by rounding to the values' type.
  std::vector<double> cdf(std::span<const double> xs) const;

  //! The same bytes on every machine: little-endian, versioned, with a checksum.
  std::vector<std::byte> to_bytes() const;
  //! @throws std::invalid_argument for bytes that to_bytes() did not write.
  static QuantileSketch from_bytes(std::span<const std::byte> bytes);

  //! What it was made with.
  const QuantileSketchOptions& options() const;

 private:
  struct State;
  explicit QuantileSketch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

//! A sketch of each column of a matrix in host memory: element (r, c) at x[r * row_stride + c *
//! column_stride], strides in elements. On all processor threads.
std::vector<QuantileSketch> SketchColumns(const float* x, std::size_t rows, std::size_t columns,
                                          std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                                          const QuantileSketchOptions& options = {});
//! The same for doubles.
std::vector<QuantileSketch> SketchColumns(const double* x, std::size_t rows, std::size_t columns,
                                          std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                                          const QuantileSketchOptions& options = {});

}  // namespace retable

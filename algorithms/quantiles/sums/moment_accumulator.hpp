#pragma once
//! @file
//! The interface between the sums of a stream and an estimator.
//!
//! An estimator (maximum entropy, Legendre series) does not depend on how its moments were summed:
//! raw or central sums, CPU or GPU.

#include <cstddef>
#include <memory>
#include <span>

#include "algorithms/quantiles/sums/infinities.hpp"
#include "algorithms/quantiles/sums/moments.hpp"

namespace retable::quantiles {

//! Gathers moments of order 0..l of a stream. NaN is skipped, infinite values are counted apart.
class MomentAccumulator {
 public:
  virtual ~MomentAccumulator() = default;
  virtual void update(std::span<const float> values) = 0;
  virtual void update(std::span<const double> values) = 0;
  //! @throws std::invalid_argument for another kind or order.
  virtual void merge(const MomentAccumulator& other) = 0;
  //! Number of finite values.
  virtual std::size_t count() const = 0;
  const Infinities& infinities() const { return infinities_; }
  virtual double min() const = 0;
  virtual double max() const = 0;
  //! Bounds in the data's units, also if the moments are those of a function of the data.
  virtual double data_min() const { return min(); }
  virtual double data_max() const { return max(); }
  //! Moments on [-1, 1]. Needs a stream with min < max, both finite.
  virtual ScaledMoments scaled() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual std::unique_ptr<MomentAccumulator> empty_clone() const = 0;

 protected:
  Infinities infinities_;
};

//! Raw power sums (eq. 1), vectorised: 8 lanes, each summed in order, so the same bits on every
//! instruction set. @throws std::invalid_argument unless 1 <= order <= 15.
std::unique_ptr<MomentAccumulator> MakeNaiveAccumulator(int order);

//! Pebay's incremental central sums (eq. 13), merged by eq. 12. @throws as above.
std::unique_ptr<MomentAccumulator> MakeCentralAccumulator(int order);

//! Feeds log(x) to `inner`, which must be empty. A value x <= 0 makes min() minus infinity.
std::unique_ptr<MomentAccumulator> MakeLogAccumulator(std::unique_ptr<MomentAccumulator> inner);

//! @throws std::invalid_argument naming the limits unless 1 <= order <= 15.
int CheckOrder(long long order);

}  // namespace retable::quantiles

#pragma once
//! @file
//! Matrices of interaction values on the host, from the sums of a device: a matrix is mostly zeros
//! (99 % of 784 x 784 features), which need not cross the bus.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/treeshap/interactions/common/sums.hpp"

namespace retable::treeshap {

//! The sums of a call in fixed point: `stride` rows of the first sum, then of the next.
struct InteractionSumsOfRows {
  const std::uint64_t* sums = nullptr;  //!< two's complement, in units of 1 / scale
  std::size_t rows = 0, stride = 0;     //!< stride: a multiple of kMatrixRows
  double scale = 1;                     //!< a power of two
};

class InteractionMatrices {
 public:
  //! `names`: ascending (InteractionTapeSet).
  InteractionMatrices(std::vector<InteractionSum> names, std::size_t features, std::size_t outputs);

  std::size_t count() const { return names_.size(); }
  const std::vector<InteractionSum>& names() const { return names_; }
  //! The first name of each output, and their number.
  const std::vector<std::size_t>& begin() const { return begin_; }

  //! Writes every number of `matrices`, rows x outputs x (features + 1)^2 (WriteMatrices).
  void Write(const InteractionSumsOfRows& from, std::span<const double> expected,
             std::span<double> matrices) const;

 private:
  std::size_t side_, outputs_;
  std::vector<InteractionSum> names_;
  std::vector<std::size_t> begin_;  // first name of each output
};

}  // namespace retable::treeshap

#pragma once
//! @file
//! Matrices of interaction values from the sums of the pairs of features that meet: what the
//! device leaves to the host, for a matrix is mostly zeros (99 % of 784 x 784 features), which
//! need not cross the bus. Threads take some rows of an output each and write their matrices once,
//! while they are in a cache: zeros, both triangles and the diagonal.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"

namespace retable::treeshap {

//! What a call's sums are: in fixed point, `stride` rows of the first sum, then of the next.
struct PairSumsOfRows {
  const std::uint64_t* sums = nullptr;  //!< two's complement, in units of 1 / scale
  std::size_t rows = 0, stride = 0;
  double scale = 1;  //!< a power of two
};

class PairResults {
 public:
  //! `names`: rising (PairTapeSet).
  PairResults(std::vector<PairSum> names, std::size_t features, std::size_t outputs);

  std::size_t count() const { return names_.size(); }

  //! Writes every number of `matrices`, rows x outputs x (features + 1)^2. Half of a pair's sum
  //! goes to each triangle; the diagonal is what the pairs leave of the value, the last corner the
  //! output's expected value. O(matrices + rows x pairs)
  void Write(const PairSumsOfRows& from, std::span<const double> expected,
             std::span<double> matrices) const;

 private:
  std::size_t side_, outputs_;
  std::vector<PairSum> names_;
  std::vector<std::size_t> begin_;  // of each output's names
};

}  // namespace retable::treeshap

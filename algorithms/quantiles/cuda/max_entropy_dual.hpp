#pragma once
//! @file
//! Many maximum-entropy duals in one launch, a warp each.

#include <memory>
#include <span>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

namespace retable::quantiles {

//! The same iteration as SolveDual (dual_newton.hpp). Warps take problems as they come free, so
//! that the hard ones do not hold up the others; each answer depends on its problem alone.
class DualCuda {
 public:
  //! @throws std::runtime_error without a device.
  DualCuda();
  ~DualCuda();
  DualCuda(DualCuda&&) noexcept;
  DualCuda& operator=(DualCuda&&) noexcept;

  //! Copies the problems there and the answers back. @throws std::runtime_error on a CUDA error.
  std::vector<DualAnswer> Solve(std::span<const DualProblem> problems);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

//! A solver on the current CUDA device, for FitColumns. @throws as DualCuda.
DualSolver CudaDualSolver();

}  // namespace retable::quantiles

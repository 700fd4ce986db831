#pragma once
//! @file
//! Many maximum-entropy duals in one launch, one warp per dual.

#include <memory>
#include <span>
#include <vector>

#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

namespace retable::quantiles {

//! The same iteration as SolveDual (dual_newton.hpp). Iteration counts differ widely, so warps take
//! problems from a counter; each answer depends on its problem only.
class DualCuda {
 public:
  //! @throws std::runtime_error without a device.
  DualCuda();
  ~DualCuda();
  DualCuda(DualCuda&&) noexcept;
  DualCuda& operator=(DualCuda&&) noexcept;

  //! Copies the problems to the device and the answers back. @throws std::runtime_error on a CUDA
  //! error.
  std::vector<DualAnswer> Solve(std::span<const DualProblem> problems);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

//! A solver on the current CUDA device, for FitColumns. @throws as DualCuda.
DualSolver CudaDualSolver();

}  // namespace retable::quantiles

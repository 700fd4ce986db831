#pragma once
//! @file
//! Many maximum-entropy duals in one launch, one warp per dual.

#include "algorithms/quantiles/estimators/max_entropy/dual.hpp"

namespace retable::quantiles {

//! A solver on the current CUDA device, for FitColumns: the same iteration as SolveDual
//! (dual_newton.hpp). Iteration counts differ widely, so warps take problems from a counter; each
//! answer depends on its problem only. A call copies the problems to the device and the answers
//! back. @throws std::runtime_error without a device, and when called on a CUDA error.
DualSolver CudaDualSolver();

}  // namespace retable::quantiles

#pragma once
//! @file
//! rapidsai/gputreeshap, the published implementation, as a method: "RAPIDS GPUTreeShap" on CUDA.
//!
//! A header of its own repository (https://github.com/rapidsai/gputreeshap, Apache-2.0), used where
//! CMake finds it: -DGPUTREESHAP_INCLUDE_DIR=<folder that holds GPUTreeShap/gpu_treeshap.h>. Its
//! preprocessing (sorting, deduplication, bin packing) is done once in prepare(), through its
//! internals; its own interface repeats it on every call. Numerical splits and at most 31 distinct
//! features a path.

#include <memory>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::baselines::treeshap {

//! Whether this build has it.
bool RapidsIsHere();
//! @throws std::runtime_error where it is not here
std::unique_ptr<retable::treeshap::TreeExplainer> MakeRapids();

}  // namespace retable::baselines::treeshap

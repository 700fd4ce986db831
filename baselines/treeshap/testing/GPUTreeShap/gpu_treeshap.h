#pragma once
//! @file
//! What rapids_gpu_tree_shap.cu uses of rapidsai/gputreeshap, declared alone: so that it is
//! compiled, not run, where that library is absent.

#include <thrust/device_vector.h>

#include <cstddef>
#include <cstdint>

namespace gpu_treeshap {

struct XgboostSplitCondition {
  XgboostSplitCondition() = default;
  XgboostSplitCondition(float lower, float upper, bool missing_follows);
};

template <class Condition>
struct PathElement {
  __host__ __device__ PathElement();
  __host__ __device__ PathElement(std::size_t path, std::int64_t feature, int group,
                                  Condition condition, double zero_fraction, float value);
};

namespace detail {

template <class Allocator, class Condition, class Paths, class Sizes>
void PreprocessPaths(Paths* from, Paths* to, Sizes* bins);

template <class Rows>
__global__ void ReadRows(Rows rows, double* values) {
  *values = rows.GetElement(rows.NumRows(), rows.NumCols());
}

template <class Rows, class Bins, class Paths>
void ComputeShap(Rows rows, const Bins&, const Paths&, std::size_t, double* values) {
  ReadRows<<<1, 1>>>(rows, values);
}

template <class Rows, class Bins, class Paths>
void ComputeShapInteractions(Rows rows, const Bins& bins, const Paths& paths, std::size_t groups,
                             double* values) {
  ComputeShap(rows, bins, paths, groups, values);
}

}  // namespace detail
}  // namespace gpu_treeshap

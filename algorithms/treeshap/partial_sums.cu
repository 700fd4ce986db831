#include "algorithms/treeshap/partial_sums.cuh"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kThreads = 128;

__global__ void ClearColumns(const std::uint32_t* columns, std::uint32_t stride, double* partial) {
  const std::uint32_t row = blockIdx.y * kThreads + threadIdx.x;
  partial[static_cast<std::size_t>(columns[blockIdx.x]) * stride + row] = 0;
}

__global__ void AddColumns(const double* partial, const std::uint32_t* columns,
                           const std::uint32_t* begin, const std::uint32_t* row_order,
                           std::uint32_t features, std::uint32_t stride, std::uint32_t rows,
                           std::uint32_t groups, double* out) {
  const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  const std::uint32_t target = row_order == nullptr ? row : row_order[row];
  const std::uint32_t group = blockIdx.z;
  for (std::uint32_t f = blockIdx.y; f < features; f += gridDim.y) {
    const std::uint32_t first = begin[group * features + f];
    const std::uint32_t last = begin[group * features + f + 1];
    if (first == last) continue;
    double sum = 0;
#pragma unroll 4
    for (std::uint32_t i = first; i < last; ++i) {
      sum += partial[static_cast<std::size_t>(columns[i]) * stride + row];
    }
    out[(static_cast<std::size_t>(target) * groups + group) * (features + 1) + f] += sum;
  }
}

}  // namespace

void PartialSums::Plan(std::span<const RangeSums> ranges, std::uint32_t features,
                       std::uint32_t groups) {
  features_ = features;
  groups_ = groups;
  ranges_ = static_cast<std::uint32_t>(ranges.size());
  std::vector<std::uint32_t> begin(std::size_t{groups} * features + 1, 0);
  const auto place = [&](const RangeSums& range, std::int32_t f) {
    return static_cast<std::size_t>(range.group) * features + static_cast<std::size_t>(f);
  };
  for (const RangeSums& range : ranges) {
    for (const std::int32_t f : range.features) ++begin[place(range, f) + 1];
  }
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<std::uint32_t> columns(begin.back());
  std::vector<std::uint32_t> next(begin);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (const std::int32_t f : ranges[i].features) {
      columns[next[place(ranges[i], f)]++] =
          static_cast<std::uint32_t>(i * features + static_cast<std::size_t>(f));
    }
  }
  count_ = begin.back();
  columns_.Upload(columns);
  begin_.Upload(begin);
}

void PartialSums::Clear(double* partial, std::uint32_t stride, cudaStream_t stream) const {
  if (count_ == 0) return;
  if (count_ == ranges_ * features_) {
    CheckCuda(cudaMemsetAsync(partial, 0, size(stride) * sizeof(double), stream), "memset");
    return;
  }
  ClearColumns<<<dim3(count_, stride / kThreads), kThreads, 0, stream>>>(columns_.data(), stride,
                                                                         partial);
  CheckCuda(cudaGetLastError(), "clearing sums");
}

void PartialSums::Add(const double* partial, const std::uint32_t* row_order, std::uint32_t stride,
                      std::uint32_t rows, double* out, cudaStream_t stream) const {
  if (count_ == 0) return;
  const dim3 grid((rows + kThreads - 1) / kThreads, std::min<std::uint32_t>(features_, 1024),
                  groups_);
  AddColumns<<<grid, kThreads, 0, stream>>>(partial, columns_.data(), begin_.data(), row_order,
                                            features_, stride, rows, groups_, out);
  CheckCuda(cudaGetLastError(), "adding sums");
}

}  // namespace retable::treeshap

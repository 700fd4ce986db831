#include "algorithms/treeshap/partial_sums.cuh"

namespace retable::treeshap {

namespace {

constexpr bool EachRowHasItsPlace() {
  for (std::uint32_t row = 0; row < 128; ++row) {
    if (RowOfPlace(PlaceOfRow(row)) != row || PlaceOfRow(row) / 64 != row / 64) return false;
  }
  return true;
}
static_assert(EachRowHasItsPlace());

constexpr std::uint32_t kThreads = 128;     // that clear
constexpr std::uint32_t kAddThreads = 256;  // that add

__global__ void ClearColumns(const std::uint32_t* columns, std::uint32_t stride, double* partial) {
  const std::uint32_t row = blockIdx.y * kThreads + threadIdx.x;
  partial[static_cast<std::size_t>(columns[blockIdx.x]) * stride + row] = 0;
}

// A block takes 32 places and 32 features of a group. Sums are read with places as lanes and
// written, by way of shared memory, with features as lanes. Fresh: every place of the group is
// written, that of the expected value with 0.
template <bool Fresh>
__global__ void __launch_bounds__(kAddThreads)
    AddColumns(const double* partial, const std::uint32_t* columns, const std::uint32_t* begin,
               const std::uint32_t* row_order, std::uint32_t features, std::uint32_t stride,
               std::uint32_t rows, std::uint32_t groups, double* out) {
  __shared__ double tile[32][33];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t first_place = blockIdx.x * 32;
  const std::uint32_t first_feature = blockIdx.y * 32;
  const std::uint32_t group = blockIdx.z;
  const std::uint32_t side = features + 1;
  for (std::uint32_t i = threadIdx.x / 32; i < 32; i += kAddThreads / 32) {
    const std::uint32_t f = first_feature + i;
    double sum = 0;
    if (f < features) {
      const std::uint32_t last = begin[group * features + f + 1];
#pragma unroll 4
      for (std::uint32_t c = begin[group * features + f]; c < last; ++c) {
        sum += partial[static_cast<std::size_t>(columns[c]) * stride + first_place + lane];
      }
    }
    tile[i][lane] = sum;
  }
  __syncthreads();
  const std::uint32_t f = first_feature + lane;
  for (std::uint32_t i = threadIdx.x / 32; i < 32; i += kAddThreads / 32) {
    const std::uint32_t row = RowOfPlace(first_place + i);
    if (row >= rows || f >= side) continue;
    const std::uint32_t target = row_order == nullptr ? row : row_order[row];
    double* to = out + (static_cast<std::size_t>(target) * groups + group) * side + f;
    *to = Fresh ? tile[lane][i] : *to + tile[lane][i];
  }
}

}  // namespace

void PartialSums::Plan(std::span<const RangeSums> ranges, std::uint32_t features,
                       std::uint32_t groups) {
  features_ = features;
  groups_ = groups;
  ranges_ = static_cast<std::uint32_t>(ranges.size());
  std::vector<std::uint32_t> begin(std::size_t{groups} * features + 1, 0);
  std::vector<std::uint32_t> list;
  std::vector<std::uint32_t> list_begin = {0};
  for (const RangeSums& range : ranges) {
    list.insert(list.end(), range.features.begin(), range.features.end());
    list_begin.push_back(static_cast<std::uint32_t>(list.size()));
  }
  list_.Upload(list);
  list_begin_.Upload(list_begin);
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
  ClearColumns<<<dim3(count_, stride / kThreads), kThreads, 0, stream>>>(columns_.data(), stride,
                                                                         partial);
  CheckCuda(cudaGetLastError(), "clearing sums");
}

void PartialSums::Add(const double* partial, const std::uint32_t* row_order, std::uint32_t stride,
                      std::uint32_t rows, bool fresh, double* out, cudaStream_t stream) const {
  const dim3 grid(stride / 32, features_ / 32 + 1, groups_);
  const auto kernel = fresh ? AddColumns<true> : AddColumns<false>;
  kernel<<<grid, kAddThreads, 0, stream>>>(partial, columns_.data(), begin_.data(), row_order,
                                           features_, stride, rows, groups_, out);
  CheckCuda(cudaGetLastError(), "adding sums");
}

}  // namespace retable::treeshap

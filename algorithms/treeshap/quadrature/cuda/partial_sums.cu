#include "algorithms/treeshap/quadrature/cuda/partial_sums.cuh"

#include <type_traits>

#include "algorithms/treeshap/quadrature/cuda/tuning.cuh"

namespace retable::treeshap {

namespace {

constexpr bool EachRowHasItsPosition() {
  for (std::uint32_t row = 0; row < 128; ++row) {
    if (RowAtPosition(PositionOfRow(row)) != row || PositionOfRow(row) / 64 != row / 64)
      return false;
  }
  return true;
}
static_assert(EachRowHasItsPosition());

__global__ void ClearColumns(const std::uint32_t* columns, std::uint32_t stride, double* partial) {
  const std::uint32_t row = blockIdx.y * kClearThreads + threadIdx.x;
  partial[static_cast<std::size_t>(columns[blockIdx.x]) * stride + row] = 0;
}

// Numbers at neighbouring positions: what a lane reads of a column, and what it sums up to.
template <class Number, std::uint32_t kCount>
struct alignas(sizeof(Number) * kCount) Neighbours {
  Number at[kCount];
};

// A block takes 32 lanes' positions and kFeatures features of a group, a warp some of the features,
// whose columns are one list. Sums are read with positions as lanes and written, by way of shared
// memory, with features as lanes, kFeatures of a row side by side: a sector of memory that is
// written in two parts costs more than a whole one. Fresh: every number of the group is written;
// the expected value becomes 0.
template <class Sum, class Result, bool Fresh>
__global__ void __launch_bounds__(kAddThreads)
    AddColumns(const Sum* partial, const std::uint32_t* columns, const std::uint32_t* begin,
               const std::uint32_t* row_order, std::uint32_t features, std::uint32_t stride,
               std::uint32_t rows, std::uint32_t groups, Result* out) {
  constexpr std::uint32_t kOwn = kAddedPositions<Sum> / 32;
  constexpr std::uint32_t kFeatures = kAddedFeatures<Sum, Result>;
  using Read = Neighbours<Sum, kOwn>;
  using Own = Neighbours<Result, kOwn>;
  constexpr std::uint32_t kWarps = kAddThreads / 32;
  constexpr std::uint32_t kAhead = 8;
  __shared__ Own tile[kFeatures][33];  // 33: lanes that take a feature each use all banks
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t first_position = blockIdx.x * kAddedPositions<Sum>;
  const std::uint32_t first_feature = blockIdx.y * kFeatures;
  const std::uint32_t group = blockIdx.z;
  const std::uint32_t side = features + 1;
  const std::uint32_t each = (min(features - first_feature, kFeatures) + kWarps - 1) / kWarps;
  const std::uint32_t own = min(first_feature + warp * each, features);
  const std::uint32_t own_end = min(own + each, features);
  // Lane i: where the list of the warp's i-th feature begins.
  const std::uint32_t begins = __ldg(begin + group * features + min(own + lane, own_end));
  const auto list_begin = [&](std::uint32_t feature) {
    return __shfl_sync(0xffffffffu, begins, feature - own);
  };
  const std::uint32_t last = list_begin(own_end);
  std::uint32_t f = own;
  std::uint32_t c = list_begin(own);
  std::uint32_t end = list_begin(min(own + 1, own_end));
  double sum[kOwn] = {};
  const auto next_feature = [&] {
    Own& to = tile[f - first_feature][lane];
#pragma unroll
    for (std::uint32_t i = 0; i < kOwn; ++i) {
      to.at[i] = static_cast<Result>(sum[i]);
      sum[i] = 0;
    }
    ++f;
    end = list_begin(min(f + 1, own_end));
  };
  std::uint32_t numbers = 0;  // of columns: lane i has that of the i-th of 32
  for (std::uint32_t done = 0; c < last; c += kAhead, done += kAhead) {
    if (done % 32 == 0) numbers = __ldg(columns + min(c + lane, last - 1));
    Read read[kAhead];
#pragma unroll
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      const std::size_t column = __shfl_sync(0xffffffffu, numbers, done % 32 + i);
      read[i] = reinterpret_cast<const Read*>(partial + column * stride + first_position)[lane];
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      if (c + i >= last) break;
      while (c + i >= end) next_feature();
#pragma unroll
      for (std::uint32_t k = 0; k < kOwn; ++k) sum[k] += read[i].at[k];
    }
  }
  while (f < own_end) next_feature();
  __syncthreads();
  for (std::uint32_t i = warp; i < 32; i += kWarps) {
#pragma unroll
    for (std::uint32_t k = 0; k < kOwn; ++k) {
      const std::uint32_t position = first_position + i * kOwn + k;
      const std::uint32_t row = std::is_same_v<Sum, float> ? position : RowAtPosition(position);
      if (row >= rows) continue;
      const std::uint32_t target = row_order == nullptr ? row : row_order[row];
      Result* to = out + (static_cast<std::size_t>(target) * groups + group) * side;
#pragma unroll
      for (std::uint32_t j = lane; j < kFeatures; j += 32) {
        const std::uint32_t feature = first_feature + j;
        if (feature >= side) break;
        const Result value = feature < features ? tile[j][i].at[k] : 0;
        to[feature] = Fresh ? value : to[feature] + value;
      }
    }
  }
}

}  // namespace

void PartialSums::Plan(std::span<const RangeSums> ranges, std::uint32_t features,
                       std::uint32_t groups, bool columns) {
  written_once_ = columns;
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
  const auto index = [&](const RangeSums& range, std::int32_t f) {
    return static_cast<std::size_t>(range.group) * features + static_cast<std::size_t>(f);
  };
  for (const RangeSums& range : ranges) {
    for (const std::int32_t f : range.features) ++begin[index(range, f) + 1];
  }
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<std::uint32_t> order(begin.back());
  std::vector<std::uint32_t> next(begin);
  std::size_t written = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (const std::int32_t f : ranges[i].features) {
      const std::size_t column = columns ? written : i * features + static_cast<std::size_t>(f);
      order[next[index(ranges[i], f)]++] = static_cast<std::uint32_t>(column);
      ++written;
    }
  }
  count_ = begin.back();
  columns_.Upload(order);
  begin_.Upload(begin);
}

void PartialSums::Clear(double* partial, std::uint32_t stride, cudaStream_t stream) const {
  if (count_ == 0) return;
  ClearColumns<<<dim3(count_, stride / kClearThreads), kClearThreads, 0, stream>>>(columns_.data(),
                                                                                   stride, partial);
  CheckCuda(cudaGetLastError(), "clearing sums");
}

template <bool Fresh, class Result>
void PartialSums::AddTo(const double* partial, const std::uint32_t* row_order, std::uint32_t stride,
                        std::uint32_t rows, Result* out, cudaStream_t stream) const {
  const auto add = [&]<class Sum>(const Sum* sums) {
    const dim3 grid(stride / kAddedPositions<Sum>, features_ / kAddedFeatures<Sum, Result> + 1,
                    groups_);
    AddColumns<Sum, Result, Fresh><<<grid, kAddThreads, 0, stream>>>(
        sums, columns_.data(), begin_.data(), row_order, features_, stride, rows, groups_, out);
  };
  if (written_once_) {
    add(reinterpret_cast<const float*>(partial));
  } else {
    add(partial);
  }
  CheckCuda(cudaGetLastError(), "adding sums");
}

void PartialSums::Add(const double* partial, const std::uint32_t* row_order, std::uint32_t stride,
                      std::uint32_t rows, bool fresh, double* out, float* rounded,
                      cudaStream_t stream) const {
  if (rounded != nullptr) return AddTo<true>(partial, row_order, stride, rows, rounded, stream);
  if (fresh) return AddTo<true>(partial, row_order, stride, rows, out, stream);
  AddTo<false>(partial, row_order, stride, rows, out, stream);
}

}  // namespace retable::treeshap

#include <algorithm>

#include "algorithms/extratrees/device_forest.cuh"

namespace retable::extratrees {
namespace {

using frontier::HotNode;

constexpr int kWarps = 8;
constexpr std::uint32_t kSharedClasses = 256;

// One warp a row, one tree a lane: shares are summed in shared memory (few classes) or in place.
__global__ void __launch_bounds__(32 * kWarps)
    Vote(const HotNode* nodes, const frontier::ColdNode* cold, const std::uint32_t* leaf_counts,
         std::uint32_t trees, const float* rows, std::uint32_t n, std::uint32_t columns,
         std::uint32_t classes, bool shared, unsigned long long* sums) {
  extern __shared__ unsigned long long votes[];
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t warp = threadIdx.x >> 5;
  const std::uint32_t i = blockIdx.x * kWarps + warp;
  if (i >= n) return;
  const float* row = rows + std::size_t{i} * columns;
  unsigned long long* sum = sums + std::size_t{i} * classes;
  unsigned long long* mine = shared ? votes + warp * classes : sum;
  if (shared) {
    for (std::uint32_t c = lane; c < classes; c += 32) mine[c] = 0;
    __syncwarp();
  }
  for (std::uint32_t t = lane; t < trees; t += 32) {
    std::uint32_t at = t;
    HotNode node = nodes[at];
    while (node.feature >= 0) {
      at = node.left + (row[node.feature] <= node.cut ? 0u : 1u);
      const uint4 raw = __ldg(reinterpret_cast<const uint4*>(nodes + at));
      node = {__uint_as_float(raw.x), static_cast<std::int32_t>(raw.y), raw.z, raw.w};
    }
    if ((node.value & kMixed) == 0) {
      atomicAdd(mine + node.value, static_cast<unsigned long long>(kShareUnit));
      continue;
    }
    const std::uint32_t* counts = leaf_counts + std::size_t{node.value & ~kMixed} * classes;
    for (std::uint32_t c = 0; c < classes; ++c) {
      if (counts[c] == 0) continue;
      atomicAdd(mine + c,
                static_cast<unsigned long long>(FractionShare(counts[c], cold[at].samples)));
    }
  }
  if (!shared) return;
  __syncwarp();
  for (std::uint32_t c = lane; c < classes; c += 32) sum[c] += mine[c];
}

__global__ void Finish(const unsigned long long* sums, std::uint64_t count, std::uint32_t trees,
                       double* proba) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) proba[i] = ShareMean(sums[i], trees);
}

}  // namespace

const Forest& DeviceForest::host() {
  if (host_ != nullptr) return *host_;
  auto forest = std::make_unique<Forest>();
  forest->columns = columns_;
  forest->classes = classes_;
  for (const DeviceTrees& batch : batches_) {
    std::vector<HotNode> hot(batch.nodes);
    std::vector<frontier::ColdNode> cold(batch.nodes);
    std::vector<std::uint32_t> counts(std::size_t{batch.mixed} * classes_);
    batch.hot.Download(hot.data(), hot.size());
    batch.cold.Download(cold.data(), cold.size());
    if (!counts.empty()) batch.leaf_counts.Download(counts.data(), counts.size());
    frontier::AppendTrees(hot, cold, counts, batch.trees, *forest);
  }
  host_ = std::move(forest);
  return *host_;
}

void DeviceForest::predict_proba(const float* rows, std::size_t n, double* proba) {
  constexpr std::size_t kRowsAtOnce = 1u << 17;
  std::uint32_t trees = 0;
  for (const DeviceTrees& batch : batches_) trees += batch.trees;
  DeviceArray<float> device_rows;
  DeviceArray<unsigned long long> sums;
  DeviceArray<double> device_proba;
  predict_seconds = 0;
  for (std::size_t first = 0; first < n; first += kRowsAtOnce) {
    const auto count = static_cast<std::uint32_t>(std::min(kRowsAtOnce, n - first));
    const std::size_t cells = std::size_t{count} * classes_;
    device_rows.Upload(rows + first * columns_, std::size_t{count} * columns_);
    sums.Reserve(cells);
    device_proba.Reserve(cells);
    frontier::PartClock clock;
    clock.Start();
    RETABLE_CUDA_CHECK(cudaMemsetAsync(sums.get(), 0, cells * sizeof(unsigned long long)));
    const bool shared = classes_ <= kSharedClasses;
    const std::size_t bytes = shared ? std::size_t{kWarps} * classes_ * 8 : 0;
    for (const DeviceTrees& batch : batches_) {
      Vote<<<(count + kWarps - 1) / kWarps, 32 * kWarps, bytes>>>(
          batch.hot.get(), batch.cold.get(), batch.leaf_counts.get(), batch.trees,
          device_rows.get(), count, static_cast<std::uint32_t>(columns_), classes_, shared,
          sums.get());
      RETABLE_CUDA_CHECK(cudaGetLastError());
    }
    Finish<<<static_cast<std::uint32_t>((cells + 255) / 256), 256>>>(sums.get(), cells, trees,
                                                                     device_proba.get());
    RETABLE_CUDA_CHECK(cudaGetLastError());
    clock.Stop("predict");
    predict_seconds += clock.parts.front().seconds;
    device_proba.Download(proba + first * classes_, cells);
  }
}

std::vector<std::uint32_t> DeviceForest::predict(const float* rows, std::size_t n) {
  std::vector<double> proba(n * classes_);
  predict_proba(rows, n, proba.data());
  std::vector<std::uint32_t> labels(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double* p = proba.data() + i * classes_;
    labels[i] = static_cast<std::uint32_t>(std::max_element(p, p + classes_) - p);
  }
  return labels;
}

}  // namespace retable::extratrees

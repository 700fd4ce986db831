#include <algorithm>

#include "algorithms/extratrees/device_forest.cuh"

namespace retable::extratrees {
namespace {

using frontier::HotNode;

constexpr int kWarps = 8;
constexpr std::uint32_t kSharedClasses = 256;

// One warp a row, one tree a lane: shares are summed in shared memory (few classes) or in place.
__global__ void __launch_bounds__(32 * kWarps)
    Vote(const HotNode* nodes, const double* leaf_values, std::uint32_t trees, const float* rows,
         std::uint32_t n, std::uint32_t columns, std::uint32_t classes, int value_bits, bool shared,
         unsigned long long* sums) {
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
  const auto one = static_cast<unsigned long long>(ValueShare(1.0, value_bits));
  for (std::uint32_t t = lane; t < trees; t += 32) {
    HotNode node = nodes[t];
    while (node.feature >= 0) {
      const float x = row[node.feature];
      const bool right = x != x ? node.value == 0 : x > node.cut;
      const uint4 raw = __ldg(reinterpret_cast<const uint4*>(nodes + node.left + (right ? 1 : 0)));
      node = {__uint_as_float(raw.x), static_cast<std::int32_t>(raw.y), raw.z, raw.w};
    }
    if ((node.value & kMixed) == 0) {
      atomicAdd(mine + node.value, one);
      continue;
    }
    const double* values = leaf_values + std::size_t{node.value & ~kMixed} * classes;
    for (std::uint32_t c = 0; c < classes; ++c) {
      const std::int64_t share = ValueShare(values[c], value_bits);
      if (share != 0) atomicAdd(mine + c, static_cast<unsigned long long>(share));
    }
  }
  if (!shared) return;
  __syncwarp();
  for (std::uint32_t c = lane; c < classes; c += 32) sum[c] += mine[c];
}

__global__ void Finish(const unsigned long long* sums, std::uint64_t count, std::uint32_t trees,
                       int value_bits, double* proba) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) proba[i] = ShareMean(static_cast<std::int64_t>(sums[i]), trees, value_bits);
}

}  // namespace

const Forest& DeviceForest::host() {
  if (host_ != nullptr) return *host_;
  auto forest = std::make_unique<Forest>(empty_);
  for (const DeviceTrees& batch : batches_) {
    std::vector<HotNode> hot(batch.nodes);
    std::vector<frontier::NodeFacts> facts(batch.nodes);
    std::vector<double> values(batch.values);
    batch.hot.Download(hot.data(), hot.size());
    batch.facts.Download(facts.data(), facts.size());
    if (!values.empty()) batch.leaf_values.Download(values.data(), values.size());
    frontier::AppendTrees(hot, facts, values, batch.trees, *forest);
  }
  host_ = std::move(forest);
  return *host_;
}

void DeviceForest::predict_proba(const float* rows, std::size_t n, double* proba) {
  constexpr std::size_t kRowsAtOnce = 1u << 17;
  const std::uint32_t classes = empty_.classes;
  const std::size_t columns = empty_.columns;
  std::uint32_t trees = 0;
  for (const DeviceTrees& batch : batches_) trees += batch.trees;
  DeviceArray<float> device_rows;
  DeviceArray<unsigned long long> sums;
  DeviceArray<double> device_proba;
  predict_seconds = 0;
  for (std::size_t first = 0; first < n; first += kRowsAtOnce) {
    const auto count = static_cast<std::uint32_t>(std::min(kRowsAtOnce, n - first));
    const std::size_t cells = std::size_t{count} * classes;
    device_rows.Upload(rows + first * columns, std::size_t{count} * columns);
    sums.Reserve(cells);
    device_proba.Reserve(cells);
    frontier::PartClock clock;
    clock.Start();
    RETABLE_CUDA_CHECK(cudaMemsetAsync(sums.get(), 0, cells * sizeof(unsigned long long)));
    const bool shared = classes <= kSharedClasses;
    const std::size_t bytes = shared ? std::size_t{kWarps} * classes * 8 : 0;
    for (const DeviceTrees& batch : batches_) {
      Vote<<<(count + kWarps - 1) / kWarps, 32 * kWarps, bytes>>>(
          batch.hot.get(), batch.leaf_values.get(), batch.trees, device_rows.get(), count,
          static_cast<std::uint32_t>(columns), classes, empty_.value_bits, shared, sums.get());
      RETABLE_CUDA_CHECK(cudaGetLastError());
    }
    Finish<<<static_cast<std::uint32_t>((cells + 255) / 256), 256>>>(
        sums.get(), cells, trees, empty_.value_bits, device_proba.get());
    RETABLE_CUDA_CHECK(cudaGetLastError());
    clock.Stop("predict");
    predict_seconds += clock.parts.front().seconds;
    device_proba.Download(proba + first * classes, cells);
  }
}

std::vector<std::uint32_t> DeviceForest::predict(const float* rows, std::size_t n) {
  if (empty_.regression) {
    throw std::invalid_argument("a regression forest has values, not classes");
  }
  const std::uint32_t classes = empty_.classes;
  std::vector<double> proba(n * classes);
  predict_proba(rows, n, proba.data());
  std::vector<std::uint32_t> labels(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double* p = proba.data() + i * classes;
    labels[i] = static_cast<std::uint32_t>(std::max_element(p, p + classes) - p);
  }
  return labels;
}

}  // namespace retable::extratrees

#include <algorithm>
#include <set>

#include "algorithms/extratrees/frontier/cuda/device_forest.cuh"
#include "algorithms/extratrees/frontier/cuda/device_votes.hpp"
#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"
#include "base/cuda/streams.hpp"
#include "base/memory/large_memory.hpp"

namespace retable::extratrees {
namespace {

using frontier::HotNode;

// One warp a row, one tree a lane: votes are summed in shared (few classes) or global memory.
__global__ void __launch_bounds__(32 * kVoteWarps)
    Vote(const HotNode* nodes, const double* leaf_values, std::uint32_t trees, const float* rows,
         std::uint32_t n, std::uint32_t columns, std::uint32_t classes, int value_bits, bool shared,
         unsigned long long* sums) {
  extern __shared__ unsigned long long votes[];
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t warp = threadIdx.x >> 5;
  const std::uint32_t i = blockIdx.x * kVoteWarps + warp;
  if (i >= n) return;
  const float* row = rows + std::size_t{i} * columns;
  unsigned long long* sum = sums + std::size_t{i} * classes;
  unsigned long long* mine = shared ? votes + warp * classes : sum;
  if (shared) {
    for (std::uint32_t c = lane; c < classes; c += 32) mine[c] = 0;
    __syncwarp();
  }
  const auto one = static_cast<unsigned long long>(FixedPointVote(1.0, value_bits));
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
      const std::int64_t vote = FixedPointVote(values[c], value_bits);
      if (vote != 0) atomicAdd(mine + c, static_cast<unsigned long long>(vote));
    }
  }
  if (!shared) return;
  __syncwarp();
  for (std::uint32_t c = lane; c < classes; c += 32) sum[c] += mine[c];
}

// Adds the votes of `trees` trees for `count` rows in device memory to `sums`.
void EnqueueVotes(const Forest& shape, const HotNode* hot, const double* leaf_values,
                  std::uint32_t trees, const float* rows, std::uint32_t count,
                  unsigned long long* sums, cudaStream_t stream) {
  const bool shared = shape.classes <= kVoteSharedClasses;
  const std::size_t bytes = shared ? std::size_t{kVoteWarps} * shape.classes * 8 : 0;
  Vote<<<(count + kVoteWarps - 1) / kVoteWarps, 32 * kVoteWarps, bytes, stream>>>(
      hot, leaf_values, trees, rows, count, static_cast<std::uint32_t>(shape.columns),
      shape.classes, shape.value_bits, shared, sums);
  RETABLE_CUDA_CHECK(cudaGetLastError());
}

__global__ void __launch_bounds__(256)
    MeanVotes(const unsigned long long* sums, std::size_t count, std::uint32_t trees,
              int value_bits, double* proba) {
  const std::size_t i = std::size_t{blockIdx.x} * 256 + threadIdx.x;
  if (i < count) proba[i] = MeanVote(static_cast<std::int64_t>(sums[i]), trees, value_bits);
}

// The threads of the copy touch the memory's pages first.
template <class T>
LargeArray<T> Fetch(Staging& staging, const DeviceArray<T>& from, std::size_t count) {
  LargeArray<T> to(count);
  staging.ToHost(to.data(), from.data(), count * sizeof(T));
  return to;
}

}  // namespace

const Forest& DeviceForest::host() {
  if (host_ != nullptr) return *host_;
  auto forest = std::make_unique<Forest>(empty_);
  for (const DeviceTrees& batch : batches_) {
    RETABLE_CUDA_CHECK(cudaSetDevice(batch.device));
    Staging& staging = StagingOf(batch.device);
    const auto hot = Fetch(staging, batch.hot, batch.nodes);
    const auto facts = Fetch(staging, batch.facts, batch.nodes);
    const auto values = Fetch(staging, batch.leaf_values, batch.leaf_value_count);
    frontier::AppendTrees(hot, facts, values, batch.trees, *forest);
  }
  RETABLE_CUDA_CHECK(cudaSetDevice(0));
  host_ = std::move(forest);
  return *host_;
}

Staging& DeviceForest::StagingOf(int device) {
  std::unique_ptr<Staging>& staging = staging_[device];
  if (staging == nullptr) staging = std::make_unique<Staging>();
  return *staging;
}

void DeviceForest::VoteOn(int device, const float* rows, std::uint32_t count,
                          std::vector<std::int64_t>& sums) {
  RETABLE_CUDA_CHECK(cudaSetDevice(device));
  const std::size_t cells = std::size_t{count} * empty_.classes;
  DeviceArray<float> device_rows;
  DeviceArray<unsigned long long> device_sums;
  const std::size_t values = std::size_t{count} * empty_.columns;
  StagingOf(device).ToDevice(device_rows.Reserve(values), rows, values * sizeof(float));
  device_sums.Reserve(cells);
  RETABLE_CUDA_CHECK(cudaMemsetAsync(device_sums.data(), 0, cells * sizeof(unsigned long long)));
  for (const DeviceTrees& batch : batches_) {
    if (batch.device != device) continue;
    EnqueueVotes(empty_, batch.hot.data(), batch.leaf_values.data(), batch.trees,
                 device_rows.data(), count, device_sums.data(), nullptr);
  }
  std::vector<std::int64_t> mine(cells);
  RETABLE_CUDA_CHECK(cudaMemcpy(mine.data(), device_sums.data(), cells * sizeof(std::int64_t),
                                cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < cells; ++i) sums[i] += mine[i];
}

void DeviceForest::predict_proba(const float* rows, std::size_t n, double* proba) {
  std::uint32_t trees = 0;
  std::set<int> devices;
  for (const DeviceTrees& batch : batches_) {
    trees += batch.trees;
    devices.insert(batch.device);
  }
  std::vector<std::int64_t> sums;
  for (std::size_t first = 0; first < n; first += kVoteRows) {
    const auto count = static_cast<std::uint32_t>(std::min(kVoteRows, n - first));
    sums.assign(std::size_t{count} * empty_.classes, 0);
    for (const int device : devices) VoteOn(device, rows + first * empty_.columns, count, sums);
    double* out = proba + first * empty_.classes;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      out[i] = MeanVote(sums[i], trees, empty_.value_bits);
    }
  }
  RETABLE_CUDA_CHECK(cudaSetDevice(0));
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

struct DeviceVotes::State {
  Forest shape;  // without trees
  std::uint32_t trees = 0;
  DeviceArray<HotNode> hot;
  DeviceArray<double> leaf_values;
  DeviceArray<unsigned long long> sums;
  CudaEvent used{cudaEventDisableTiming};
};

DeviceVotes::DeviceVotes(const Forest& forest) : state_(std::make_unique<State>()) {
  const frontier::PackedForest packed = frontier::PackTrees(forest);
  state_->shape.columns = forest.columns;
  state_->shape.classes = forest.classes;
  state_->shape.value_bits = forest.value_bits;
  state_->trees = static_cast<std::uint32_t>(forest.trees.size());
  state_->hot.Upload(packed.hot);
  state_->leaf_values.Upload(packed.leaf_values);
  RETABLE_CUDA_CHECK(cudaDeviceSynchronize());  // streams of callers do not wait for the default
}

DeviceVotes::~DeviceVotes() = default;

void DeviceVotes::PredictProba(const float* rows, std::size_t n, double* proba, void* stream) {
  State& s = *state_;
  const auto on = static_cast<cudaStream_t>(stream);
  const std::size_t classes = s.shape.classes;
  s.used.Wait();  // the sums serve one call at a time
  for (std::size_t first = 0; first < n; first += kVoteRows) {
    const auto count = static_cast<std::uint32_t>(std::min(kVoteRows, n - first));
    const std::size_t cells = count * classes;
    unsigned long long* const sums = s.sums.Reserve(cells);
    RETABLE_CUDA_CHECK(cudaMemsetAsync(sums, 0, cells * sizeof(unsigned long long), on));
    EnqueueVotes(s.shape, s.hot.data(), s.leaf_values.data(), s.trees,
                 rows + first * s.shape.columns, count, sums, on);
    MeanVotes<<<static_cast<unsigned>((cells + 255) / 256), 256, 0, on>>>(
        sums, cells, s.trees, s.shape.value_bits, proba + first * classes);
    RETABLE_CUDA_CHECK(cudaGetLastError());
  }
  s.used.Record(on);
}

}  // namespace retable::extratrees

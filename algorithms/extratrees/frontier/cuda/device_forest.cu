#include <algorithm>
#include <set>

#include "algorithms/extratrees/frontier/best_first.hpp"
#include "algorithms/extratrees/frontier/cuda/device_forest.cuh"
#include "algorithms/extratrees/frontier/cuda/device_votes.hpp"
#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"
#include "base/cuda/streams.hpp"
#include "base/memory/large_memory.hpp"

namespace retable::extratrees {
namespace {

using frontier::HotNode;
using frontier::NodeFacts;
using frontier::NodeLink;
using frontier::NodePlace;
using frontier::PlaceOf;

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

__global__ void __launch_bounds__(256)
    LinkChildren(const HotNode* hot, const NodeFacts* facts, std::uint32_t nodes, NodeLink* links) {
  const std::uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= nodes || facts[i].samples == 0 || hot[i].feature < 0) return;
  links[hot[i].left].parent = i;
  links[hot[i].left + 1].parent = i;
}

// From each leaf up, as far as the other child's size is known. Sizes are 0 before.
__global__ void __launch_bounds__(256)
    SumSizes(const HotNode* hot, const NodeFacts* facts, std::uint32_t nodes, std::uint32_t trees,
             NodeLink* links) {
  std::uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= nodes || facts[i].samples == 0 || hot[i].feature >= 0) return;
  for (std::uint32_t size = links[i].size = 1; i >= trees; links[i].size = size) {
    i = links[i].parent;
    const std::uint32_t others = atomicAdd(&links[i].size, size);
    if (others == 0) return;
    size += others + 1;
  }
}

// A leaf's value stays as it is in the pool. first[t]: the place of tree t's root. Where there are
// gains, they go the same way, and a branch's value names its row of leaf values, as a leaf's does.
__global__ void __launch_bounds__(256)
    WriteNodes(const HotNode* hot, const NodeFacts* facts, const NodeLink* links,
               std::uint32_t nodes, std::uint32_t trees, const std::uint32_t* first, TreeNode* out,
               const double* gains, double* gains_out) {
  const std::uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= nodes || facts[i].samples == 0) return;
  const HotNode node = hot[i];
  const NodeFacts known = facts[i];
  const NodePlace place = PlaceOf(links, trees, i);
  const auto next = static_cast<std::int32_t>(place.at) + 1;
  const bool leaf = node.feature < 0;
  const std::uint32_t to = first[place.tree] + place.at;
  if (gains != nullptr) gains_out[to] = gains[i];
  out[to] = {.threshold = known.threshold,
             .impurity = known.impurity,
             .weight = known.weight,
             .left = leaf ? -1 : next,
             .right = leaf ? -1 : next + static_cast<std::int32_t>(links[node.left].size),
             .feature = node.feature,
             .samples = known.samples,
             .value = leaf               ? node.value
                      : gains != nullptr ? kMixed | i
                                         : 0,
             .missing_left = !leaf && node.value != 0};
}

// The nodes of a batch on the device, tree after tree, each in preorder.
struct OrderedTrees {
  DeviceArray<TreeNode> nodes;
  DeviceArray<double> gains;         //!< empty where none are given
  std::vector<std::uint32_t> first;  //!< trees + 1 offsets

  OrderedTrees(const DeviceTrees& b, const double* given) : nodes(b.nodes), first(b.trees + 1) {
    if (given != nullptr) gains.Reserve(b.nodes);
    DeviceArray<NodeLink> links(b.nodes);
    RETABLE_CUDA_CHECK(cudaMemsetAsync(links.data(), 0, b.nodes * sizeof(NodeLink)));
    const std::uint32_t blocks = (b.nodes + 255) / 256;
    LinkChildren<<<blocks, 256>>>(b.hot.data(), b.facts.data(), b.nodes, links.data());
    SumSizes<<<blocks, 256>>>(b.hot.data(), b.facts.data(), b.nodes, b.trees, links.data());
    RETABLE_CUDA_CHECK(cudaGetLastError());
    std::vector<NodeLink> roots(b.trees);
    RETABLE_CUDA_CHECK(
        cudaMemcpy(roots.data(), links.data(), b.trees * sizeof(NodeLink), cudaMemcpyDeviceToHost));
    for (std::uint32_t t = 0; t < b.trees; ++t) first[t + 1] = first[t] + roots[t].size;
    DeviceArray<std::uint32_t> device_first;
    device_first.Upload(first);
    WriteNodes<<<blocks, 256>>>(b.hot.data(), b.facts.data(), links.data(), b.nodes, b.trees,
                                device_first.data(), nodes.data(), given, gains.data());
    RETABLE_CUDA_CHECK(cudaGetLastError());
  }
};

// Copies what is known of each node to the host, tree by tree; to(t): tree t's vector of them.
template <class T, class To>
void DealTrees(const T* nodes, const std::vector<std::uint32_t>& first, Staging& staging,
               const To& to) {
  const std::size_t trees = first.size() - 1;
  ParallelFor(trees, [&](std::size_t t) { to(t).resize(first[t + 1] - first[t]); });
  staging.ToHost(
      nodes, first.back() * sizeof(T), [&](std::size_t at, const char* from, std::size_t bytes) {
        const auto owner = std::upper_bound(first.begin(), first.end(), at / sizeof(T)) - 1;
        for (std::size_t t = static_cast<std::size_t>(owner - first.begin()); bytes > 0; ++t) {
          const std::size_t within = at - first[t] * sizeof(T);
          const std::size_t count = std::min(bytes, first[t + 1] * sizeof(T) - at);
          std::memcpy(reinterpret_cast<char*>(to(t).data()) + within, from, count);
          at += count;
          from += count;
          bytes -= count;
        }
      });
}

// Gives a tree the rows of `values` that its leaves name.
void TakeLeafValues(const LargeArray<double>& values, std::uint32_t classes, Tree& tree) {
  for (TreeNode& node : tree.nodes) {
    if (node.feature >= 0 || (node.value & kMixed) == 0) continue;
    const double* row = values.data() + std::size_t{node.value & ~kMixed} * classes;
    node.value = kMixed | static_cast<std::uint32_t>(tree.leaf_values.size() / classes);
    tree.leaf_values.insert(tree.leaf_values.end(), row, row + classes);
  }
}

}  // namespace

void AppendTrees(const DeviceTrees& batch, const LeafLimit& limit, Forest& forest) {
  RETABLE_CUDA_CHECK(cudaSetDevice(batch.device));
  const bool limited = limit.leaves > 0;
  const OrderedTrees ordered(batch, limited ? limit.gains : nullptr);
  forest.trees.resize(forest.trees.size() + batch.trees);
  Tree* const trees = &forest.trees.back() + 1 - batch.trees;
  DealTrees(
      ordered.nodes.data(), ordered.first,
      *batch.staging, [&](std::size_t t) -> auto& { return trees[t].nodes; });
  std::vector<std::vector<double>> gains(limited ? batch.trees : 0);
  if (limited) {
    DealTrees(
        ordered.gains.data(), ordered.first,
        *batch.staging, [&](std::size_t t) -> auto& { return gains[t]; });
  }
  LargeArray<double> values(batch.leaf_value_count);
  batch.staging->ToHost(batch.leaf_values.data(), values.size() * sizeof(double),
                        [&](std::size_t at, const char* from, std::size_t bytes) {
                          std::memcpy(reinterpret_cast<char*>(values.data()) + at, from, bytes);
                        });
  ParallelFor(batch.trees, [&](std::size_t t) {
    if (!limited) return TakeLeafValues(values, forest.classes, trees[t]);
    trees[t] = TopOfTree({std::move(trees[t].nodes), std::move(gains[t]), values.data(),
                          limit.units, forest.classes, forest.regression},
                         limit.leaves);
  });
}

DeviceForest::DeviceForest(Forest grown, std::shared_ptr<Staging> staging)
    : empty_(grown), host_(std::make_unique<Forest>(std::move(grown))) {
  empty_.trees.clear();
  const frontier::PackedForest packed = frontier::PackTrees(*host_);
  DeviceTrees& batch = batches_.emplace_back();
  batch.hot.Upload(packed.hot);
  if (!packed.leaf_values.empty()) batch.leaf_values.Upload(packed.leaf_values);
  batch.staging = std::move(staging);
  batch.trees = static_cast<std::uint32_t>(host_->trees.size());
}

Forest& DeviceForest::host() {
  if (host_ != nullptr) return *host_;
  auto forest = std::make_unique<Forest>(empty_);
  for (const DeviceTrees& batch : batches_) AppendTrees(batch, {}, *forest);
  RETABLE_CUDA_CHECK(cudaSetDevice(0));
  host_ = std::move(forest);
  return *host_;
}

void DeviceForest::VoteOn(int device, const float* rows, std::uint32_t count,
                          std::vector<std::int64_t>& sums) {
  RETABLE_CUDA_CHECK(cudaSetDevice(device));
  const std::size_t cells = std::size_t{count} * empty_.classes;
  DeviceArray<float> device_rows;
  DeviceArray<unsigned long long> device_sums;
  const std::size_t values = std::size_t{count} * empty_.columns;
  float* const to = device_rows.Reserve(values);
  const float* from = rows;  // until it is there
  device_sums.Reserve(cells);
  RETABLE_CUDA_CHECK(cudaMemsetAsync(device_sums.data(), 0, cells * sizeof(unsigned long long)));
  for (const DeviceTrees& batch : batches_) {
    if (batch.device != device) continue;
    if (from != nullptr) batch.staging->ToDevice(to, from, values * sizeof(float));
    from = nullptr;
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
  std::vector<double> proba(n * empty_.classes);
  predict_proba(rows, n, proba.data());
  return LikeliestClasses(proba, empty_.classes);
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

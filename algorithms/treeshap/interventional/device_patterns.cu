#include "algorithms/treeshap/interventional/device_patterns.cuh"

#include <algorithm>
#include <utility>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/interventional/deep_trees.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

constexpr std::uint32_t kDeepBlock = 128;

struct DeepLaunch {
  struct Model {
    const PatternBit* bits;
    const DeepLeaf* leaves;
    const DeepPattern* patterns;
    const DeepRange* ranges;
    const std::uint32_t* sets;
    const double* weights;  // side x side
  } model;
  const float* x;   // features x stride
  double* partial;  // ranges x features x stride
  std::uint32_t side;
  std::uint32_t features;
  std::uint32_t stride;
  bool shared;  // sums are in shared memory
};

__device__ __forceinline__ unsigned long long FollowedBits(const DeepLaunch& p,
                                                           const DeepLeaf& leaf,
                                                           std::uint32_t row) {
  unsigned long long follows = 0;
  for (std::uint32_t i = 0; i < leaf.bits; ++i) {
    const PatternBit bit = p.model.bits[leaf.first_bit + i];
    const std::size_t column = bit.feature & PatternBit::kFeature;
    const float x = __ldg(p.x + column * p.stride + row);
    follows |= static_cast<unsigned long long>(HasBit(bit, p.model.sets, x)) << i;
  }
  return follows;
}

__global__ void __launch_bounds__(kDeepBlock) DeepLeavesKernel(DeepLaunch p) {
  extern __shared__ double deep_sums[];
  const std::uint32_t row = blockIdx.x * kDeepBlock + threadIdx.x;
  double* slice =
      p.partial + static_cast<std::size_t>(blockIdx.y) * p.features * p.stride + PositionOfRow(row);
  // Each lane has its own column: no barrier is needed.
  double* column = p.shared ? deep_sums + threadIdx.x : slice;
  const std::size_t step = p.shared ? kDeepBlock : p.stride;
  if (p.shared) {
    for (std::uint32_t f = 0; f < p.features; ++f) column[f * step] = 0;
  }
  const DeepRange range = p.model.ranges[blockIdx.y];
  for (std::uint32_t l = 0; l < range.count; ++l) {
    const DeepLeaf leaf = p.model.leaves[range.first + l];
    const unsigned long long follows = FollowedBits(p, leaf, row);
    const unsigned long long all = leaf.bits == 64 ? ~0ull : (1ull << leaf.bits) - 1;
    const unsigned long long needed = all & ~follows;
    const int n = __popcll(needed);
    double loss = 0;
    for (std::uint32_t i = 0; i < leaf.patterns; ++i) {
      const DeepPattern pattern = p.model.patterns[leaf.first_pattern + i];
      if ((needed & ~pattern.follows) != 0) continue;
      unsigned long long gains = follows & ~pattern.follows;
      const int s = __popcll(gains);
      const auto count = static_cast<double>(pattern.count);
      if (n > 0) loss += count * p.model.weights[s * p.side + n - 1];
      if (s == 0) continue;
      const double gain = leaf.value * count * p.model.weights[(s - 1) * p.side + n];
      for (; gains != 0; gains &= gains - 1) {
        const std::uint32_t index = leaf.first_bit + __ffsll(static_cast<long long>(gains)) - 1;
        column[(p.model.bits[index].feature & PatternBit::kFeature) * step] += gain;
      }
    }
    if (loss == 0) continue;
    for (unsigned long long rest = needed; rest != 0; rest &= rest - 1) {
      const std::uint32_t index = leaf.first_bit + __ffsll(static_cast<long long>(rest)) - 1;
      column[(p.model.bits[index].feature & PatternBit::kFeature) * step] -= leaf.value * loss;
    }
  }
  if (p.shared) {
    for (std::uint32_t f = 0; f < p.features; ++f)
      slice[f * std::size_t{p.stride}] = column[f * step];
  }
}

}  // namespace

void DevicePatterns::Prepare(const TreeEnsemble& trees) {
  features_ = static_cast<std::size_t>(trees.features);
  groups_ = static_cast<std::size_t>(trees.groups);
  paths_ = ExtractPaths(trees);
  std::erase_if(paths_.paths, [](const Path& path) { return path.value == 0; });
  std::int32_t most = 0;
  for (const Path& path : paths_.paths) most = std::max(most, path.length - 1);
  leaves_.clear();
  std::vector<std::uint32_t> sets;
  std::vector<PatternBit> bits;
  for (const Path& path : paths_.paths) {
    DeepLeaf leaf;
    leaf.first_bit = static_cast<std::uint32_t>(bits.size());
    leaf.bits = static_cast<std::uint32_t>(path.length - 1);
    for (const PathElement& e : paths_.of(path).subspan(1)) {
      bits.push_back(BitOf(e, paths_.category_sets, sets));
    }
    leaves_.push_back(leaf);
  }
  const PairWeights weights(most);
  side_ = static_cast<std::uint32_t>(weights.side());
  sets_.Upload(sets);
  bits_.Upload(bits);
  weights_.Upload(weights.table());
  PlanRanges();
}

void DevicePatterns::SetBackground(const RowBlock& background) {
  std::vector<std::vector<DeepPattern>> lists(leaves_.size());
  ParallelFor(lists.size(), 0,
              [&](std::size_t i) { lists[i] = Patterns(paths_.paths[i], background); });
  std::vector<DeepPattern> patterns;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    leaves_[i].value = paths_.paths[i].value / static_cast<double>(background.rows);
    leaves_[i].first_pattern = static_cast<std::uint32_t>(patterns.size());
    leaves_[i].patterns = static_cast<std::uint32_t>(lists[i].size());
    patterns.insert(patterns.end(), lists[i].begin(), lists[i].end());
  }
  Require(patterns.size() <= 0xffffffffu, "too many background rows");
  patterns_.Upload(patterns);
  device_leaves_.Upload(leaves_);
}

std::vector<DeepPattern> DevicePatterns::Patterns(const Path& path,
                                                  const RowBlock& background) const {
  std::vector<unsigned long long> all;
  for (std::size_t b = 0; b < background.rows; ++b) {
    unsigned long long follows = 0;
    for (std::int32_t i = 1; i < path.length; ++i) {
      const PathElement& e = paths_.elements[path.begin + static_cast<std::size_t>(i)];
      const float x = background.row(b)[static_cast<std::size_t>(e.feature)];
      if (Follows(paths_, e, x)) follows |= 1ull << (i - 1);
    }
    all.push_back(follows);
  }
  std::sort(all.begin(), all.end());
  std::vector<DeepPattern> patterns;
  for (const unsigned long long follows : all) {
    if (patterns.empty() || patterns.back().follows != follows) patterns.push_back({follows, 0});
    ++patterns.back().count;
  }
  return patterns;
}

// Cuts each output's leaves into ranges; uploads them and the order of their sums. Ranges depend on
// the model alone, so results are bitwise independent of the number of rows.
void DevicePatterns::PlanRanges() {
  const std::size_t per_range = std::max<std::size_t>(32, paths_.paths.size() / 128);
  std::vector<DeepRange> ranges;
  std::vector<RangeSums> sums;
  for (std::size_t at = 0; at < paths_.paths.size();) {
    const std::size_t first = at;
    const std::int32_t group = paths_.paths[at].group;
    std::vector<std::int32_t> features;
    while (at < paths_.paths.size() && paths_.paths[at].group == group && at - first < per_range) {
      for (const PathElement& element : paths_.of(paths_.paths[at])) {
        if (element.feature >= 0) features.push_back(element.feature);
      }
      ++at;
    }
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
    ranges.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(at - first)});
    sums.push_back({group, std::move(features)});
  }
  ranges_.Upload(ranges);
  sums_.Plan(sums, static_cast<std::uint32_t>(features_), static_cast<std::uint32_t>(groups_));
}

std::size_t DevicePatterns::MostRows() const {
  if (empty()) return kPieceRows;
  const std::size_t per_row = sums_.ranges() * features_ * sizeof(double);
  constexpr std::size_t kPadded = DeviceColumns::kPaddedRows;
  return std::clamp<std::size_t>(kDeepBytes / per_row / kPadded * kPadded, kPadded, kPieceRows);
}

void DevicePatterns::Add(const DeviceColumns& rows, double* out, cudaStream_t stream) {
  if (empty()) return;
  partial_.Reserve(sums_.size(rows.stride));
  DeepLaunch launch{};
  launch.model.bits = bits_.data();
  launch.model.leaves = device_leaves_.data();
  launch.model.patterns = patterns_.data();
  launch.model.ranges = ranges_.data();
  launch.model.sets = sets_.data();
  launch.model.weights = weights_.data();
  launch.x = rows.x;
  launch.partial = partial_.data();
  launch.side = side_;
  launch.features = static_cast<std::uint32_t>(features_);
  launch.stride = rows.stride;
  const std::size_t bytes = features_ * kDeepBlock * sizeof(double);
  launch.shared = bytes <= std::min(kDeepColumnBytes, SharedMemoryLimit());
  const std::size_t dynamic = launch.shared ? bytes : 0;
  if (!launch.shared) sums_.Clear(partial_.data(), rows.stride, stream);
  AllowSharedMemory(DeepLeavesKernel, dynamic);
  const dim3 grid(rows.stride / kDeepBlock, sums_.ranges());
  DeepLeavesKernel<<<grid, kDeepBlock, dynamic, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "deep leaves");
  sums_.Add(partial_.data(), nullptr, rows.stride, rows.rows, false, out, nullptr, stream);
}

}  // namespace retable::treeshap

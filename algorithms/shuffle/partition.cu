//! @file
//! The partition shuffle on the GPU: workspace and launches.

#include <algorithm>
#include <memory>

#include "algorithms/shuffle/device.cuh"
#include "algorithms/shuffle/partition_device.hpp"
#include "algorithms/shuffle/partition_leaf.cuh"
#include "algorithms/shuffle/partition_scatter.cuh"

namespace retable::shuffle {

struct PartitionWorkspace::Arrays {
  DeviceArray<std::uint32_t> counts, before, totals, starts, leaf_starts, used;
  DeviceArray<std::uint64_t> aside;
  DeviceArray<std::byte> between;  // n items between two levels
};

namespace {

constexpr std::uint64_t kSplitTiles = 4;
constexpr std::uint32_t kAside = 1u << 20;  // items put aside for leaves over capacity

template <class Kernel>
void AllowShared(Kernel* kernel, std::size_t bytes) {
  CudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "cudaFuncSetAttribute");
}

// Blocks that run at once share a segment; many segments take fewer ranges each, and some more
// blocks than run at once, so that uneven segments do not leave the chip idle.
std::uint32_t Ranges(std::uint32_t segments, std::uint64_t n) {
  const auto blocks = 2 * static_cast<std::uint64_t>(MultiprocessorCount());
  const std::uint64_t tiles = (n / segments + kTile - 1) / kTile;
  const std::uint64_t wanted = segments == 1 ? blocks : (8 * blocks + segments - 1) / segments;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(1, tiles)));
}

// Blocks run in order, so that those that run at once write to neighbouring places: a range is
// split for them into runs of about four tiles.
LevelShape Level(std::uint64_t n, std::uint32_t segments, int bits, const std::uint32_t* starts) {
  const std::uint32_t ranges = Ranges(segments, n);
  const std::uint64_t tiles = (n / segments / ranges + kTile - 1) / kTile;
  const auto splits = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, tiles / kSplitTiles));
  return {n, segments, ranges, splits, bits, starts};
}
LevelShape FirstLevel(const PartitionPlan& plan) {
  return Level(plan.n, 1, plan.first_bits, nullptr);
}
LevelShape SecondLevel(const PartitionPlan& plan, const std::uint32_t* starts) {
  return Level(plan.n, plan.buckets(), plan.second_bits, starts);
}

// For one leaf: its bounds, and the items when they are to be {0..n-1}.
template <class Item>
__global__ void BeginOneLeaf(Item* iota, std::uint32_t n, std::uint32_t* starts) {
  const std::uint32_t i = blockIdx.x * 1024 + threadIdx.x;
  if (i == 0) {
    starts[0] = 0;
    starts[1] = n;
  }
  if (iota != nullptr && i < n) iota[i] = i;
}

template <class Item>
void LaunchScatter(const Philox4x32& random, const LevelShape& shape, const Item* in, Item* out,
                   const std::uint32_t* counts, const std::uint32_t* before,
                   const std::uint32_t* starts, cudaStream_t stream) {
  const std::size_t bytes = ScatterBytes<Item>(shape.bits);
  const std::uint32_t blocks = shape.segments * shape.ranges * shape.splits;
  if (in == nullptr) {
    AllowShared(ScatterTiles<Item, true>, bytes);
    ScatterTiles<Item, true><<<blocks, kScatterThreads, bytes, stream>>>(random, shape, in, out,
                                                                         counts, before, starts);
  } else {
    AllowShared(ScatterTiles<Item, false>, bytes);
    ScatterTiles<Item, false><<<blocks, kScatterThreads, bytes, stream>>>(random, shape, in, out,
                                                                          counts, before, starts);
  }
  CudaCheck(cudaGetLastError(), "ScatterTiles");
}

}  // namespace

PartitionWorkspace::PartitionWorkspace() : arrays_(std::make_unique<Arrays>()) {}
PartitionWorkspace::~PartitionWorkspace() = default;

void PartitionWorkspace::Prepare(std::uint64_t n, std::size_t item_bytes) {
  const PartitionPlan plan = MakePartitionPlan(n);
  if (n > kMaxDevicePartition) {
    throw std::invalid_argument("the partition shuffle takes up to " +
                                std::to_string(kMaxDevicePartition) + " items on a GPU, not " +
                                std::to_string(n));
  }
  const LevelShape first = FirstLevel(plan), second = SecondLevel(plan, nullptr);
  const auto counts = [](const LevelShape& s) {
    return std::uint64_t{s.segments} * s.ranges * s.digits();
  };
  arrays_->counts.Reserve(std::max(counts(first), counts(second)));
  arrays_->before.Reserve(std::max(counts(first) * first.splits, counts(second) * second.splits));
  arrays_->totals.Reserve(plan.leaves());
  arrays_->starts.Reserve(plan.buckets() + 1);
  arrays_->leaf_starts.Reserve(plan.leaves() + std::uint64_t{1});
  arrays_->used.Reserve(1);
  arrays_->aside.Reserve(kAside);
  if (plan.second_bits > 0) arrays_->between.Reserve(n * item_bytes);
}

template <class Item>
void PartitionWorkspace::EnqueueLevel(const LevelShape& shape, const Philox4x32& random,
                                      const Item* in, Item* out, std::uint32_t* starts,
                                      cudaStream_t stream) {
  std::uint32_t* counts = arrays_->counts.data();
  std::uint32_t* before = arrays_->before.data();
  std::uint32_t* totals = arrays_->totals.data();
  const std::size_t count_bytes = shape.digits() * sizeof(std::uint32_t);
  CountDigits<<<shape.segments * shape.ranges, 1024, count_bytes, stream>>>(random, shape, counts,
                                                                            before);
  CudaCheck(cudaGetLastError(), "CountDigits");
  Mark("count");
  ScanRanges<<<dim3((shape.digits() + 31) / 32, shape.segments), 1024, 0, stream>>>(
      counts, shape.ranges, shape.digits(), totals);
  CudaCheck(cudaGetLastError(), "ScanRanges");
  ScanTotals<<<shape.segments, 1024, 0, stream>>>(totals, shape, starts);
  CudaCheck(cudaGetLastError(), "ScanTotals");
  Mark("scan");
  LaunchScatter(random, shape, in, out, counts, before, starts, stream);
  Mark("scatter");
}

template <class Item>
void PartitionWorkspace::Enqueue(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed,
                                 cudaStream_t stream) {
  const PartitionPlan plan = MakePartitionPlan(n);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  const Overflow<Item> overflow{reinterpret_cast<Item*>(arrays_->aside.data()), kAside,
                                arrays_->used.data()};
  CudaCheck(cudaMemsetAsync(overflow.used, 0, 4, stream), "cudaMemsetAsync");
  const Item* leaves = out;
  std::uint32_t* leaf_starts = arrays_->leaf_starts.data();
  if (plan.first_bits == 0) {
    BeginOneLeaf<<<static_cast<unsigned>((n + 1023) / 1024), 1024, 0, stream>>>(
        in == nullptr ? out : nullptr, static_cast<std::uint32_t>(n), leaf_starts);
    CudaCheck(cudaGetLastError(), "BeginOneLeaf");
    if (in != nullptr) leaves = in;
  } else if (plan.second_bits == 0) {
    EnqueueLevel(FirstLevel(plan), random, in, out, leaf_starts, stream);
  } else {
    auto* between = reinterpret_cast<Item*>(arrays_->between.data());
    std::uint32_t* starts = arrays_->starts.data();
    EnqueueLevel(FirstLevel(plan), random, in, between, starts, stream);
    EnqueueLevel(SecondLevel(plan, starts), random, static_cast<const Item*>(between), out,
                 leaf_starts, stream);
  }
  AllowShared(OrderLeaves<Item>, LeafBytes<Item>());
  OrderLeaves<Item><<<plan.leaves(), kLeafThreads, LeafBytes<Item>(), stream>>>(
      random, leaves, out, leaf_starts, capacity_, overflow);
  CudaCheck(cudaGetLastError(), "OrderLeaves");
  Mark("leaf");
}

template void PartitionWorkspace::Enqueue(const std::uint32_t*, std::uint32_t*, std::uint64_t,
                                          std::uint64_t, cudaStream_t);
template void PartitionWorkspace::Enqueue(const std::uint64_t*, std::uint64_t*, std::uint64_t,
                                          std::uint64_t, cudaStream_t);

}  // namespace retable::shuffle

//! @file
//! The partition shuffle on the GPU: workspace and launches.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "algorithms/common/cuda_memory.hpp"
#include "algorithms/shuffle/partition_device.hpp"
#include "algorithms/shuffle/partition_leaf.cuh"
#include "algorithms/shuffle/partition_scatter.cuh"

namespace retable::shuffle {

struct PartitionWorkspace::Arrays {
  DeviceArray<std::uint16_t> before;
  DeviceArray<std::uint32_t> counts, totals, starts, leaf_starts, used, aside_order;
  DeviceArray<std::uint64_t> aside;
  DeviceArray<std::byte> between;  // n items between two levels
};

namespace {

constexpr std::uint32_t kAside = 1u << 20;  // items put aside for leaves over capacity

// As many ranges as blocks of the counting pass run at once, or some more, so that uneven segments
// do not leave the chip idle; and so many that the counts within a range fit in 16 bits.
LevelShape Level(std::uint64_t n, std::uint32_t segments, std::uint32_t digits,
                 const std::uint32_t* starts) {
  constexpr std::uint64_t kMostTiles = 65535 / kTile;
  const auto blocks = std::uint64_t{8} * static_cast<std::uint64_t>(MultiprocessorCount());
  // The largest segment is taken to be 16 standard deviations over its mean.
  const double mean = static_cast<double>(n) / segments;
  const auto largest =
      segments == 1 ? n : static_cast<std::uint64_t>(mean + 16 * std::sqrt(mean) + 64);
  const std::uint64_t tiles = std::max<std::uint64_t>(1, (largest + kTile - 1) / kTile);
  const std::uint64_t wanted = segments == 1 ? blocks : (4 * blocks + segments - 1) / segments;
  const std::uint64_t fewest = (tiles + kMostTiles - 1) / kMostTiles;
  const std::uint64_t ranges = std::max(fewest, std::min(wanted, tiles));
  LevelShape shape;
  shape.n = n;
  shape.segments = segments;
  shape.ranges = static_cast<std::uint32_t>(ranges);
  shape.tiles = static_cast<std::uint32_t>((tiles + ranges - 1) / ranges);
  shape.digits = digits;
  shape.starts = starts;
  return shape;
}
LevelShape FirstLevel(const PartitionPlan& plan) {
  return Level(plan.n, 1, plan.buckets, nullptr);
}
LevelShape SecondLevel(const PartitionPlan& plan, const std::uint32_t* starts) {
  return Level(plan.n, plan.buckets, plan.leaves_per_bucket, starts);
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

template <class Kernel, class... Arguments>
void Launch(Kernel* kernel, std::uint32_t blocks, int threads, std::size_t shared,
            cudaStream_t stream, const char* name, Arguments... arguments) {
  AllowSharedMemory(kernel, shared);
  kernel<<<blocks, threads, shared, stream>>>(arguments...);
  CheckCuda(cudaGetLastError(), name);
}

// Whether the device serves the lanes of a shared atomic instruction in their order: probed once.
bool LanesInOrder(std::uint32_t* scratch) {
  static std::map<int, bool> known;
  static std::mutex lock;
  const std::lock_guard guard(lock);
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  std::uint32_t wrong = 0;
  CheckCuda(cudaMemset(scratch, 0, 4), "cudaMemset");
  ProbeArrivals<<<1, 512>>>(scratch);
  CheckCuda(cudaMemcpy(&wrong, scratch, 4, cudaMemcpyDeviceToHost), "ProbeArrivals");
  return known[device] = wrong == 0;
}

}  // namespace

PartitionWorkspace::PartitionWorkspace() : arrays_(std::make_unique<Arrays>()) {}
PartitionWorkspace::~PartitionWorkspace() = default;

void PartitionWorkspace::Prepare(std::uint64_t n, std::size_t item_bytes) {
  const PartitionPlan plan = MakePartitionPlan(n);
  arrays_->used.Reserve(1);
  arrays_->aside.Reserve(kAside);
  arrays_->aside_order.Reserve(kAside);
  lanes_in_order_ = LanesInOrder(arrays_->used.data());
  Reserve(plan, item_bytes);
}

// Grows what is too small; enqueueing what was prepared for does not grow anything.
void PartitionWorkspace::Reserve(const PartitionPlan& plan, std::size_t item_bytes) {
  const LevelShape first = FirstLevel(plan), second = SecondLevel(plan, nullptr);
  const auto counts = [](const LevelShape& s) {
    return std::uint64_t{s.segments} * s.ranges * s.digits;
  };
  arrays_->counts.Reserve(std::max(counts(first), counts(second)));
  arrays_->before.Reserve(std::max(counts(first) * first.tiles, counts(second) * second.tiles));
  arrays_->totals.Reserve(plan.leaves());
  arrays_->starts.Reserve(plan.buckets + std::uint64_t{1});
  arrays_->leaf_starts.Reserve(plan.leaves() + std::uint64_t{1});
  if (plan.leaves_per_bucket > 1) arrays_->between.Reserve(plan.n * item_bytes);
}

template <class Item>
void PartitionWorkspace::EnqueueLevel(const LevelShape& shape, const Philox4x32& random,
                                      const Item* in, Item* out, std::uint32_t* starts,
                                      cudaStream_t stream) {
  std::uint32_t* counts = arrays_->counts.data();
  std::uint16_t* before = arrays_->before.data();
  std::uint32_t* totals = arrays_->totals.data();
  const std::size_t count_bytes = shape.digits * sizeof(std::uint32_t);
  CountDigits<<<shape.segments * shape.ranges, kCountThreads, count_bytes, stream>>>(
      random, shape, counts, before);
  CheckCuda(cudaGetLastError(), "CountDigits");
  Mark("count");
  ScanRanges<<<dim3((shape.digits + 31) / 32, shape.segments), 1024, 0, stream>>>(
      counts, shape.ranges, shape.digits, totals);
  CheckCuda(cudaGetLastError(), "ScanRanges");
  ScanTotals<<<shape.segments, 1024, 0, stream>>>(totals, shape, starts);
  CheckCuda(cudaGetLastError(), "ScanTotals");
  Mark("scan");
  const auto scatter = [&](auto* kernel) {
    Launch(kernel, shape.segments * shape.ranges * shape.tiles, kScatterThreads,
           ScatterBytes<Item>(shape.stride()), stream, "ScatterTiles", random, shape, in, out,
           static_cast<const std::uint32_t*>(counts), static_cast<const std::uint16_t*>(before),
           static_cast<const std::uint32_t*>(starts));
  };
  if (lanes_in_order_) {
    in == nullptr ? scatter(ScatterTiles<Item, true, true>)
                  : scatter(ScatterTiles<Item, false, true>);
  } else {
    in == nullptr ? scatter(ScatterTiles<Item, true, false>)
                  : scatter(ScatterTiles<Item, false, false>);
  }
  Mark("scatter");
}

template <class Item>
void PartitionWorkspace::Enqueue(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed,
                                 cudaStream_t stream) {
  const PartitionPlan plan = MakePartitionPlan(n);
  Reserve(plan, sizeof(Item));
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  const Overflow<Item> overflow{reinterpret_cast<Item*>(arrays_->aside.data()),
                                arrays_->aside_order.data(), kAside, arrays_->used.data()};
  CheckCuda(cudaMemsetAsync(overflow.used, 0, 4, stream), "cudaMemsetAsync");
  const Item* leaves = out;
  std::uint32_t* leaf_starts = arrays_->leaf_starts.data();
  if (plan.buckets == 1) {
    BeginOneLeaf<<<static_cast<unsigned>((n + 1023) / 1024), 1024, 0, stream>>>(
        in == nullptr ? out : nullptr, static_cast<std::uint32_t>(n), leaf_starts);
    CheckCuda(cudaGetLastError(), "BeginOneLeaf");
    if (in != nullptr) leaves = in;
  } else if (plan.leaves_per_bucket == 1) {
    EnqueueLevel(FirstLevel(plan), random, in, out, leaf_starts, stream);
  } else {
    auto* between = reinterpret_cast<Item*>(arrays_->between.data());
    std::uint32_t* starts = arrays_->starts.data();
    EnqueueLevel(FirstLevel(plan), random, in, between, starts, stream);
    EnqueueLevel(SecondLevel(plan, starts), random, static_cast<const Item*>(between), out,
                 leaf_starts, stream);
  }
  Launch(ShuffleLeaves<Item>, plan.leaves(), kLeafThreads, LeafBytes<Item>(), stream,
         "ShuffleLeaves", random, leaves, out, static_cast<const std::uint32_t*>(leaf_starts),
         capacity_, overflow);
  Mark("leaf");
}

template <class Item>
void PartitionWorkspace::EnqueueSplit(const Item* in, Item* out, std::uint64_t n,
                                      std::uint32_t digits, std::uint64_t seed,
                                      std::uint64_t stream_of_digits, std::uint64_t first_group,
                                      std::uint32_t* starts, cudaStream_t stream) {
  LevelShape shape = Level(n, 1, digits, nullptr);
  shape.stream = stream_of_digits;
  shape.first_group = first_group;
  const std::uint64_t counts = std::uint64_t{shape.ranges} * digits;
  arrays_->counts.Reserve(counts);
  arrays_->before.Reserve(counts * shape.tiles);
  arrays_->totals.Reserve(digits);
  EnqueueLevel(shape, Philox4x32::FromSeed(seed), in, out, starts, stream);
}

void PartitionWorkspace::ReserveBetween(std::uint64_t bytes) {
  arrays_->between.Reserve(bytes);
}

void* PartitionWorkspace::between() const {
  return arrays_->between.data();
}

template void PartitionWorkspace::EnqueueSplit(const std::uint32_t*, std::uint32_t*, std::uint64_t,
                                               std::uint32_t, std::uint64_t, std::uint64_t,
                                               std::uint64_t, std::uint32_t*, cudaStream_t);
template void PartitionWorkspace::EnqueueSplit(const std::uint64_t*, std::uint64_t*, std::uint64_t,
                                               std::uint32_t, std::uint64_t, std::uint64_t,
                                               std::uint64_t, std::uint32_t*, cudaStream_t);
template void PartitionWorkspace::Enqueue(const std::uint32_t*, std::uint32_t*, std::uint64_t,
                                          std::uint64_t, cudaStream_t);
template void PartitionWorkspace::Enqueue(const std::uint64_t*, std::uint64_t*, std::uint64_t,
                                          std::uint64_t, cudaStream_t);

}  // namespace retable::shuffle

//! @file
//! The partition shuffle on the GPU: workspace and launches.

#include <algorithm>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/cuda/in_memory_bucket.cuh"
#include "algorithms/shuffle/partition/cuda/scatter.cuh"
#include "algorithms/shuffle/partition/cuda/workspace.hpp"
#include "algorithms/shuffle/split/warp_rank.cuh"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

namespace {

// Two blocks share a multiprocessor, if they do not need counters for too many digits.
int WarpsOf(std::uint32_t digits) {
  return digits <= kManyDigits ? kScatterWarps : kScatterWarps - 2;
}

// As many ranges as blocks of the counting pass run at once, or some more, so that uneven segments
// do not leave the chip idle; and so many that the counts within a range fit in 16 bits.
LevelShape Level(std::uint64_t n, std::uint32_t segments, std::uint32_t digits,
                 const std::uint32_t* starts) {
  const int warps = WarpsOf(digits);
  const std::uint64_t tile = TileOf(warps), most_tiles = 65535 / tile;
  const auto multiprocessors = static_cast<std::uint64_t>(MultiprocessorCount());
  const std::uint64_t tiles =
      std::max<std::uint64_t>(1, (MostItems(n, segments) + tile - 1) / tile);
  const std::uint64_t wanted =
      segments == 1 ? kCountBlocks * multiprocessors
                    : (kSegmentsCountBlocks * multiprocessors + segments - 1) / segments;
  const std::uint64_t fewest = (tiles + most_tiles - 1) / most_tiles;
  const std::uint64_t ranges = std::max(fewest, std::min(wanted, tiles));
  LevelShape shape;
  shape.n = n;
  shape.segments = segments;
  shape.ranges = static_cast<std::uint32_t>(ranges);
  shape.tiles = static_cast<std::uint32_t>((tiles + ranges - 1) / ranges);
  shape.digits = digits;
  shape.tile = static_cast<std::uint32_t>(tile);
  shape.starts = starts;
  return shape;
}
LevelShape FirstLevel(const PartitionPlan& plan) {
  return Level(plan.n, 1, plan.buckets, nullptr);
}
LevelShape SecondLevel(const PartitionPlan& plan, const std::uint32_t* starts) {
  return Level(plan.n, plan.buckets, plan.in_memory_per_bucket, starts);
}

// For one in-memory bucket: its bounds, and the items when they are to be {0..n-1}.
template <class Item>
__global__ void BeginOneBucket(Item* iota, std::uint32_t n, std::uint32_t* starts) {
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

}  // namespace

void PartitionWorkspace::Prepare(std::uint64_t n, std::size_t item_bytes) {
  const PartitionPlan plan = MakePartitionPlan(n);
  used_.Reserve(1);
  aside_.Reserve(kAsideItems);
  aside_order_.Reserve(kAsideItems);
  lanes_in_order_ = ServesLanesInOrder();
  Reserve(FirstLevel(plan));
  Reserve(SecondLevel(plan, nullptr));
  in_memory_starts_.Reserve(plan.in_memory_buckets() + std::uint64_t{1});
  if (plan.in_memory_per_bucket == 1) return;
  starts_.Reserve(plan.buckets + std::uint64_t{1});
  between_.Reserve(plan.n * item_bytes);
}
void PartitionWorkspace::Reserve(const LevelShape& shape) {
  const std::uint64_t parts = std::uint64_t{shape.segments} * shape.ranges;
  counts_.Reserve(parts * shape.digits);
  before_.Reserve(parts * shape.tiles * shape.stride());
  totals_.Reserve(std::uint64_t{shape.segments} * shape.digits);
}

// Where the digits of a level begin: counted and summed up.
void PartitionWorkspace::FindStarts(const LevelShape& shape, const PhiloxRounds& random,
                                    std::uint32_t* starts, cudaStream_t stream) {
  std::uint32_t* counts = counts_.data();
  std::uint32_t* totals = totals_.data();
  CountDigits<<<shape.segments * shape.ranges, shape.tile / kScatterEach / 2,
                shape.stride() * sizeof(std::uint32_t), stream>>>(random, shape, counts,
                                                                  before_.data());
  CheckCuda(cudaGetLastError(), "CountDigits");
  const auto scan = [&]<std::uint32_t kDigits>() {
    const dim3 blocks((shape.digits + kDigits - 1) / kDigits, shape.segments);
    ScanRanges<kDigits><<<blocks, 1024, 0, stream>>>(counts, shape.ranges, shape.digits, totals);
    CheckCuda(cudaGetLastError(), "ScanRanges");
  };
  shape.segments == 1 ? scan.template operator()<8>() : scan.template operator()<32>();
  ScanTotals<<<shape.segments, 1024, 0, stream>>>(totals, shape, starts);
  CheckCuda(cudaGetLastError(), "ScanTotals");
}

template <class Item>
void PartitionWorkspace::Scatter(const LevelShape& shape, const PhiloxRounds& random,
                                 const Item* in, Item* out, const std::uint32_t* starts,
                                 cudaStream_t stream) {
  const ScatterArrays<Item> arrays{in, out, counts_.data(), before_.data(), starts};
  const auto scatter = [&]<int kWarps, ItemsFrom kFrom, bool kLanesInOrder>() {
    Launch(ScatterTiles<Item, kWarps, kFrom, kLanesInOrder>,
           static_cast<std::uint32_t>(shape.AllTiles()), kWarps * 32,
           ScatterBytes<Item, kWarps, kFrom>(shape.stride()), stream, "ScatterTiles", random, shape,
           arrays);
  };
  const auto by_order = [&]<int kWarps, ItemsFrom kFrom>() {
    lanes_in_order_ ? scatter.template operator()<kWarps, kFrom, true>()
                    : scatter.template operator()<kWarps, kFrom, false>();
  };
  const auto by_source = [&]<int kWarps>() {
    if (in == nullptr) return by_order.template operator()<kWarps, ItemsFrom::kIndex>();
    ScatterBytes<Item, kWarps, ItemsFrom::kTile>(shape.stride()) <= SharedMemoryLimit()
        ? by_order.template operator()<kWarps, ItemsFrom::kTile>()
        : by_order.template operator()<kWarps, ItemsFrom::kGlobal>();
  };
  shape.tile == TileOf(kScatterWarps) ? by_source.template operator()<kScatterWarps>()
                                      : by_source.template operator()<kScatterWarps - 2>();
}

template <class Item>
void PartitionWorkspace::Enqueue(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed,
                                 cudaStream_t stream) {
  Prepare(n, sizeof(Item));  // allocates nothing when that was done
  const PartitionPlan plan = MakePartitionPlan(n);
  const PhiloxRounds random = PhiloxRounds::From(Philox4x32::FromSeed(seed));
  const Overflow<Item> overflow{reinterpret_cast<Item*>(aside_.data()), aside_order_.data(),
                                kAsideItems, used_.data()};
  CheckCuda(cudaMemsetAsync(overflow.used, 0, 4, stream), "cudaMemsetAsync");
  const Item* items = out;
  std::uint32_t* in_memory_starts = in_memory_starts_.data();
  const LevelShape first = FirstLevel(plan);
  if (plan.buckets == 1) {
    BeginOneBucket<<<static_cast<unsigned>((n + 1023) / 1024), 1024, 0, stream>>>(
        in == nullptr ? out : nullptr, static_cast<std::uint32_t>(n), in_memory_starts);
    CheckCuda(cudaGetLastError(), "BeginOneBucket");
    if (in != nullptr) items = in;
  } else if (plan.in_memory_per_bucket == 1) {
    FindStarts(first, random, in_memory_starts, stream);
    Scatter(first, random, in, out, in_memory_starts, stream);
  } else {
    auto* between = reinterpret_cast<Item*>(between_.data());
    std::uint32_t* starts = starts_.data();
    const LevelShape second = SecondLevel(plan, starts);
    FindStarts(first, random, starts, stream);
    Scatter(first, random, in, between, starts, stream);
    FindStarts(second, random, in_memory_starts, stream);
    Scatter(second, random, static_cast<const Item*>(between), out, in_memory_starts, stream);
  }
  const auto shuffle_buckets = [&]<ItemsFrom kFrom>() {
    Launch(ShuffleInMemoryBuckets<Item, kFrom>, plan.in_memory_buckets(), kBucketThreads,
           sizeof(BucketMemory<Item, kFrom>), stream, "ShuffleInMemoryBuckets", random,
           InMemoryBuckets<Item>{items, out, in_memory_starts, capacity_, overflow});
  };
  sizeof(BucketMemory<Item, ItemsFrom::kTile>) <= SharedMemoryLimit()
      ? shuffle_buckets.template operator()<ItemsFrom::kTile>()
      : shuffle_buckets.template operator()<ItemsFrom::kGlobal>();
}

template <class Item>
void PartitionWorkspace::EnqueueSplit(const Item* in, Item* out, std::uint64_t n,
                                      std::uint32_t digits, std::uint64_t seed,
                                      std::uint64_t stream_of_digits, std::uint64_t first_group,
                                      std::uint32_t* starts, cudaStream_t stream) {
  LevelShape shape = Level(n, 1, digits, nullptr);
  shape.stream = stream_of_digits;
  shape.first_group = first_group;
  Reserve(shape);
  const PhiloxRounds random = PhiloxRounds::From(Philox4x32::FromSeed(seed));
  FindStarts(shape, random, starts, stream);
  Scatter(shape, random, in, out, starts, stream);
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

//! @file
//! The partition shuffle on the GPU: launches, workspace, and the methods "Partition" and
//! "RandPerm".

#include <algorithm>
#include <memory>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/device.cuh"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition_device.hpp"
#include "algorithms/shuffle/partition_leaf.cuh"
#include "algorithms/shuffle/partition_scatter.cuh"

namespace retable::shuffle {

struct PartitionWorkspace::Arrays {
  DeviceArray<std::uint32_t> counts, totals, starts, used;
  DeviceArray<std::uint64_t> aside;
};

namespace {

constexpr std::uint32_t kAside = 1u << 20;  // items put aside for leaves over capacity

template <class Kernel>
void AllowShared(Kernel* kernel, std::size_t bytes) {
  CudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "cudaFuncSetAttribute");
}

ScatterShape Shape(const PartitionPlan& plan) {
  const std::uint32_t groups = plan.first_bits > 12 ? 1 : 2;
  const std::uint32_t tile = groups * kGroup;
  const std::uint64_t tiles = (plan.n + tile - 1) / tile;
  const auto blocks = static_cast<std::uint64_t>(MultiprocessorCount());
  const std::uint64_t each = (tiles + blocks - 1) / blocks;
  return {plan.n, static_cast<std::uint32_t>((tiles + each - 1) / each),
          static_cast<std::uint32_t>(each), tile, plan.first_bits};
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

template <class Item, int kGroups, bool kIota>
void LaunchScatter(const Philox4x32& random, const ScatterShape& shape, const Item* in, Item* out,
                   const std::uint32_t* counts, const std::uint32_t* starts, cudaStream_t stream) {
  const std::size_t bytes = ScatterBytes<Item>(shape.tile, shape.bits);
  AllowShared(ScatterTiles<Item, kGroups, kIota>, bytes);
  ScatterTiles<Item, kGroups, kIota>
      <<<shape.ranges, 1024, bytes, stream>>>(random, shape, in, out, counts, starts);
  CudaCheck(cudaGetLastError(), "ScatterTiles");
}

template <class Item>
void LaunchExchange(const Philox4x32& random, const PartitionPlan& plan, Item* items,
                    const std::uint32_t* starts, std::uint32_t capacity,
                    const Overflow<Item>& overflow, cudaStream_t stream) {
  auto* kernel = ExchangeAndOrder<Item>;
  AllowShared(kernel, LeafShared<Item>::kBytes);
  CudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "cudaFuncSetAttribute");
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(plan.buckets() * plan.leaves_per_bucket());
  config.blockDim = dim3(1024);
  config.dynamicSmemBytes = LeafShared<Item>::kBytes;
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = plan.leaves_per_bucket();
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CudaCheck(cudaLaunchKernelEx(&config, kernel, random, items, starts,
                               static_cast<int>(plan.second_bits), capacity, overflow),
            "ExchangeAndOrder");
}

}  // namespace

PartitionWorkspace::PartitionWorkspace() : arrays_(std::make_unique<Arrays>()) {}
PartitionWorkspace::~PartitionWorkspace() = default;

void PartitionWorkspace::Prepare(std::uint64_t n) {
  const PartitionPlan plan = MakePartitionPlan(n);
  if (n > kMaxDevicePartition) {
    throw std::invalid_argument("the partition shuffle takes up to " +
                                std::to_string(kMaxDevicePartition) + " items on a GPU, not " +
                                std::to_string(n));
  }
  const std::uint64_t digits = plan.buckets();
  arrays_->counts.Reserve(Shape(plan).ranges * std::uint64_t{kCountParts} * digits);
  arrays_->totals.Reserve(digits);
  arrays_->starts.Reserve(digits + 1);
  arrays_->used.Reserve(1);
  arrays_->aside.Reserve(kAside);
}

template <class Item>
void PartitionWorkspace::EnqueueSmall(const Item* in, Item* out, std::uint64_t n,
                                      const Philox4x32& random, cudaStream_t stream) {
  std::uint32_t* starts = arrays_->starts.data();
  BeginOneLeaf<<<static_cast<unsigned>((n + 1023) / 1024), 1024, 0, stream>>>(
      in == nullptr ? out : nullptr, static_cast<std::uint32_t>(n), starts);
  CudaCheck(cudaGetLastError(), "BeginOneLeaf");
  const Overflow<Item> overflow{reinterpret_cast<Item*>(arrays_->aside.data()), kAside,
                                arrays_->used.data()};
  AllowShared(OrderLeaves<Item>, LeafShared<Item>::kBytes);
  OrderLeaves<Item><<<1, 1024, LeafShared<Item>::kBytes, stream>>>(
      random, in == nullptr ? out : in, out, starts, capacity_, overflow);
  CudaCheck(cudaGetLastError(), "OrderLeaves");
}

template <class Item>
void PartitionWorkspace::Enqueue(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed,
                                 cudaStream_t stream) {
  const PartitionPlan plan = MakePartitionPlan(n);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  const Overflow<Item> overflow{reinterpret_cast<Item*>(arrays_->aside.data()), kAside,
                                arrays_->used.data()};
  std::uint32_t* counts = arrays_->counts.data();
  std::uint32_t* starts = arrays_->starts.data();
  CudaCheck(cudaMemsetAsync(overflow.used, 0, 4, stream), "cudaMemsetAsync");
  if (plan.first_bits == 0) return EnqueueSmall(in, out, n, random, stream);
  const ScatterShape shape = Shape(plan);
  const std::uint32_t digits = plan.buckets();
  const std::size_t count_bytes = digits * sizeof(std::uint32_t);
  AllowShared(CountDigits, count_bytes);
  CountDigits<<<shape.ranges * kCountParts, 1024, count_bytes, stream>>>(random, shape, counts);
  CudaCheck(cudaGetLastError(), "CountDigits");
  Mark("count");
  ScanParts<<<(digits + 31) / 32, 1024, 0, stream>>>(counts, shape.ranges * kCountParts, digits,
                                                     arrays_->totals.data());
  CudaCheck(cudaGetLastError(), "ScanParts");
  ScanTotals<<<1, 1024, 0, stream>>>(arrays_->totals.data(), digits, starts);
  CudaCheck(cudaGetLastError(), "ScanTotals");
  Mark("scan");
  const bool two = shape.tile == 2 * kGroup;
  if (in == nullptr) {
    two ? LaunchScatter<Item, 2, true>(random, shape, in, out, counts, starts, stream)
        : LaunchScatter<Item, 1, true>(random, shape, in, out, counts, starts, stream);
  } else {
    two ? LaunchScatter<Item, 2, false>(random, shape, in, out, counts, starts, stream)
        : LaunchScatter<Item, 1, false>(random, shape, in, out, counts, starts, stream);
  }
  Mark("scatter");
  if (plan.second_bits > 0) {
    LaunchExchange(random, plan, out, starts, capacity_, overflow, stream);
    return Mark("leaf");
  }
  AllowShared(OrderLeaves<Item>, LeafShared<Item>::kBytes);
  OrderLeaves<Item><<<digits, 1024, LeafShared<Item>::kBytes, stream>>>(random, out, out, starts,
                                                                        capacity_, overflow);
  CudaCheck(cudaGetLastError(), "OrderLeaves");
  Mark("leaf");
}

template void PartitionWorkspace::Enqueue(const std::uint32_t*, std::uint32_t*, std::uint64_t,
                                          std::uint64_t, cudaStream_t);
template void PartitionWorkspace::Enqueue(const std::uint64_t*, std::uint64_t*, std::uint64_t,
                                          std::uint64_t, cudaStream_t);

}  // namespace retable::shuffle

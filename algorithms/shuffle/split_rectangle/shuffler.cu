//! @file
//! "SplitRectangle" on the GPU: a paged split, then a gather within buckets from the L2 cache.

#include "algorithms/shuffle/split_rectangle/buckets.hpp"

#include <memory>
#include <optional>

#include "algorithms/common/parameters.hpp"
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/split/paged_split.hpp"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/early_launch.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

namespace {

constexpr int kThreads = kBucketGatherThreads, kEach = kBucketGatherEach;
constexpr std::uint32_t kTile = kThreads * kEach;

template <class Item>
struct Buckets {
  const Item* pages;
  const std::uint32_t* starts;
  BucketCipher* ciphers;
  PageLayout layout;
  std::uint32_t tiles;  // tiles of the largest possible bucket
};

// The ciphers of all buckets, a thread each.
template <class Item>
__global__ void __launch_bounds__(32)
    MakeCiphers(Philox4x32 random, const __grid_constant__ Buckets<Item> all) {
  WaitForKernelsBefore();
  const std::uint32_t bucket = blockIdx.x * 32 + threadIdx.x;
  if (bucket >= all.layout.buckets) return;
  const std::uint32_t items = all.starts[bucket + 1] - all.starts[bucket];
  all.ciphers[bucket] = BucketCipher::Make(random, bucket, items);
}

// The first read of a line of memory brings all of it into the cache: the bucket's other items are
// read soon, on both halves of the chip.
#define RETABLE_LOAD "ld.global.nc.L2::128B"
__device__ __forceinline__ std::uint32_t LoadItem(const std::uint32_t* item) {
  std::uint32_t value;
  asm volatile(RETABLE_LOAD ".u32 %0, [%1];" : "=r"(value) : "l"(item));
  return value;
}
__device__ __forceinline__ std::uint64_t LoadItem(const std::uint64_t* item) {
  std::uint64_t value;
  asm volatile(RETABLE_LOAD ".u64 %0, [%1];" : "=l"(value) : "l"(item));
  return value;
}
__device__ __forceinline__ Item16 LoadItem(const Item16* item) {
  Item16 value;
  asm volatile(RETABLE_LOAD ".v2.u64 {%0, %1}, [%2];"
               : "=l"(value.half[0]), "=l"(value.half[1])
               : "l"(item));
  return value;
}
#undef RETABLE_LOAD
template <class Item>
__global__ void __launch_bounds__(kThreads)
    GatherBuckets(const __grid_constant__ Buckets<Item> all, Item* out) {
  WaitForKernelsBefore();
  const std::uint32_t bucket = blockIdx.x / all.tiles, begin = blockIdx.x % all.tiles * kTile;
  const BucketCipher cipher = all.ciphers[bucket];
  if (begin >= cipher.n) return;
  const std::uint32_t first = begin + threadIdx.x;
  const std::uint32_t shift = all.layout.shift;
  const Item* pages = all.pages + (std::size_t{bucket} << shift);
  const std::uint32_t other_pages = (all.layout.buckets - 1) << shift;  // between two of a bucket
  out += all.starts[bucket];
  const auto gather = [&]<bool kFull>() {
    // All evaluations side by side; then the few values that need cycle-walking.
    std::uint32_t slot[kEach];
    bool on = false;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      slot[e] = cipher.Encrypt(first + e * kThreads);
      on = on || slot[e] >= cipher.n;
    }
    if (on) {
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const bool own = kFull || first + e * kThreads < cipher.n;
        slot[e] = own ? cipher.CycleWalkFrom(slot[e]) : 0;
      }
    }
    Item value[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      value[e] = LoadItem(pages + slot[e] + (slot[e] >> shift) * other_pages);
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::uint32_t i = first + e * kThreads;
      if (kFull || i < cipher.n) out[i] = value[e];
    }
  };
  if (begin + kTile <= cipher.n) {
    gather.template operator()<true>();
  } else {
    gather.template operator()<false>();
  }
}

// Room for n items and some hundredths more where they are split, none elsewhere. Three kernels, or
// those of "Rectangle".
class CudaSplitRectangle final : public CudaShuffler {
 public:
  explicit CudaSplitRectangle(std::int64_t bucket_items) : bucket_items_(bucket_items) {
    SplitBuckets(0, bucket_items);  // refuses wrong ones
  }

  void prepare(std::uint64_t n, std::size_t item_bytes) override {
    const std::uint32_t buckets = SplitBuckets(n, bucket_items_);
    if (buckets == 1) return whole_->prepare(n, item_bytes);
    if (!early_) early_ = CanStartEarly(MakeCiphers<std::uint32_t>);
    split_.Prepare(n, buckets, item_bytes);
    starts_.Reserve(buckets + std::uint64_t{1});
    ciphers_.Reserve(buckets);
  }

  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    const std::uint32_t buckets = SplitBuckets(n, bucket_items_);
    if (buckets == 1) return whole_->enqueue(in, out, n, item_bytes, seed, stream);
    prepare(n, item_bytes);  // does nothing when that was done
    WithItems(in, out, item_bytes, [&]<class Item>(const Item* source, Item* target) {
      split_.Enqueue(source, n, buckets, seed, starts_.data(), stream);
      const auto tiles = static_cast<std::uint32_t>((MostItems(n, buckets) + kTile - 1) / kTile);
      const Buckets<Item> all{split_.template pages<Item>(), starts_.data(), ciphers_.data(),
                              PageLayout::Of(n, buckets), tiles};
      const auto shape = [&](std::uint32_t blocks, int threads) {
        return LaunchShape{static_cast<int>(blocks), threads, 0, *early_};
      };
      LaunchBehind(MakeCiphers<Item>, shape((buckets + 31) / 32, 32), stream,
                   Philox4x32::FromSeed(seed), all);
      LaunchBehind(GatherBuckets<Item>, shape(buckets * tiles, kThreads), stream, all, target);
    });
  }

 private:
  std::int64_t bucket_items_;
  PagedSplit split_;
  std::unique_ptr<CudaShuffler> whole_ = MakeCudaShuffler("Rectangle");  // for few items
  DeviceArray<std::uint32_t> starts_;
  DeviceArray<BucketCipher> ciphers_;
  std::optional<bool> early_;
};

RETABLE_REGISTER(Shuffler, split_rectangle,
                 {.name = "SplitRectangle",
                  .device = Device::kCuda,
                  .parameters = {{"bucket", std::int64_t{0},
                                  "items of a bucket on average; 0: by n"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<CudaSplitRectangle>(IntegerParameter(p, "bucket", 0));
                  }});

}  // namespace
}  // namespace retable::shuffle

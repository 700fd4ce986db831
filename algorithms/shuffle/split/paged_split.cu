//! @file
//! The paged split on the GPU: workspace and launches.

#include "algorithms/shuffle/split/paged_split.hpp"

#include <algorithm>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/split/digits.hpp"
#include "algorithms/shuffle/split/paged_split.cuh"
#include "algorithms/shuffle/split/warp_rank.cuh"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

namespace {

constexpr std::uint32_t kMaxEpoch = (1u << 18) - 1;

std::uint64_t Tiles(std::uint64_t n, int warps) {
  return (n + TileOf(warps) - 1) / TileOf(warps);
}

}  // namespace

void PagedSplit::Prepare(std::uint64_t n, std::uint32_t buckets, std::size_t item_bytes) {
  lanes_in_order_ = ServesLanesInOrder();
  // Room for fewer items, too, whose pages may be larger: a page is an eighth of a bucket at most.
  const std::uint64_t most = buckets * MostItems(n, buckets);
  const std::uint64_t page = std::max(n / buckets / 7, std::uint64_t{1} << PageLayout().shift);
  pages_.Reserve((most + buckets * page) * item_bytes);
  const std::uint64_t tiles =
      Tiles(n, item_bytes == 16 ? kSplitWarps<Item16> : kSplitWarps<std::uint32_t>);
  const std::uint64_t groups = (tiles + kGroupTiles - 1) / kGroupTiles, stride = buckets;
  if (tiles * stride <= counts_.size() && groups * stride <= before_.size()) return;
  counts_.Zeros(tiles * stride);
  groups_.Zeros(groups * stride);
  before_.Zeros(groups * stride);
  // A stream that does not wait for the default one may be the next to read them.
  CheckCuda(cudaStreamSynchronize(nullptr), "clearing device memory");
  epoch_ = 0;
}

template <class Item, int kBits>
void PagedSplit::EnqueueBy(const Item* in, std::uint64_t n, std::uint32_t buckets,
                           std::uint64_t seed, std::uint32_t* starts, cudaStream_t stream) {
  const auto tiles = static_cast<std::uint32_t>(Tiles(n, kSplitWarps<Item>));
  const std::uint32_t ahead = std::min(kCountAhead, tiles);
  const SplitShape shape{static_cast<std::uint32_t>(n),
                         buckets,
                         tiles,
                         ahead,
                         PageLayout::Of(n, buckets),
                         epoch_,
                         static_cast<std::uint32_t>(MostItems(n, buckets))};
  const SplitCounts counts{counts_.data(), groups_.data(), before_.data()};
  const PagedSplitArrays<Item> split{in, reinterpret_cast<Item*>(pages_.data()), shape, counts,
                                     starts};
  constexpr int kWarps = kSplitWarps<Item>;
  const auto split_tiles = [&]<ItemsFrom kFrom>() {
    auto* kernel = lanes_in_order_ ? SplitTiles<Item, kWarps, kBits, kFrom, true>
                                   : SplitTiles<Item, kWarps, kBits, kFrom, false>;
    const std::size_t bytes = AllowSharedMemory(kernel, SplitBytes<Item, kWarps, kFrom>(buckets));
    kernel<<<1 + ahead + tiles, kWarps * 32, bytes, stream>>>(
        PhiloxRounds::From(Philox4x32::FromSeed(seed)), split);
    CheckCuda(cudaGetLastError(), "SplitTiles");
  };
  SplitBytes<Item, kWarps, ItemsFrom::kTile>(buckets) <= SharedMemoryLimit()
      ? split_tiles.template operator()<ItemsFrom::kTile>()
      : split_tiles.template operator()<ItemsFrom::kGlobal>();
}

template <class Item>
void PagedSplit::Enqueue(const Item* in, std::uint64_t n, std::uint32_t buckets, std::uint64_t seed,
                         std::uint32_t* starts, cudaStream_t stream) {
  if (epoch_ == kMaxEpoch) {  // a word of an old epoch must not pass for a new one
    const auto clear = [&](auto& array) {
      CheckCuda(cudaMemsetAsync(array.data(), 0, array.size() * sizeof(*array.data()), stream),
                "cudaMemsetAsync");
    };
    clear(counts_);
    clear(before_);
    epoch_ = 0;
  }
  ++epoch_;
  BucketBits(buckets) == 8 ? EnqueueBy<Item, 8>(in, n, buckets, seed, starts, stream)
                           : EnqueueBy<Item, 16>(in, n, buckets, seed, starts, stream);
}

template void PagedSplit::Enqueue(const std::uint32_t*, std::uint64_t, std::uint32_t, std::uint64_t,
                                  std::uint32_t*, cudaStream_t);
template void PagedSplit::Enqueue(const std::uint64_t*, std::uint64_t, std::uint32_t, std::uint64_t,
                                  std::uint32_t*, cudaStream_t);
template void PagedSplit::Enqueue(const Item16*, std::uint64_t, std::uint32_t, std::uint64_t,
                                  std::uint32_t*, cudaStream_t);

}  // namespace retable::shuffle

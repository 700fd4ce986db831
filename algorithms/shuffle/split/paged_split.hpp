#pragma once
//! @file
//! A stable split of device memory by first digits, in one pass, into buckets that lie in pages.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/tuning.hpp"
#include "base/cuda/host_device.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

//! How a number of buckets lie in pages of 2^shift items, dealt out in turn: page r of bucket b is
//! page r buckets + b.
struct PageLayout {
  std::uint32_t buckets = 1;
  std::uint32_t shift = kPageShift;

  //! The smallest pages of which an average bucket has at most kMaxBucketPages.
  static PageLayout Of(std::uint64_t n, std::uint32_t buckets) {
    PageLayout layout{buckets};
    while (n / buckets > (kMaxBucketPages << layout.shift)) ++layout.shift;
    return layout;
  }
  //! Where slot `slot` of a bucket lies.
  RETABLE_HD std::uint32_t Place(std::uint32_t bucket, std::uint32_t slot) const {
    const std::uint32_t mask = (1u << shift) - 1;
    return (((slot >> shift) * buckets + bucket) << shift) | (slot & mask);
  }
};

class PagedSplit {
 public:
  //! Allocates for splits of n <= 2^31 items into 2^k buckets, 2 to 512: MostItems and a page a
  //! bucket, and two words a tile and bucket.
  void Prepare(std::uint64_t n, std::uint32_t buckets, std::size_t item_bytes);

  //! Enqueues the split of n items of 4, 8 or 16 bytes, one kernel, with what was prepared. Bucket
  //! b has starts[b + 1] - starts[b] items, in their order in `in`: slot s of it is
  //! pages<Item>()[PageLayout::Of(n, buckets).Place(b, s)]. starts: device memory, buckets + 1
  //! values.
  template <class Item>
  void Enqueue(const Item* in, std::uint64_t n, std::uint32_t buckets, std::uint64_t seed,
               std::uint32_t* starts, cudaStream_t stream);
  template <class Item>
  const Item* pages() const {
    return reinterpret_cast<const Item*>(pages_.data());
  }

 private:
  template <class Item, int kBits>
  void EnqueueBy(const Item* in, std::uint64_t n, std::uint32_t buckets, std::uint64_t seed,
                 std::uint32_t* starts, cudaStream_t stream);

  DeviceArray<std::byte> pages_;
  DeviceArray<std::uint32_t> counts_;
  DeviceArray<unsigned long long> groups_, before_;
  std::uint32_t epoch_ = 0;
  bool lanes_in_order_ = false;
};

}  // namespace retable::shuffle

#pragma once
//! @file
//! A stable split of device memory by first digits, in one pass, into buckets that lie in pages.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "algorithms/common/host_device.hpp"

namespace retable::shuffle {

inline constexpr int kPageShift = 16;  //!< pages of 65,536 items

//! Where slot `slot` of a bucket lies: its page `slot >> 16` is dealt out after those of the
//! buckets before it.
RETABLE_HD std::uint32_t PagedPlace(std::uint32_t bucket, std::uint32_t slot,
                                    std::uint32_t buckets) {
  constexpr std::uint32_t kMask = (1u << kPageShift) - 1;
  return (((slot >> kPageShift) * buckets + bucket) << kPageShift) | (slot & kMask);
}

class PagedSplit {
 public:
  PagedSplit();
  ~PagedSplit();

  //! Allocates for splits of up to n <= 2^31 items into this many buckets, 1 to 572: the items, a
  //! row of pages and 16 standard deviations of a bucket more, and two words a tile and bucket.
  void Prepare(std::uint64_t n, std::uint32_t buckets, std::size_t item_bytes);

  //! Enqueues the split of n items of 4, 8 or 16 bytes, one kernel, with what was prepared. Bucket
  //! b has starts[b + 1] - starts[b] items, in their order in `in`: slot s of it is
  //! pages<Item>()[PagedPlace(b, s, buckets)]. starts: device memory, buckets + 1 values.
  template <class Item>
  void Enqueue(const Item* in, std::uint64_t n, std::uint32_t buckets, std::uint64_t seed,
               std::uint32_t* starts, cudaStream_t stream);
  template <class Item>
  const Item* pages() const {
    return static_cast<const Item*>(Pages());
  }
  //! What no bucket exceeds: 16 standard deviations over the mean.
  static std::uint64_t MostItems(std::uint64_t n, std::uint32_t buckets);

 private:
  struct Arrays;
  void* Pages() const;
  template <class Item, int kWarps>
  void EnqueueBy(const Item* in, std::uint64_t n, std::uint32_t buckets, std::uint64_t seed,
                 std::uint32_t* starts, cudaStream_t stream);

  std::unique_ptr<Arrays> arrays_;
  std::uint32_t epoch_ = 0;
  bool lanes_in_order_ = false;
};

}  // namespace retable::shuffle

#pragma once
//! @file
//! Shuffling in place on device memory.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/in_place/in_place.hpp"
#include "algorithms/shuffle/partition/cuda/workspace.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

class InPlaceWorkspace {
 public:
  //! Allocates for up to n items: a chunk, the buffer of the exchange and tables. `chunk` is for
  //! tests.
  //! @throws std::invalid_argument for n over kMaxItems and for items of other than 4 and 8 bytes.
  void Prepare(std::uint64_t n, std::size_t item_bytes, std::uint64_t chunk = kInPlaceChunk);

  //! Shuffles n items from `in` to `out`, which are one array or do not overlap; the same order as
  //! ShuffleByExchange. Waits for the stream once, when the sizes of the segments are known. Item
  //! is uint32_t or uint64_t.
  //! @throws std::invalid_argument for more items than were prepared.
  template <class Item>
  void Shuffle(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed, cudaStream_t stream);
  //! The same where the items are.
  template <class Item>
  void Shuffle(Item* items, std::uint64_t n, std::uint64_t seed, cudaStream_t stream) {
    Shuffle(static_cast<const Item*>(items), items, n, seed, stream);
  }

  //! Bytes of device memory in use beside the items.
  std::uint64_t bytes() const { return free_before_ - free_after_; }

 private:
  PartitionWorkspace partition_;
  DeviceArray<std::byte> buffer_;
  DeviceArray<std::uint32_t> starts_;
  DeviceArray<Holding> holdings_;
  std::uint64_t free_before_ = 0, free_after_ = 0;
  std::uint64_t most_ = 0, chunk_ = kInPlaceChunk;  // as prepared
};

}  // namespace retable::shuffle

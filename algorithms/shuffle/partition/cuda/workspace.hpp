#pragma once
//! @file
//! The partition shuffle on device memory: workspace and launches, for the methods built on it.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "algorithms/shuffle/partition/partition.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {

struct LevelShape;
struct PhiloxRounds;

class PartitionWorkspace {
 public:
  //! Allocates for shuffles of up to n items: n items when there are two levels (n > 6620 * 572),
  //! counts (half a word a tile and digit), and 12 MiB aside. @throws std::invalid_argument for n >
  //! kMaxPartition.
  void Prepare(std::uint64_t n, std::size_t item_bytes);

  //! Enqueues up to nine kernels. in == nullptr shuffles {0..n-1} and reads nothing for it.
  //! Item is uint32_t or uint64_t. in == out is possible when there are two levels.
  //! Prepares first, which allocates nothing when that was done.
  template <class Item>
  void Enqueue(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed, cudaStream_t stream);

  //! Enqueues one level on its own: splits n items stably by the digits of `stream` from slot
  //! 256 first_group on, {0..digits-1}; part d is out[starts[d]], ...; starts has digits + 1
  //! entries of device memory. Prepare must have been called for at least n.
  template <class Item>
  void EnqueueSplit(const Item* in, Item* out, std::uint64_t n, std::uint32_t digits,
                    std::uint64_t seed, std::uint64_t stream_of_digits, std::uint64_t first_group,
                    std::uint32_t* starts, cudaStream_t stream);

  //! The memory between two levels, and room for so much of it however few levels there are.
  void* between() const { return between_.data(); }
  void ReserveBetween(std::uint64_t bytes) { between_.Reserve(bytes); }

  //! Treats in-memory buckets over this size as too large for shared memory. For tests of that
  //! path.
  void LimitInMemory(std::uint32_t capacity) { capacity_ = capacity; }

 private:
  void Reserve(const LevelShape& shape);
  void FindStarts(const LevelShape& shape, const PhiloxRounds& random, std::uint32_t* starts,
                  cudaStream_t stream);
  template <class Item>
  void Scatter(const LevelShape& shape, const PhiloxRounds& random, const Item* in, Item* out,
               const std::uint32_t* starts, cudaStream_t stream);

  DeviceArray<std::uint16_t> before_;
  DeviceArray<std::uint32_t> counts_, totals_, starts_, in_memory_starts_, used_, aside_order_;
  DeviceArray<std::uint64_t> aside_;
  DeviceArray<std::byte> between_;  // n items between two levels
  std::uint32_t capacity_ = kInMemoryCapacity;
  bool lanes_in_order_ = false;
};

}  // namespace retable::shuffle

#pragma once
//! @file
//! The partition shuffle on device memory: workspace and launches, for the methods built on it.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "algorithms/shuffle/partition.hpp"

namespace retable::shuffle {

//! The largest n on a GPU; places are kept in 32 bits.
inline constexpr std::uint64_t kMaxDevicePartition = kMaxPartition;

struct LevelShape;

class PartitionWorkspace {
 public:
  PartitionWorkspace();
  ~PartitionWorkspace();

  //! Allocates for shuffles of up to n items: n items when there are two levels (n > 8200 * 2^9),
  //! some MiB for counts, and 8 MiB aside. @throws std::invalid_argument for n >
  //! kMaxDevicePartition.
  void Prepare(std::uint64_t n, std::size_t item_bytes);

  //! Enqueues up to nine kernels. in == nullptr shuffles {0..n-1} and reads nothing for it.
  //! Addresses are 16-byte aligned. Item is uint32_t or uint64_t.
  template <class Item>
  void Enqueue(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed, cudaStream_t stream);

  //! Treats leaves over this size as too large for shared memory. For tests of that path.
  void LimitLeaves(std::uint32_t capacity) { capacity_ = capacity; }

  //! Called after each phase was enqueued ("count", "scan", "scatter", "leaf"), to time them.
  void OnPhase(std::function<void(const char*)> mark) { mark_ = std::move(mark); }

 private:
  struct Arrays;
  void Mark(const char* phase) const {
    if (mark_) mark_(phase);
  }
  template <class Item>
  void EnqueueLevel(const LevelShape& shape, const Philox4x32& random, const Item* in, Item* out,
                    std::uint32_t* starts, cudaStream_t stream);

  std::unique_ptr<Arrays> arrays_;
  std::uint32_t capacity_ = kLeafCapacity;
  std::function<void(const char*)> mark_;
};

}  // namespace retable::shuffle

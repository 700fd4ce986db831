//! @file
//! SortShuffle and sort + islands on the GPU, by CUB's radix sort.
//!
//! Keys are counter-based (one Philox call for two), so that they are not slowed by setting up a
//! generator a thread, as those of the authors' program are. SortShuffle sorts all 64 bits
//! (Mitchell et al. 2022, section 6); sort + islands sorts only as many as PyTorch's randperm would
//! and then shuffles each run of equal keys in order. Items of 16 bytes are sorted as indices and
//! gathered.

#include <cub/device/device_radix_sort.cuh>

#include <memory>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/gather.cuh"
#include "algorithms/shuffle/items.hpp"
#include "base/cuda/memory.hpp"
#include "baselines/shuffle/island_bits.hpp"

namespace retable::shuffle {
namespace {

constexpr int kThreads = 256;

__global__ void DrawKeys(Philox4x32 random, int bits, std::uint64_t* keys, std::uint64_t n) {
  const std::uint64_t pair = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (2 * pair >= n) return;
  const PhiloxBlock block = random.Block(pair, kSortStream);
  keys[2 * pair] = block.half(0) >> (64 - bits);
  if (2 * pair + 1 < n) keys[2 * pair + 1] = block.half(1) >> (64 - bits);
}

__global__ void Identity(std::uint32_t* index, std::uint64_t n) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i < n) index[i] = static_cast<std::uint32_t>(i);
}

// The first slot of each run of equal keys shuffles the run (Fisher and Yates).
template <class Item>
__global__ void ShuffleIslands(Philox4x32 random, const std::uint64_t* keys, Item* items,
                               std::uint64_t n) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i + 1 >= n || keys[i] != keys[i + 1] || (i > 0 && keys[i - 1] == keys[i])) return;
  for (std::uint64_t k = 1; i + k < n && keys[i + k] == keys[i]; ++k) {
    const std::uint64_t at = i + UniformBelow(random.Block(i + k, kSwapStream).half(0), k + 1);
    const Item other = items[at];
    items[at] = items[i + k];
    items[i + k] = other;
  }
}

class CudaSort final : public CudaShuffler {
 public:
  explicit CudaSort(bool islands) : islands_(islands) {}

  void prepare(std::uint64_t n, std::size_t item_bytes) override {
    if (n > 0xFFFFFFFFull) throw std::invalid_argument("SortShuffle takes up to 2^32 - 1 items");
    keys_.Reserve(n);
    sorted_.Reserve(n);
    if (item_bytes == 16) {
      index_.Reserve(n);
      order_.Reserve(n);
    }
    std::size_t bytes = 0;
    if (item_bytes == 8) {
      Sort<std::uint64_t>(nullptr, bytes, nullptr, nullptr, n, nullptr);
    } else {
      Sort<std::uint32_t>(nullptr, bytes, nullptr, nullptr, n, nullptr);
    }
    temporary_.Reserve(bytes);
  }

  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    const Philox4x32 random = Philox4x32::FromSeed(seed);
    DrawKeys<<<Blocks((n + 1) / 2), kThreads, 0, stream>>>(random, Bits(n), keys_.data(), n);
    if (item_bytes == 8) {
      Shuffle(random, static_cast<const std::uint64_t*>(in), static_cast<std::uint64_t*>(out), n,
              stream);
    } else if (item_bytes == 4) {
      Shuffle(random, static_cast<const std::uint32_t*>(in), static_cast<std::uint32_t*>(out), n,
              stream);
    } else {
      Identity<<<Blocks(n), kThreads, 0, stream>>>(index_.data(), n);
      Shuffle(random, static_cast<const std::uint32_t*>(index_.data()), order_.data(), n, stream);
      EnqueueGather<kThreads, 1>(StoredIndices{order_.data()}, static_cast<const Item16*>(in),
                                 static_cast<Item16*>(out), n, stream);
    }
    CheckCuda(cudaGetLastError(), "SortShuffle");
  }

 private:
  static unsigned Blocks(std::uint64_t n) {
    return static_cast<unsigned>((n + kThreads - 1) / kThreads);
  }
  int Bits(std::uint64_t n) const { return islands_ ? IslandKeyBits(n) : 64; }

  template <class Item>
  void Sort(void* temporary, std::size_t& bytes, const Item* in, Item* out, std::uint64_t n,
            cudaStream_t stream) {
    CheckCuda(
        cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_.data(), sorted_.data(), in, out,
                                        static_cast<std::int64_t>(n), 0, Bits(n), stream),
        "SortPairs");
  }

  template <class Item>
  void Shuffle(const Philox4x32& random, const Item* in, Item* out, std::uint64_t n,
               cudaStream_t stream) {
    std::size_t bytes = temporary_.size();
    Sort(temporary_.data(), bytes, in, out, n, stream);
    if (islands_)
      ShuffleIslands<<<Blocks(n), kThreads, 0, stream>>>(random, sorted_.data(), out, n);
  }

  bool islands_;
  DeviceArray<std::uint64_t> keys_, sorted_;
  DeviceArray<std::uint32_t> index_, order_;
  DeviceArray<char> temporary_;
};

RETABLE_REGISTER(Shuffler, sort_shuffle,
                 {.name = "SortShuffle", .device = Device::kCuda, .make = [](const Parameters&) {
                    return std::make_unique<CudaSort>(false);
                  }});

RETABLE_REGISTER(Shuffler, sort_islands,
                 {.name = "SortIslands", .device = Device::kCuda, .make = [](const Parameters&) {
                    return std::make_unique<CudaSort>(true);
                  }});

}  // namespace
}  // namespace retable::shuffle

//! @file
//! thrust::shuffle_copy of CCCL: the paper's method as shipped with CUDA, the peer to beat.
//!
//! The engine is thrust::default_random_engine seeded by the seed. Thrust allocates its temporary
//! storage inside the call; a caching allocator keeps that out of the time after the first call.

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/random.h>
#include <thrust/shuffle.h>

#include <map>
#include <memory>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/items.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

// Keeps freed blocks by size for the next call.
class CachingAllocator {
 public:
  using value_type = char;
  char* allocate(std::ptrdiff_t bytes) {
    const auto found = free_.find(bytes);
    if (found != free_.end()) {
      char* block = found->second;
      free_.erase(found);
      return block;
    }
    char* block = nullptr;
    CheckCuda(cudaMalloc(reinterpret_cast<void**>(&block), static_cast<std::size_t>(bytes)),
              "cudaMalloc");
    sizes_[block] = bytes;
    return block;
  }
  void deallocate(char* block, std::size_t) { free_.emplace(sizes_.at(block), block); }
  ~CachingAllocator() {
    for (const auto& [block, bytes] : sizes_) cudaFree(block);
  }

 private:
  std::multimap<std::ptrdiff_t, char*> free_;
  std::map<char*, std::ptrdiff_t> sizes_;
};

class ThrustShuffle final : public CudaShuffler {
 public:
  void prepare(std::uint64_t n, std::size_t) override {
    if (n > kMaxItems) throw std::invalid_argument("thrust takes up to 2^36 items here");
  }
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    thrust::default_random_engine engine(static_cast<std::uint32_t>(seed ^ (seed >> 32)) | 1u);
    WithItemType(item_bytes, [&](auto item) {
      using Item = decltype(item);
      const auto first = thrust::device_pointer_cast(static_cast<const Item*>(in));
      thrust::shuffle_copy(thrust::cuda::par_nosync(allocator_).on(stream), first,
                           first + static_cast<std::ptrdiff_t>(n),
                           thrust::device_pointer_cast(static_cast<Item*>(out)), engine);
    });
  }

 private:
  CachingAllocator allocator_;
};

RETABLE_REGISTER(Shuffler, thrust,
                 {.name = "thrust",
                  .device = Device::kCuda,
                  .summary = "thrust::shuffle_copy: VariablePhilox, 24 rounds, with a scan",
                  .citation = "NVIDIA CCCL, after Mitchell et al. 2022",
                  .parameters = {},
                  .make = [](const Parameters&) { return std::make_unique<ThrustShuffle>(); }});

}  // namespace
}  // namespace retable::shuffle

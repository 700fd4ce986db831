//! @file
//! "Partition" on the GPU behind the family's contract.
//!
//! Items of 4 and 8 bytes are partitioned. Items of 16 bytes do not fit an in-memory bucket into
//! shared memory; their order is made as 32-bit indices (nothing is read for them in the first
//! pass) and then gathered, which wastes little of a memory sector at that size. More items than
//! two levels split are split into chunks and exchanged (in_place/in_place.hpp): those of 4 and 8
//! bytes.

#include <memory>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/gather.cuh"
#include "algorithms/shuffle/in_place/workspace.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/partition/cuda/workspace.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

class CudaPartition final : public CudaShuffler {
 public:
  void prepare(std::uint64_t n, std::size_t item_bytes) override {
    if (n > kMaxPartition) return by_exchange_.Prepare(n, item_bytes, kExchangeChunk);
    workspace_.Prepare(n, item_bytes == 8 ? 8 : 4);
    if (item_bytes == 16) index_.Reserve(n);
  }

  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    const auto shuffle = [&]<class Item>(const Item* from, Item* to) {
      if (n <= kMaxPartition) return workspace_.Enqueue(from, to, n, seed, stream);
      by_exchange_.Shuffle(from, to, n, seed, stream);
    };
    if (item_bytes == 4) {
      shuffle(static_cast<const std::uint32_t*>(in), static_cast<std::uint32_t*>(out));
    } else if (item_bytes == 8) {
      shuffle(static_cast<const std::uint64_t*>(in), static_cast<std::uint64_t*>(out));
    } else {
      std::uint32_t* index = index_.Reserve(n);
      workspace_.Enqueue(static_cast<const std::uint32_t*>(nullptr), index, n, seed, stream);
      EnqueueGather<256, 4>(StoredIndices{index}, static_cast<const Item16*>(in),
                            static_cast<Item16*>(out), n, stream);
    }
  }

 private:
  PartitionWorkspace workspace_;
  InPlaceWorkspace by_exchange_;
  DeviceArray<std::uint32_t> index_;
};

RETABLE_REGISTER(Shuffler, partition,
                 {.name = "Partition", .device = Device::kCuda, .make = [](const Parameters&) {
                    return std::make_unique<CudaPartition>();
                  }});

}  // namespace
}  // namespace retable::shuffle

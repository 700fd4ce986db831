//! @file
//! The random gather on the GPU, index computed or stored: the stated bound of the paper.

#include <memory>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/gather.cuh"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/reference/gather_index.hpp"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

class CudaGather final : public CudaShuffler {
 public:
  explicit CudaGather(bool stored) : stored_(stored) {}

  void prepare(std::uint64_t n, std::size_t) override {
    if (stored_) index_.Reserve(n);
  }

  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    const GatherIndex index = MakeGatherIndex(n, seed);
    if (stored_ && (stored_n_ != n || stored_seed_ != seed)) {
      const auto blocks = static_cast<unsigned>((n + kReferenceThreads - 1) / kReferenceThreads);
      StoreValues<kReferenceThreads>
          <<<blocks, kReferenceThreads, 0, stream>>>(index, index_.data(), n);
      CheckCuda(cudaGetLastError(), "StoreValues");
      stored_n_ = n;
      stored_seed_ = seed;
    }
    const auto gather = [&](const auto& by) {
      WithItems(in, out, item_bytes, [&](const auto* source, auto* target) {
        if (n < Tuned(kReferenceManyItems)) {
          EnqueueGather<kReferenceThreads, 1>(by, source, target, n, stream);
        } else {
          EnqueueGather<kReferenceThreads, 4>(by, source, target, n, stream);
        }
      });
    };
    stored_ ? gather(StoredIndices{index_.data()}) : gather(index);
  }

 private:
  bool stored_;
  DeviceArray<std::uint32_t> index_;
  std::uint64_t stored_n_ = 0, stored_seed_ = 0;
};

RETABLE_REGISTER(Shuffler, gather,
                 {.name = "Gather",
                  .device = Device::kCuda,
                  .parameters = {{"stored", false, "read the index from an array of 32-bit words"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<CudaGather>(SwitchParameter(p, "stored", false));
                  }});

}  // namespace
}  // namespace retable::shuffle

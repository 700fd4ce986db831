//! @file
//! "Shuffle" on the GPU.

#include "algorithms/shuffle/auto.hpp"

#include <memory>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/rectangle/cuda_gather.hpp"
#include "algorithms/shuffle/split_rectangle/workspace.hpp"

namespace retable::shuffle {
namespace {

class CudaAuto final : public CudaShuffler {
 public:
  void prepare(std::uint64_t n, std::size_t item_bytes) override {
    TakesSplit(n, item_bytes) ? split_.Prepare(n, item_bytes) : rectangle_.Prepare(n);
  }
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    TakesSplit(n, item_bytes) ? split_.Enqueue(in, out, n, item_bytes, seed, stream)
                              : rectangle_.Enqueue(in, out, n, item_bytes, seed, stream);
  }

 private:
  SplitRectangleWorkspace split_;
  FeistelGather rectangle_;
};

RETABLE_REGISTER(Shuffler, best,
                 {.name = "Shuffle",
                  .device = Device::kCuda,
                  .summary = "rectangle cipher; past the cache within the buckets of a split",
                  .citation = "ours",
                  .parameters = {},
                  .make = [](const Parameters&) { return std::make_unique<CudaAuto>(); }});

}  // namespace
}  // namespace retable::shuffle

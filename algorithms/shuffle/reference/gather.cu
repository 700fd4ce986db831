//! @file
//! The random gather on the GPU, index computed or stored: the stated bound of the paper.

#include <memory>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/reference/gather_index.hpp"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

__global__ void StoreIndex(GatherIndex index, std::uint32_t* stored, std::uint64_t n) {
  const std::uint64_t j = blockIdx.x * std::uint64_t{kReferenceThreads} + threadIdx.x;
  if (j < n) stored[j] = static_cast<std::uint32_t>(index(j));
}

// kEach independent loads a thread before the first use.
template <int kEach, bool kStored, class Item>
__global__ void GatherKernel(GatherIndex index, const std::uint32_t* __restrict__ stored,
                             const Item* __restrict__ in, Item* __restrict__ out, std::uint64_t n) {
  const std::uint64_t first = blockIdx.x * std::uint64_t{kReferenceThreads * kEach} + threadIdx.x;
  Item value[kEach];
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint64_t j = first + e * kReferenceThreads;
    if (j < n) value[e] = in[kStored ? stored[j] : index(j)];
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint64_t j = first + e * kReferenceThreads;
    if (j < n) out[j] = value[e];
  }
}

template <int kEach, bool kStored, class Item>
void Launch(const GatherIndex& index, const std::uint32_t* stored, const void* in, void* out,
            std::uint64_t n, cudaStream_t stream) {
  const std::uint64_t blocks = (n + kReferenceThreads * kEach - 1) / (kReferenceThreads * kEach);
  GatherKernel<kEach, kStored, Item>
      <<<static_cast<unsigned>(blocks), kReferenceThreads, 0, stream>>>(
          index, stored, static_cast<const Item*>(in), static_cast<Item*>(out), n);
  CheckCuda(cudaGetLastError(), "GatherKernel");
}

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
      StoreIndex<<<static_cast<unsigned>((n + kReferenceThreads - 1) / kReferenceThreads),
                   kReferenceThreads, 0, stream>>>(index, index_.data(), n);
      CheckCuda(cudaGetLastError(), "StoreIndex");
      stored_n_ = n;
      stored_seed_ = seed;
    }
    WithItemType(item_bytes, [&](auto item) {
      using Item = decltype(item);
      const bool small = n < Tuned(kReferenceManyItems);
      if (stored_) {
        small ? Launch<1, true, Item>(index, index_.data(), in, out, n, stream)
              : Launch<4, true, Item>(index, index_.data(), in, out, n, stream);
      } else {
        small ? Launch<1, false, Item>(index, nullptr, in, out, n, stream)
              : Launch<4, false, Item>(index, nullptr, in, out, n, stream);
      }
    });
  }

 private:
  bool stored_;
  DeviceArray<std::uint32_t> index_;
  std::uint64_t stored_n_ = 0, stored_seed_ = 0;
};

RETABLE_REGISTER(Shuffler, gather,
                 {.name = "Gather",
                  .device = Device::kCuda,
                  .summary = "random gather (computed or stored index): a bound, not a shuffle",
                  .citation = "Mitchell et al. 2022, section 6",
                  .parameters = {{"stored", false, "read the index from an array of 32-bit words"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<CudaGather>(SwitchParameter(p, "stored", false));
                  }});

}  // namespace
}  // namespace retable::shuffle

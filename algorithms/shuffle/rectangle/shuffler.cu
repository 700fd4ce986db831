//! @file
//! "Rectangle" on the GPU: a plain gather whose index is the cipher's. No scan, no workspace.

#include "algorithms/shuffle/rectangle/generalised_feistel.hpp"

#include <memory>

#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/tuning.cuh"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

// The parameters lie as they are read: what all of the first 64 bytes of constants hold, then the
// keys. Each further line that a launch reads costs it a tenth of a microsecond.
template <int kHalfRounds, int kEach, bool kEnds, class Item>
__global__ void __launch_bounds__(kFeistelThreads)
    GatherFeistel(const Item* __restrict__ in, Item* __restrict__ out,
                  const __grid_constant__ WalkEnds ends,
                  const __grid_constant__ FeistelCipher cipher) {
  const auto walk = [&](std::uint32_t x) {
    if constexpr (!kEnds) return cipher.CycleWalk<kHalfRounds>(x);
    const std::uint32_t y = cipher.Encrypt<kHalfRounds>(x);
    return y < cipher.n ? y : ends.end[y - cipher.n];
  };
  const std::uint32_t first = blockIdx.x * (kFeistelThreads * kEach) + threadIdx.x;
  Item value[kEach];
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint32_t j = first + e * kFeistelThreads;
    if (j < cipher.n) value[e] = in[walk(j)];
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint32_t j = first + e * kFeistelThreads;
    if (j < cipher.n) out[j] = value[e];
  }
}

class CudaRectangle final : public CudaShuffler {
 public:
  // The sides are kept from call to call: finding them takes the host longer than the rest of a
  // launch.
  void prepare(std::uint64_t n, std::size_t) override {
    if (n == n_) return;
    cipher_ = MakeFeistelCipher(n, 0);
    n_ = n;
  }

  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    prepare(n, item_bytes);
    SetKeys(cipher_, seed);
    WalkEnds ends;
    const bool few = n < Tuned(kFeistelManyItems);
    const bool few_ends = few && FindWalkEnds(cipher_, ends);
    WithItems(in, out, item_bytes, [&]<class Item>(const Item* source, Item* target) {
      const auto launch = [&](auto* kernel, unsigned each) {
        const auto blocks =
            static_cast<unsigned>((n + kFeistelThreads * each - 1) / (kFeistelThreads * each));
        kernel<<<blocks, kFeistelThreads, 0, stream>>>(source, target, ends, cipher_);
      };
      if (cipher_.half_rounds == 14) {
        few_ends ? launch(GatherFeistel<14, 1, true, Item>, 1)
                 : launch(GatherFeistel<14, 1, false, Item>, 1);
      } else if (few) {
        few_ends ? launch(GatherFeistel<12, 1, true, Item>, 1)
                 : launch(GatherFeistel<12, 1, false, Item>, 1);
      } else {
        launch(GatherFeistel<12, 4, false, Item>, 4);
      }
    });
    CheckCuda(cudaGetLastError(), "GatherFeistel");
  }

 private:
  std::uint64_t n_ = 0;
  FeistelCipher cipher_;
};

RETABLE_REGISTER(Shuffler, rectangle,
                 {.name = "Rectangle", .device = Device::kCuda, .make = [](const Parameters&) {
                    return std::make_unique<CudaRectangle>();
                  }});

}  // namespace
}  // namespace retable::shuffle

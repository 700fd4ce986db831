//! @file
//! "Rectangle" on the GPU: a plain gather whose index is the cipher's. No scan, no workspace.

#include "algorithms/shuffle/rectangle.hpp"

#include <memory>

#include "algorithms/common/cuda_memory.hpp"
#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/rectangle_device.hpp"

namespace retable::shuffle {
namespace {

constexpr int kThreads = 256;

template <int kHalfRounds, int kEach, class Item>
__global__ void __launch_bounds__(kThreads)
    GatherRectangle(const RectangleCipher cipher, const Item* __restrict__ in,
                    Item* __restrict__ out) {
  const std::uint32_t first = blockIdx.x * (kThreads * kEach) + threadIdx.x;
  Item value[kEach];
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint32_t j = first + e * kThreads;
    if (j < cipher.n) value[e] = in[cipher.Walk<kHalfRounds>(j)];
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint32_t j = first + e * kThreads;
    if (j < cipher.n) out[j] = value[e];
  }
}

}  // namespace

void EnqueueRectangle(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                      std::uint64_t seed, cudaStream_t stream) {
  const RectangleCipher cipher = MakeRectangleCipher(n, seed);
  WithItemType(item_bytes, [&](auto item) {
    using Item = decltype(item);
    const Item* source = static_cast<const Item*>(in);
    Item* target = static_cast<Item*>(out);
    const auto blocks = [&](int each) {
      return static_cast<unsigned>((n + kThreads * static_cast<unsigned>(each) - 1) /
                                   (kThreads * static_cast<unsigned>(each)));
    };
    if (cipher.half_rounds == 24) {
      GatherRectangle<24, 1><<<blocks(1), kThreads, 0, stream>>>(cipher, source, target);
    } else if (n < (1u << 20)) {
      GatherRectangle<12, 1><<<blocks(1), kThreads, 0, stream>>>(cipher, source, target);
    } else {
      GatherRectangle<12, 4><<<blocks(4), kThreads, 0, stream>>>(cipher, source, target);
    }
  });
  CheckCuda(cudaGetLastError(), "GatherRectangle");
}

namespace {

class CudaRectangle final : public CudaShuffler {
 public:
  void prepare(std::uint64_t n, std::size_t) override { MakeRectangleCipher(n, 0); }
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    EnqueueRectangle(in, out, n, item_bytes, seed, stream);
  }
};

RETABLE_REGISTER(Shuffler, rectangle,
                 {.name = "Rectangle",
                  .device = Device::kCuda,
                  .summary = "Feistel network on an a x b rectangle barely over n; no scan",
                  .citation = "ours, after Black and Rogaway 2002",
                  .parameters = {},
                  .make = [](const Parameters&) { return std::make_unique<CudaRectangle>(); }});

}  // namespace
}  // namespace retable::shuffle

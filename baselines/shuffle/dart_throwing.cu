//! @file
//! Dart throwing on the GPU: items compete for 2n places by atomic exchange, then the table is
//! compacted.
//!
//! Random places are counter-based unless `rng` is "curand", the way of the authors' program: one
//! XORWOW generator a thread, set up by skipping ahead to its sub-sequence. Not deterministic:
//! whoever comes first wins a place. Source: Mitchell et al. 2022, section 6.

#include <curand_kernel.h>

#include <memory>

#include "algorithms/shuffle/bijective/kernels.cuh"
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/items.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

constexpr int kThreads = 256;
constexpr std::uint32_t kFree = 0xFFFFFFFFu;

template <class Throw>
__device__ void Place(std::uint32_t* table, std::uint32_t item, Throw&& next) {
  while (atomicCAS(&table[next()], kFree, item) != kFree) {
  }
}

__global__ void ThrowCounter(Philox4x32 random, std::uint32_t* table, std::uint64_t n) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i >= n) return;
  std::uint64_t t = 0;
  Place(table, static_cast<std::uint32_t>(i),
        [&] { return UniformBelow(random.Block(i, kDartStream + (t++ << 8)).half(0), 2 * n); });
}

__global__ void ThrowCurand(std::uint64_t seed, std::uint32_t* table, std::uint64_t n) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x;
  if (i >= n) return;
  curandState_t state;
  curand_init(seed, i, 0, &state);
  Place(table, static_cast<std::uint32_t>(i), [&] {
    const std::uint64_t high = curand(&state);
    return UniformBelow((high << 32) | curand(&state), 2 * n);
  });
}

class CudaDarts final : public CudaShuffler {
 public:
  explicit CudaDarts(const std::string& rng) : curand_(rng == "curand") {
    if (!curand_ && rng != "philox") throw std::invalid_argument("rng is \"philox\" or \"curand\"");
  }
  bool deterministic() const override { return false; }
  void prepare(std::uint64_t n, std::size_t) override {
    if (n > 0x7FFFFFFFull) throw std::invalid_argument("DartThrowing takes up to 2^31 - 1 items");
    table_.Reserve(2 * n);
    counts_.Reserve(2 * n / kBijectTile + 1);
  }
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
    const auto tiles = static_cast<unsigned>((2 * n + kBijectTile - 1) / kBijectTile);
    CheckCuda(cudaMemsetAsync(table_.data(), 0xFF, 2 * n * sizeof(std::uint32_t), stream),
              "cudaMemsetAsync");
    if (curand_) {
      ThrowCurand<<<blocks, kThreads, 0, stream>>>(seed, table_.data(), n);
    } else {
      ThrowCounter<<<blocks, kThreads, 0, stream>>>(Philox4x32::FromSeed(seed), table_.data(), n);
    }
    // A free place is no item's number: the filled ones close up as values of a bijection do.
    const StoredValues filled{table_.data(), 2 * n};
    CountValid<<<tiles, kBijectThreads, 0, stream>>>(filled, n, 2 * n, counts_.data());
    ScanCounts<<<1, 1024, 0, stream>>>(counts_.data(), tiles);
    WithItemType(item_bytes, [&](auto item) {
      using Item = decltype(item);
      GatherValid<<<tiles, kBijectThreads, 0, stream>>>(
          filled, static_cast<const Item*>(in), static_cast<Item*>(out), n, 2 * n, counts_.data());
    });
    CheckCuda(cudaGetLastError(), "DartThrowing");
  }

 private:
  bool curand_;
  DeviceArray<std::uint32_t> table_, counts_;
};

RETABLE_REGISTER(Shuffler, dart_throwing,
                 {.name = "DartThrowing",
                  .device = Device::kCuda,
                  .parameters = {{"rng", std::string("philox"),
                                  "philox (counter-based) or curand (the authors')"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<CudaDarts>(TextParameter(p, "rng", "philox"));
                  }});

}  // namespace
}  // namespace retable::shuffle

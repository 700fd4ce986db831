//! @file
//! Dart throwing on the GPU: items compete for 2n places by atomic exchange, then the table is
//! compacted.
//!
//! Random places are counter-based unless `rng` is "curand", the way of the authors' program: one
//! XORWOW generator a thread, set up by skipping ahead to its sub-sequence. Not deterministic:
//! whoever comes first wins a place. Source: Mitchell et al. 2022, section 6.

#include <curand_kernel.h>

#include <memory>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/cuda_shuffler.hpp"
#include "algorithms/shuffle/items.hpp"
#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 8;
constexpr std::uint32_t kTile = kThreads * kEach;
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

__device__ std::uint32_t CountTile(const std::uint32_t* table, std::uint64_t places,
                                   std::uint32_t (&items)[kEach], std::uint32_t (&valid)[kEach],
                                   std::uint32_t* warps, std::uint32_t& before) {
  const std::uint64_t first =
      blockIdx.x * std::uint64_t{kTile} + (threadIdx.x >> 5) * (32 * kEach) + (threadIdx.x & 31);
  std::uint32_t count = 0, total = 0;
  for (int e = 0; e < kEach; ++e) {
    items[e] = first + e * 32 < places ? table[first + e * 32] : kFree;
    valid[e] = __ballot_sync(0xFFFFFFFFu, items[e] != kFree);
    count += __popc(valid[e]);
  }
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = count;
  __syncthreads();
  before = 0;
  for (unsigned w = 0; w < kThreads / 32; ++w) {
    if (w < threadIdx.x >> 5) before += warps[w];
    total += warps[w];
  }
  return total;
}

__global__ void CountFilled(const std::uint32_t* table, std::uint64_t places,
                            std::uint32_t* counts) {
  __shared__ std::uint32_t warps[kThreads / 32];
  std::uint32_t items[kEach], valid[kEach], before;
  const std::uint32_t total = CountTile(table, places, items, valid, warps, before);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// One block of 1024 threads: exclusive sums in place.
__global__ void ScanFilled(std::uint32_t* counts, std::uint32_t tiles) {
  __shared__ std::uint32_t sums[1024];
  const std::uint32_t each = (tiles + 1023) / 1024;
  const std::uint32_t first = threadIdx.x * each;
  const std::uint32_t last = first + each < tiles ? first + each : tiles;
  std::uint32_t sum = 0;
  for (std::uint32_t t = first; t < last; ++t) sum += counts[t];
  sums[threadIdx.x] = sum;
  for (std::uint32_t d = 1; d < 1024; d *= 2) {
    __syncthreads();
    const std::uint32_t other = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
  }
  std::uint32_t running = sums[threadIdx.x] - sum;
  for (std::uint32_t t = first; t < last; ++t) {
    const std::uint32_t own = counts[t];
    counts[t] = running;
    running += own;
  }
}

template <class Item>
__global__ void CloseUp(const std::uint32_t* table, std::uint64_t places,
                        const std::uint32_t* starts, const Item* in, Item* out) {
  __shared__ std::uint32_t warps[kThreads / 32];
  std::uint32_t items[kEach], valid[kEach], before;
  CountTile(table, places, items, valid, warps, before);
  std::uint64_t at = std::uint64_t{starts[blockIdx.x]} + before;
  const std::uint32_t lane = threadIdx.x & 31;
  for (int e = 0; e < kEach; ++e) {
    if (items[e] != kFree) out[at + __popc(valid[e] & ((1u << lane) - 1))] = in[items[e]];
    at += __popc(valid[e]);
  }
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
    counts_.Reserve(2 * n / kTile + 1);
  }
  void enqueue(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
               std::uint64_t seed, cudaStream_t stream) override {
    const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
    const auto tiles = static_cast<unsigned>((2 * n + kTile - 1) / kTile);
    CheckCuda(cudaMemsetAsync(table_.data(), 0xFF, 2 * n * sizeof(std::uint32_t), stream),
              "cudaMemsetAsync");
    if (curand_) {
      ThrowCurand<<<blocks, kThreads, 0, stream>>>(seed, table_.data(), n);
    } else {
      ThrowCounter<<<blocks, kThreads, 0, stream>>>(Philox4x32::FromSeed(seed), table_.data(), n);
    }
    CountFilled<<<tiles, kThreads, 0, stream>>>(table_.data(), 2 * n, counts_.data());
    ScanFilled<<<1, 1024, 0, stream>>>(counts_.data(), tiles);
    WithItemType(item_bytes, [&](auto item) {
      using Item = decltype(item);
      CloseUp<<<tiles, kThreads, 0, stream>>>(table_.data(), 2 * n, counts_.data(),
                                              static_cast<const Item*>(in),
                                              static_cast<Item*>(out));
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
                  .summary = "throws items at 2n places until free, then compacts them",
                  .citation = "Reif and Miller 1985; Mitchell et al. 2022, section 6",
                  .parameters = {{"rng", std::string("philox"),
                                  "philox (counter-based) or curand (the authors')"}},
                  .make = [](const Parameters& p) {
                    return std::make_unique<CudaDarts>(TextParameter(p, "rng", "philox"));
                  }});

}  // namespace
}  // namespace retable::shuffle

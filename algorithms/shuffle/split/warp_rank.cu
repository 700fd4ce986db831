#include "algorithms/shuffle/split/warp_rank.cuh"

#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "base/cuda/memory.hpp"

namespace retable::shuffle {
namespace {

// Counts the ranks that are out of lane order over many rows of many warps. One block.
template <int kThreads>
__global__ void __launch_bounds__(kThreads) ProbeLaneOrder(std::uint32_t* out_of_order) {
  constexpr int kCounters = kThreads * 2;  // 64 a warp
  __shared__ std::uint32_t count[kCounters];
  const std::uint32_t warp = threadIdx.x >> 5;
  std::uint32_t wrong = 0;
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t c = threadIdx.x; c < kCounters; c += kThreads) count[c] = 0;
    __syncthreads();
    const std::uint32_t digits = row % 64 + 1;
    const std::uint32_t hash = (threadIdx.x + kThreads * row + 1) * 2654435761u;
    std::uint32_t* counter = &count[warp * 64 + (hash >> 16) % digits];
    const std::uint32_t first = RankInWarp<true>(counter, 1, true);
    const std::uint32_t second = RankInWarp<true>(counter, 1, true);
    __syncthreads();
    for (std::uint32_t c = threadIdx.x; c < kCounters; c += kThreads) count[c] = 0;
    __syncthreads();
    wrong += first != RankInWarp<false>(counter, 1, true);
    wrong += second != RankInWarp<false>(counter, 1, true);
    __syncthreads();
  }
  if (wrong > 0) atomicAdd(out_of_order, wrong);
}

}  // namespace

bool ServesLanesInOrder() {
  static std::map<int, bool> known;
  static std::mutex lock;
  const std::lock_guard guard(lock);
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  DeviceArray<std::uint32_t> out_of_order;
  ProbeLaneOrder<512><<<1, 512>>>(out_of_order.Zeros(1));
  std::uint32_t wrong = 0;
  out_of_order.Download(std::span(&wrong, 1));
  return known[device] = wrong == 0;
}

}  // namespace retable::shuffle

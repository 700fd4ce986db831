#pragma once
//! @file
//! Block-wide helpers of the CUDA kernels: an exclusive scan, and bulk loads into shared memory by
//! the copy engine of Hopper (a plain loop elsewhere).

#include <cstdint>

namespace retable::shuffle {

//! Inclusive sum over the first kLanes of a warp's lanes; further lanes get no sum.
template <int kLanes = 32>
__device__ __forceinline__ std::uint32_t InclusiveSumOfWarp(std::uint32_t value) {
  const std::uint32_t lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < kLanes; d *= 2) {
    const std::uint32_t other = __shfl_up_sync(0xFFFFFFFFu, value, d);
    if (lane >= d) value += other;
  }
  return value;
}

//! Exclusive sum over the block's threads, kWarps warps of them. `warps` is kWarps
//! + 1 words of shared memory; the total is left in the last. Contains two barriers; the caller
//! must put one before the next use of `warps`.
template <int kWarps>
__device__ __forceinline__ std::uint32_t ExclusiveSum(std::uint32_t value, std::uint32_t* warps) {
  const std::uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const std::uint32_t sum = InclusiveSumOfWarp(value);
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const std::uint32_t mine = lane < kWarps ? warps[lane] : 0;
    const std::uint32_t total = InclusiveSumOfWarp<kWarps>(mine);
    if (lane < kWarps) warps[lane] = total - mine;
    if (lane == kWarps - 1) warps[kWarps] = total;
  }
  __syncthreads();
  return sum - value + warps[warp];
}

__device__ __forceinline__ std::uint32_t SharedAddress(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

//! A value at an address of shared memory: one addition an access less than through a pointer.
template <class T>
__device__ __forceinline__ T LoadShared(std::uint32_t address) {
  if constexpr (sizeof(T) == 16) {
    T value;
    auto* half = reinterpret_cast<std::uint64_t*>(&value);
    asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];"
                 : "=l"(half[0]), "=l"(half[1])
                 : "r"(address)
                 : "memory");
    return value;
  } else if constexpr (sizeof(T) == 8) {
    std::uint64_t value;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(address) : "memory");
    return static_cast<T>(value);
  } else if constexpr (sizeof(T) == 4) {
    std::uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return static_cast<T>(value);
  } else {
    std::uint16_t value;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
    return static_cast<T>(value);
  }
}
__device__ __forceinline__ void StoreShared(std::uint32_t address, std::uint16_t value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
}
__device__ __forceinline__ void StoreShared(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
//! Adds to a word of shared memory and returns what it was.
__device__ __forceinline__ std::uint32_t AddShared(std::uint32_t address, std::uint32_t value) {
  std::uint32_t old;
  asm volatile("atom.shared.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "r"(address), "r"(value)
               : "memory");
  return old;
}
__device__ __forceinline__ void CountShared(std::uint32_t address) {
  asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address) : "memory");
}

#if __CUDA_ARCH__ >= 900
inline constexpr bool kBulkCopies = true;
#else
inline constexpr bool kBulkCopies = false;
#endif

//! Loads runs of items into shared memory. All threads of the block call each function; with
//! kBulkCopies the first two warps are enough to start a load.
//! On compute capability 9.0 one thread hands the aligned middle to the copy engine, so that the
//! others go on with work that needs no data yet.
template <class Item>
struct BulkLoad {
  std::uint64_t* barrier;   //!< one 8-byte word of shared memory
  std::uint32_t phase = 0;  //!< loads waited for so far
  std::uint32_t shift = 0;  //!< item i of the last load lies at buffer[shift + i]

  //! Once, before the first load; a __syncthreads must follow.
  __device__ void Init() {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(barrier))
                   : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#endif
  }

  //! Starts loading m items; `buffer` is 16-byte aligned, has room for m + 16 / sizeof(Item) items
  //! and must not be in use (a barrier lies between its last use and this). Reads no byte after the
  //! run and at most 15 before it.
  __device__ void Start(const Item* source, std::uint32_t m, Item* buffer) {
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(source);
    const std::uint64_t end = address + std::uint64_t{m} * sizeof(Item);
    const std::uint64_t head = address & ~std::uint64_t{15};
    const std::uint64_t body_end = end & ~std::uint64_t{15};
    shift = static_cast<std::uint32_t>((address - head) / sizeof(Item));
#if __CUDA_ARCH__ >= 900
    const std::uint32_t bytes = body_end > head ? static_cast<std::uint32_t>(body_end - head) : 0;
    if (threadIdx.x == 0) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile(
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
          "r"(bytes)
          : "memory");
      if (bytes > 0) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(SharedAddress(buffer)),
            "l"(head), "r"(bytes), "r"(SharedAddress(barrier))
            : "memory");
      }
    }
    // What is left after the last whole 16 bytes.
    const std::uint64_t rest = body_end > address ? body_end : address;
    const std::uint32_t left = static_cast<std::uint32_t>((end - rest) / sizeof(Item));
    if (threadIdx.x >= 32 && threadIdx.x < 32 + left) {
      const std::uint32_t at =
          static_cast<std::uint32_t>((rest - address) / sizeof(Item)) + threadIdx.x - 32;
      buffer[shift + at] = source[at];
    }
#else
    (void)body_end;
    for (std::uint32_t i = threadIdx.x; i < m; i += blockDim.x) buffer[shift + i] = source[i];
#endif
  }

  //! Waits for the load; a __syncthreads must lie between Start and the first use of the items.
  __device__ void Wait() {
#if __CUDA_ARCH__ >= 900
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, "
          "0, p; }"
          : "=r"(done)
          : "r"(SharedAddress(barrier)), "r"(phase & 1)
          : "memory");
    }
#endif
    ++phase;
  }
};

}  // namespace retable::shuffle

#pragma once
//! @file
//! Kernels of the bijective shuffle in the paper's three fusions (Mitchell et al. 2022, section 6).
//!
//!   fusion 0  evaluate, compact, gather: three separate passes, indices through global memory.
//!   fusion 1  count valid values, scan, evaluate again and gather: two passes over the domain.
//!   fusion 2  one pass: blocks learn what lies before them by decoupled look-back (Merrill and
//!   Garland 2016).
//! When n is the whole domain nothing is dropped: a gather (gather.cuh) without any scan does it.
//! Bytes an item: a random sector read and sizeof(Item) written, plus 8 to 20 for fusion 0.

#include <cstdint>

#include "algorithms/shuffle/bijective/bijection.hpp"
#include "algorithms/shuffle/tuning.cuh"

namespace retable::shuffle {

//! A cipher whose number of rounds is known at compile time.
template <class Cipher, int kRounds>
struct FixedRounds {
  Cipher cipher;
  RETABLE_HD std::uint64_t operator()(std::uint64_t x) const {
    return cipher.template Encrypt<kRounds>(x);
  }
};

//! A warp takes 256 consecutive x; row e of 32 x per step. Returns the valid bits of each row and
//! this warp's count.
template <int kEach, class F>
__device__ __forceinline__ std::uint32_t EvaluateRows(const F& f, std::uint64_t tile,
                                                      std::uint64_t n, std::uint64_t domain,
                                                      std::uint32_t (&source)[kEach],
                                                      std::uint32_t (&valid)[kEach]) {
  const std::uint64_t first =
      tile * (kBijectThreads * kEach) + (threadIdx.x >> 5) * (32 * kEach) + (threadIdx.x & 31);
  std::uint32_t count = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const std::uint64_t x = first + e * 32;
    const std::uint64_t y = f(x);
    source[e] = static_cast<std::uint32_t>(y);
    valid[e] = __ballot_sync(0xFFFFFFFFu, x < domain && y < n);
    count += __popc(valid[e]);
  }
  return count;
}

//! Exclusive sum of the warps' counts in the block; the block's total in `total`. One barrier.
__device__ __forceinline__ std::uint32_t WarpsBefore(std::uint32_t count, std::uint32_t* warps,
                                                     std::uint32_t& total) {
  constexpr int kWarps = kBijectThreads / 32;
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = count;
  __syncthreads();
  std::uint32_t before = 0;
  total = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w < static_cast<int>(threadIdx.x >> 5)) before += warps[w];
    total += warps[w];
  }
  return before;
}

//! out[place...] of the valid rows of a warp.
template <int kEach, class Item>
__device__ __forceinline__ void StoreRows(const Item (&value)[kEach],
                                          const std::uint32_t (&valid)[kEach], std::uint64_t place,
                                          Item* out) {
  const std::uint32_t lane = threadIdx.x & 31, below = (1u << lane) - 1;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if ((valid[e] >> lane) & 1) out[place + __popc(valid[e] & below)] = value[e];
    place += __popc(valid[e]);
  }
}

template <int kEach, class Item>
__device__ __forceinline__ void LoadRows(const Item* in, const std::uint32_t (&source)[kEach],
                                         const std::uint32_t (&valid)[kEach],
                                         Item (&value)[kEach]) {
  const std::uint32_t lane = threadIdx.x & 31;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if ((valid[e] >> lane) & 1) value[e] = in[source[e]];
  }
}

//! State of a tile for look-back: 2 bits of flag, 26 of epoch, 36 of value. The epoch tells this
//! shuffle's words from an older one's, so that nothing is cleared between shuffles. The look-back
//! relies on blocks being started in the order of their numbers, as the hardware does.
struct LookBack {
  unsigned long long* words;
  std::uint32_t epoch;

  static constexpr std::uint64_t kValue = (std::uint64_t{1} << 36) - 1;
  __device__ std::uint64_t Tagged(std::uint64_t flag, std::uint64_t value) const {
    return (flag << 62) | (static_cast<std::uint64_t>(epoch) << 36) | value;
  }
  __device__ void Publish(std::uint64_t tile, std::uint64_t flag, std::uint64_t value) const {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + tile), "l"(Tagged(flag, value))
                 : "memory");
  }
  //! Flag (0 when not yet written) and value.
  __device__ std::uint64_t Read(std::uint64_t tile, std::uint64_t& value) const {
    std::uint64_t word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(words + tile) : "memory");
    value = word & kValue;
    return ((word >> 36) & 0x3FFFFFFu) == epoch ? word >> 62 : 0;
  }
  //! By one warp: the sum over all tiles before this one. Flag 1 is a tile's own count, 2 its
  //! prefix.
  __device__ std::uint64_t Before(std::uint64_t tile) const {
    const std::uint32_t lane = threadIdx.x & 31;
    std::uint64_t sum = 0;
    for (std::int64_t end = static_cast<std::int64_t>(tile); end > 0; end -= 32) {
      const std::int64_t at = end - 1 - lane;
      std::uint64_t value = 0, flag = 2;
      if (at >= 0) {
        while ((flag = Read(static_cast<std::uint64_t>(at), value)) == 0) {
        }
      }
      const std::uint32_t prefixes = __ballot_sync(0xFFFFFFFFu, flag == 2);
      const std::uint32_t last = prefixes == 0 ? 31 : __ffs(prefixes) - 1;
      std::uint64_t part = lane <= last && at >= 0 ? value : 0;
#pragma unroll
      for (int d = 16; d > 0; d /= 2) part += __shfl_down_sync(0xFFFFFFFFu, part, d);
      sum += __shfl_sync(0xFFFFFFFFu, part, 0);
      if (prefixes != 0) break;
    }
    return sum;
  }
};

//! Fusion 2.
template <int kEach, class F, class Item>
__global__ void __launch_bounds__(kBijectThreads)
    ShuffleOnePass(const F f, const Item* __restrict__ in, Item* __restrict__ out, std::uint64_t n,
                   std::uint64_t domain, LookBack look_back) {
  __shared__ std::uint32_t warps[kBijectThreads / 32];
  __shared__ std::uint64_t tile_before;
  const std::uint64_t tile = blockIdx.x;
  std::uint32_t source[kEach], valid[kEach], total;
  const std::uint32_t count = EvaluateRows<kEach>(f, tile, n, domain, source, valid);
  const std::uint32_t before = WarpsBefore(count, warps, total);
  if (threadIdx.x == 0) look_back.Publish(tile, tile == 0 ? 2 : 1, total);
  Item value[kEach];
  LoadRows(in, source, valid, value);
  if (threadIdx.x < 32) {
    const std::uint64_t sum = look_back.Before(tile);
    if (threadIdx.x == 0) {
      if (tile > 0) look_back.Publish(tile, 2, sum + total);
      tile_before = sum;
    }
  }
  __syncthreads();
  StoreRows(value, valid, tile_before + before, out);
}

//! Fusion 1, first pass: valid values of each tile.
template <class F>
__global__ void __launch_bounds__(kBijectThreads)
    CountValid(const F f, std::uint64_t n, std::uint64_t domain, std::uint32_t* counts) {
  __shared__ std::uint32_t warps[kBijectThreads / 32];
  std::uint32_t source[kBijectEach], valid[kBijectEach], total;
  WarpsBefore(EvaluateRows<kBijectEach>(f, blockIdx.x, n, domain, source, valid), warps, total);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

//! Exclusive sums of the tiles' counts, in place. One block of 1024.
__global__ void ScanCounts(std::uint32_t* counts, std::uint32_t tiles);

//! Fusion 1, second pass.
template <class F, class Item>
__global__ void __launch_bounds__(kBijectThreads)
    GatherValid(const F f, const Item* __restrict__ in, Item* __restrict__ out, std::uint64_t n,
                std::uint64_t domain, const std::uint32_t* __restrict__ starts) {
  __shared__ std::uint32_t warps[kBijectThreads / 32];
  std::uint32_t source[kBijectEach], valid[kBijectEach], total;
  const std::uint32_t count = EvaluateRows<kBijectEach>(f, blockIdx.x, n, domain, source, valid);
  const std::uint32_t before = WarpsBefore(count, warps, total);
  Item value[kBijectEach];
  LoadRows(in, source, valid, value);
  StoreRows(value, valid, std::uint64_t{starts[blockIdx.x]} + before, out);
}

//! Stored values as a bijection is one, for the compaction of fusion 0. From `count` on there are
//! none: what it gives is beyond any n.
struct StoredValues {
  const std::uint32_t* values;
  std::uint64_t count;
  __device__ std::uint64_t operator()(std::uint64_t x) const {
    return x < count ? values[x] : ~std::uint64_t{0};
  }
  RETABLE_HD std::uint64_t size() const { return count; }
};

//! The first k valid values, in their order: the compaction of fusion 0, and a sample of k of n.
template <class F, class Index>
__global__ void __launch_bounds__(kBijectThreads)
    WriteValid(const F f, Index* out, std::uint64_t n, std::uint64_t k,
               const std::uint32_t* __restrict__ starts) {
  __shared__ std::uint32_t warps[kBijectThreads / 32];
  std::uint32_t source[kBijectEach], valid[kBijectEach], total;
  const std::uint32_t count = EvaluateRows<kBijectEach>(f, blockIdx.x, n, f.size(), source, valid);
  std::uint64_t place = starts[blockIdx.x] + WarpsBefore(count, warps, total);
  // The last tile ends before the k-th value: an error, once in 10^57 samples.
  if (blockIdx.x + 1 == gridDim.x && std::uint64_t{starts[blockIdx.x]} + total < k) __trap();
  const std::uint32_t lane = threadIdx.x & 31, below = (1u << lane) - 1;
#pragma unroll
  for (int e = 0; e < kBijectEach; ++e) {
    const std::uint64_t at = place + __popc(valid[e] & below);
    if (((valid[e] >> lane) & 1) != 0 && at < k) out[at] = source[e];
    place += __popc(valid[e]);
  }
}

}  // namespace retable::shuffle

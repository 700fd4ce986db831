#include "algorithms/treeshap/interactions/derivative/kernel.cuh"

#include <algorithm>
#include <type_traits>

#include "algorithms/treeshap/interactions/common/tile_kernel.cuh"
#include "algorithms/treeshap/interactions/derivative/interpreter.hpp"
#include "algorithms/treeshap/quadrature/cuda/async_copy.cuh"

namespace retable::treeshap {

namespace {

// What lies beside the tape in shared memory, in groups of four words of a warp: columns of 32
// words: vectors, sums, x of all features.
__host__ __device__ constexpr std::uint32_t WarpGroups(const DerivativeSizes& sizes) {
  return (sizes.columns + sizes.features) * 8;
}

// An address of shared memory that is kept in a register: its making is not repeated at each use.
__device__ __forceinline__ std::uint32_t Kept(const void* at) {
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
  asm volatile("" : "+r"(address));
  return address;
}
template <class T>
__device__ __forceinline__ T& Shared(std::uint32_t address) {
  return *static_cast<T*>(__cvta_shared_to_generic(address));
}

// Begins to copy a part's tape, past the first-level cache, which the stack needs.
__device__ __forceinline__ void CopyTape(Float4* to, const Float4* from, std::uint32_t count) {
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to + i));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + i)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Of a sum, from x.
__device__ __forceinline__ std::uint32_t Slot(std::uint32_t i) {
  return 0u - (i + 1) * derivatives::kColumn;
}

// The memory of a row's lane.
template <int Q>
struct RowMemory {
  static constexpr int kFours = Q / 4;
  static constexpr int kFourBytes = 32 * 16;
  using Half = std::conditional_t<Q % 4 == 0, float4, float2>;
  static constexpr int kHalves = Q * sizeof(float) / sizeof(Half);

  const DerivativeLaunch& p;
  std::uint32_t row;
  bool alive;
  char* below;         // of the row, what other parts left
  std::uint32_t left;  // of the part, first
  const Float4* list;  // shared, the part's sums; its values behind its pairs
  std::uint32_t pairs;
  Half* local;            // the stack
  std::uint32_t x;        // shared, of the lane: its features; sums stand before them
  std::uint32_t vectors;  // shared, of the lane: groups of four words, then of two

  __device__ __forceinline__ explicit RowMemory(const DerivativeLaunch& launch) : p(launch) {}

  __device__ __forceinline__ float X(std::uint32_t bits) const {
    return Shared<float>(x + (bits & tape::kFeatureMask));
  }
  __device__ __forceinline__ float& Sum(std::uint32_t offset) const {
    return Shared<float>(x + offset);
  }

  // Of a vector in memory, shared or not: groups of four words of 32 lanes, then of two.
  static __device__ __forceinline__ void Load(const char* from, float (&d)[Q]) {
#pragma unroll
    for (int v = 0; v < kFours; ++v) {
      const float4 four = *reinterpret_cast<const float4*>(from + v * kFourBytes);
      d[4 * v] = four.x;
      d[4 * v + 1] = four.y;
      d[4 * v + 2] = four.z;
      d[4 * v + 3] = four.w;
    }
    if constexpr (Q % 4 == 2) {
      const float2 two = *reinterpret_cast<const float2*>(from + kTwo());
      d[Q - 2] = two.x;
      d[Q - 1] = two.y;
    }
  }
  static __device__ __forceinline__ void Store(char* to, const float (&d)[Q]) {
#pragma unroll
    for (int v = 0; v < kFours; ++v) {
      *reinterpret_cast<float4*>(to + v * kFourBytes) =
          make_float4(d[4 * v], d[4 * v + 1], d[4 * v + 2], d[4 * v + 3]);
    }
    if constexpr (Q % 4 == 2) {
      *reinterpret_cast<float2*>(to + kTwo()) = make_float2(d[Q - 2], d[Q - 1]);
    }
  }
  static __device__ __forceinline__ int kTwo() {
    return kFours * kFourBytes - static_cast<int>(threadIdx.x % 32 * 8);
  }
  __device__ __forceinline__ void Push(std::uint32_t slot, const float (&g)[Q]) const {
    Half* to = local + slot * kHalves;
#pragma unroll
    for (int v = 0; v < kHalves; ++v) {
      if constexpr (Q % 4 == 0) {
        to[v] = make_float4(g[4 * v], g[4 * v + 1], g[4 * v + 2], g[4 * v + 3]);
      } else {
        to[v] = make_float2(g[2 * v], g[2 * v + 1]);
      }
    }
  }
  __device__ __forceinline__ void Peek(std::uint32_t slot, float (&g)[Q]) const {
    const Half* from = local + slot * kHalves;
#pragma unroll
    for (int v = 0; v < kHalves; ++v) {
      const Half read = from[v];
      constexpr int kWords = Q / kHalves;
      g[kWords * v] = read.x;
      g[kWords * v + 1] = read.y;
      if constexpr (kWords == 4) {
        g[kWords * v + 2] = read.z;
        g[kWords * v + 3] = read.w;
      }
    }
  }
  __device__ __forceinline__ char* At(std::uint32_t offset) const {
    return &Shared<char>(vectors + offset);
  }
  __device__ __forceinline__ void Get(std::uint32_t offset, float (&d)[Q]) const {
    Load(At(offset), d);
  }
  __device__ __forceinline__ void Put(std::uint32_t offset, const float (&d)[Q]) const {
    Store(At(offset), d);
  }
  __device__ __forceinline__ bool InSet(std::uint32_t offset, float value) const {
    return InCategories(p.sets, offset, value);
  }

  // To the sum over all parts.
  __device__ __forceinline__ void AddUp(std::uint32_t i, float value) const {
    if (value == 0 || !alive) return;
    const long long fixed = __float2ll_rn(value * p.scale);
    atomicAdd(p.out + static_cast<std::size_t>(Listed(list, i)) * p.stride + row,
              static_cast<unsigned long long>(fixed));
  }
  __device__ __forceinline__ void Value(std::uint32_t i, float phi) const {
    AddUp(pairs + i, phi);
  }

  __device__ __forceinline__ char* Vector(std::uint32_t number) const {
    return below + static_cast<std::size_t>(number) * p.stride * (Q * sizeof(float));
  }
  // Written by other blocks: not from the first-level cache.
  __device__ __forceinline__ void Below(std::uint32_t number, float (&d)[Q]) const {
    const char* from = Vector(number);
#pragma unroll
    for (int v = 0; v < kFours; ++v) {
      const float4 four = __ldcg(reinterpret_cast<const float4*>(from + v * kFourBytes));
      d[4 * v] = four.x;
      d[4 * v + 1] = four.y;
      d[4 * v + 2] = four.z;
      d[4 * v + 3] = four.w;
    }
    if constexpr (Q % 4 == 2) {
      const float2 two = __ldcg(reinterpret_cast<const float2*>(from + kTwo()));
      d[Q - 2] = two.x;
      d[Q - 1] = two.y;
    }
  }
  __device__ __forceinline__ void Leave(std::uint32_t i, const float (&d)[Q]) const {
    Store(Vector(left + i), d);
  }
};

// Blocks take parts in the order of the tickets, and a row for each of their threads.
template <int Q, bool General>
__global__ void __launch_bounds__(32 * kMostWarps) DerivativeKernel(DerivativeLaunch p) {
  extern __shared__ float4 derivative_shared[];
  __shared__ std::uint32_t ticket;
  __shared__ DerivativePart coming;  // of the ticket
  const std::uint32_t lane_index = threadIdx.x % 32;
  auto* words = reinterpret_cast<Float4*>(derivative_shared);
  const float4* own = derivative_shared + p.sizes.words + threadIdx.x / 32 * WarpGroups(p.sizes);
  RowMemory<Q> memory(p);
  typename RowMemory<Q>::Half local[derivatives::kMostSlots * RowMemory<Q>::kHalves];
  memory.local = local;
  memory.vectors = Kept(own + lane_index);
  memory.x = Kept(reinterpret_cast<const float*>(own + p.sizes.columns * 8) + lane_index);
  std::uint32_t kept = ~0u;  // the block of rows whose x is there
  const std::uint32_t row_blocks = (p.stride + blockDim.x - 1) / blockDim.x;
  if (threadIdx.x == 0) {
    ticket = atomicAdd(p.progress, 1u);
    if (ticket / row_blocks < p.count) coming = p.parts[ticket / row_blocks];
  }
  __syncthreads();
  for (;;) {
    const std::uint32_t number = ticket / row_blocks;
    if (number >= p.count) return;
    const std::uint32_t row_block = ticket % row_blocks;
    const DerivativePart part = coming;
    CopyTape(words, p.words + part.first_word, part.words);
    std::uint32_t* ended = p.progress + 1 + row_block;
    if (threadIdx.x == 0 && part.below > 0) {
      while (Acquired(ended + number * row_blocks) < part.below) __nanosleep(32);
    }
    WaitForCopies();
    __syncthreads();
    // Drawn ahead: the answer comes while the part is worked through.
    std::uint32_t next = 0;
    if (threadIdx.x == 0) next = atomicAdd(p.progress, 1u);
    const std::uint32_t row = row_block * blockDim.x + threadIdx.x;
    memory.alive = row < p.stride;
    memory.row = memory.alive ? row : p.stride - 32 + lane_index;  // the same as another warp's
    memory.list = words;
    memory.pairs = part.pairs;
    memory.below = reinterpret_cast<char*>(p.below) +
                   (memory.row / 32 * (32 * Q) + lane_index * 4) * sizeof(float);
    memory.left = part.out;
    if (kept != row_block) {
      kept = row_block;
      for (std::uint32_t i = 0; i < p.sizes.features; ++i) {
        Shared<float>(memory.x + i * derivatives::kColumn) =
            __ldg(p.x + static_cast<std::size_t>(i) * p.stride + memory.row);
      }
    }
    // All lanes' sums, four slots at once: what lies before them is not in use yet.
    for (std::uint32_t i = 0; i <= part.pairs; i += 4) {
      Shared<float4>(memory.x + Slot(i + 3) + lane_index * 12) = make_float4(0, 0, 0, 0);
    }
    __syncwarp();
    derivatives::Lane<Q> lane;
    derivatives::Evaluate<General>(words, part, lane, memory);
    if (part.above != DerivativePart::kNoPart) {
      __syncthreads();
      if (threadIdx.x == 0) ReleaseOne(ended + part.above * row_blocks);
    }
    DerivativePart after;
    const bool more = threadIdx.x == 0 && next / row_blocks < p.count;
    if (more) after = p.parts[next / row_blocks];
#pragma unroll 4
    for (std::uint32_t i = 0; i < part.pairs; ++i) memory.AddUp(i, memory.Sum(Slot(i + 1)));
    if (threadIdx.x == 0) ticket = next;
    if (more) coming = after;
    __syncthreads();
  }
}

template <int Q, bool General>
void LaunchRowsOf(const DerivativeLaunch& launch, cudaStream_t stream) {
  const auto bytes_of = [&](std::uint32_t warps) {
    return (launch.sizes.words + warps * WarpGroups(launch.sizes)) * sizeof(float4);
  };
  const std::uint32_t warps = MostResident(launch.stride / 32, bytes_of).warps;
  const std::size_t bytes = bytes_of(warps);
  AllowSharedMemory(DerivativeKernel<Q, General>, bytes);
  const std::uint32_t row_blocks = (launch.stride / 32 + warps - 1) / warps;
  // As many blocks as are at work at once; no result depends on it.
  int resident = 1;
  CheckCuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, DerivativeKernel<Q, General>,
                                                          static_cast<int>(32 * warps), bytes),
            "occupancy");
  const auto blocks = static_cast<std::uint32_t>(std::max(1, resident) * MultiprocessorCount());
  DerivativeKernel<Q, General>
      <<<std::min(launch.count * row_blocks, blocks), 32 * warps, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "interaction kernel");
}

// The kernel for these points and values.
template <class Function>
void ForPoints(int points, bool general, Function function) {
  const auto either = [&]<int Q>() {
    if (general) {
      function.template operator()<Q, true>();
    } else {
      function.template operator()<Q, false>();
    }
  };
  if (points == 4) {
    either.template operator()<4>();
  } else if (points == 6) {
    either.template operator()<6>();
  } else {
    either.template operator()<8>();
  }
}

}  // namespace

void LaunchDerivatives(int points, const DerivativeLaunch& launch, cudaStream_t stream) {
  ForPoints(points, launch.general,
            [&]<int Q, bool General>() { LaunchRowsOf<Q, General>(launch, stream); });
}

}  // namespace retable::treeshap

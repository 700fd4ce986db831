#include "algorithms/treeshap/interactions/derivative/kernel.cuh"

#include <type_traits>

#include "algorithms/treeshap/interactions/derivative/interpreter.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/quadrature/cuda/async_copy.cuh"
#include "algorithms/treeshap/quadrature/cuda/choices.hpp"

namespace retable::treeshap {

namespace {

// Groups of four words that a warp has in shared memory beside the tape: columns of 32 words for
// vectors, sums and x of all features.
__host__ __device__ constexpr std::uint32_t WarpGroups(const DerivativeSizes& sizes) {
  return (sizes.columns + sizes.features) * 8;
}

// Keeps an address of shared memory in a register: the compiler would compute it again at each use.
__device__ __forceinline__ std::uint32_t Kept(const void* at) {
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
  asm volatile("" : "+r"(address));
  return address;
}
template <class T>
__device__ __forceinline__ T& Shared(std::uint32_t address) {
  return *static_cast<T*>(__cvta_shared_to_generic(address));
}

// Offset of a sum from x.
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
  char* below;         // vectors of the row that other tiles left
  std::uint32_t left;  // first vector that the tile leaves
  const Float4* list;  // shared, the tile's sums; values stand behind interactions
  std::uint32_t interactions;
  Half* local;            // the stack
  std::uint32_t x;        // shared, the lane's features; sums stand before them
  std::uint32_t vectors;  // shared, the lane's vectors: groups of four words, then of two

  __device__ __forceinline__ explicit RowMemory(const DerivativeLaunch& launch) : p(launch) {}

  __device__ __forceinline__ float X(std::uint32_t bits) const {
    return Shared<float>(x + (bits & tape::kFeatureMask));
  }
  __device__ __forceinline__ float& Sum(std::uint32_t offset) const {
    return Shared<float>(x + offset);
  }

  // Reads a vector, from shared memory or not: groups of four words of 32 lanes, then of two. What
  // other blocks wrote is not read from the first-level cache.
  template <bool ByOthers = false>
  static __device__ __forceinline__ void Load(const char* from, float (&d)[Q]) {
    const auto read = [](const auto* at) {
      if constexpr (ByOthers) {
        return __ldcg(at);
      } else {
        return *at;
      }
    };
#pragma unroll
    for (int v = 0; v < kFours; ++v) {
      const float4 four = read(reinterpret_cast<const float4*>(from + v * kFourBytes));
      d[4 * v] = four.x;
      d[4 * v + 1] = four.y;
      d[4 * v + 2] = four.z;
      d[4 * v + 3] = four.w;
    }
    if constexpr (Q % 4 == 2) {
      const float2 two = read(reinterpret_cast<const float2*>(from + kTwo()));
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
    const std::uint32_t* sets = p.tape.sets;
    return treeshap::InSet([sets](std::uint32_t i) { return __ldg(sets + i); }, offset, value);
  }

  // Adds to the sum over all tiles.
  __device__ __forceinline__ void AddUp(std::uint32_t i, float value) const {
    if (value == 0 || !alive) return;
    const long long fixed = __float2ll_rn(value * p.rows.scale);
    atomicAdd(p.output.sums + static_cast<std::size_t>(Listed(list, i)) * p.rows.stride + row,
              static_cast<unsigned long long>(fixed));
  }
  __device__ __forceinline__ void Value(std::uint32_t i, float phi) const {
    AddUp(interactions + i, phi);
  }

  __device__ __forceinline__ char* Vector(std::uint32_t number) const {
    return below + static_cast<std::size_t>(number) * p.rows.stride * (Q * sizeof(float));
  }
  __device__ __forceinline__ void Below(std::uint32_t number, float (&d)[Q]) const {
    Load<true>(Vector(number), d);
  }
  __device__ __forceinline__ void Leave(std::uint32_t i, const float (&d)[Q]) const {
    Store(Vector(left + i), d);
  }
};

// A block takes tiles in the order of the tickets; each of its threads evaluates one row.
template <int Q, bool General>
__global__ void __launch_bounds__(32 * tuning::kMostWarps) DerivativeKernel(DerivativeLaunch p) {
  extern __shared__ float4 block_memory[];
  __shared__ std::uint32_t ticket;
  __shared__ DerivativeTile coming;  // tile of the ticket
  const std::uint32_t lane_index = threadIdx.x % 32;
  auto* words = reinterpret_cast<Float4*>(block_memory);
  const float4* own =
      block_memory + p.tape.sizes.words + threadIdx.x / 32 * WarpGroups(p.tape.sizes);
  RowMemory<Q> memory(p);
  typename RowMemory<Q>::Half local[derivatives::kMostStackSlots * RowMemory<Q>::kHalves];
  memory.local = local;
  memory.vectors = Kept(own + lane_index);
  memory.x = Kept(reinterpret_cast<const float*>(own + p.tape.sizes.columns * 8) + lane_index);
  std::uint32_t kept = ~0u;  // the block of rows whose x is there
  const std::uint32_t row_blocks = (p.rows.stride + blockDim.x - 1) / blockDim.x;
  if (threadIdx.x == 0) {
    ticket = atomicAdd(p.output.progress, 1u);
    if (ticket / row_blocks < p.tape.tile_count) coming = p.tape.tiles[ticket / row_blocks];
  }
  __syncthreads();
  for (;;) {
    const std::uint32_t number = ticket / row_blocks;
    if (number >= p.tape.tile_count) return;
    const std::uint32_t row_block = ticket % row_blocks;
    const DerivativeTile tile = coming;
    // Past the first-level cache, which the stack needs.
    CopyAsync<true>(words, p.tape.words + tile.first_word, tile.words, threadIdx.x, blockDim.x);
    std::uint32_t* ended = p.output.progress + 1 + row_block;
    if (threadIdx.x == 0 && tile.below > 0) {
      while (Acquired(ended + number * row_blocks) < tile.below) __nanosleep(32);
    }
    WaitForCopies();
    __syncthreads();
    // Drawn ahead: the atomic's latency overlaps the tile's evaluation.
    std::uint32_t next = 0;
    if (threadIdx.x == 0) next = atomicAdd(p.output.progress, 1u);
    const std::uint32_t row = row_block * blockDim.x + threadIdx.x;
    memory.alive = row < p.rows.stride;
    memory.row = memory.alive ? row : p.rows.stride - 32 + lane_index;  // a row of another warp
    memory.list = words;
    memory.interactions = tile.interactions;
    memory.below = reinterpret_cast<char*>(p.output.below) +
                   (memory.row / 32 * (32 * Q) + lane_index * 4) * sizeof(float);
    memory.left = tile.out;
    if (kept != row_block) {
      kept = row_block;
      for (std::uint32_t i = 0; i < p.tape.sizes.features; ++i) {
        Shared<float>(memory.x + i * derivatives::kColumn) =
            __ldg(p.rows.x + static_cast<std::size_t>(i) * p.rows.stride + memory.row);
      }
    }
    // Clears all lanes' sums, four slots at once: the memory before them is not in use yet.
    for (std::uint32_t i = 0; i <= tile.interactions; i += 4) {
      Shared<float4>(memory.x + Slot(i + 3) + lane_index * 12) = make_float4(0, 0, 0, 0);
    }
    __syncwarp();
    derivatives::Lane<Q> lane;
    derivatives::Evaluate<General>(words, tile, lane, memory);
    if (tile.above != DerivativeTile::kNoTile) {
      __syncthreads();
      if (threadIdx.x == 0) ReleaseOne(ended + tile.above * row_blocks);
    }
    DerivativeTile after;
    const bool more = threadIdx.x == 0 && next / row_blocks < p.tape.tile_count;
    if (more) after = p.tape.tiles[next / row_blocks];
#pragma unroll 4
    for (std::uint32_t i = 0; i < tile.interactions; ++i) memory.AddUp(i, memory.Sum(Slot(i + 1)));
    if (threadIdx.x == 0) ticket = next;
    if (more) coming = after;
    __syncthreads();
  }
}

template <int Q, bool General>
void LaunchRowsOf(const DerivativeLaunch& launch, cudaStream_t stream) {
  const auto bytes_of = [&](std::uint32_t warps) {
    return (launch.tape.sizes.words + warps * WarpGroups(launch.tape.sizes)) * sizeof(float4);
  };
  const std::uint32_t warps =
      MostResident(launch.rows.stride / 32, SharedMemoryLimit(), bytes_of).warps;
  const std::size_t bytes = bytes_of(warps);
  LaunchTiles(DerivativeKernel<Q, General>, launch, warps, bytes, stream);
}

}  // namespace

void LaunchDerivatives(int points, const DerivativeLaunch& launch, cudaStream_t stream) {
  ForPoints<4, 6, 8>(points, [&]<int Q>() {
    ForEither(launch.general, [&]<bool General>() { LaunchRowsOf<Q, General>(launch, stream); });
  });
}

}  // namespace retable::treeshap

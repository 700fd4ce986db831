#pragma once
//! @file
//! The quadrature kernel. A block takes a block of rows and a range of the tape; chunks of the tape
//! are copied ahead into shared memory (cp.async, two buffers), and every lane runs the interpreter
//! of quadrature_interpreter.hpp on its rows.
//!
//! Shared memory: two chunks, the low slots of the stack, phi (features x rows) and, for few
//! features, x. All accesses of a warp are to consecutive words or to one word: no bank conflicts.
//! Occupancy is what the sizes are chosen for: four blocks of 128 lanes on a multiprocessor.

#include <type_traits>

#include "algorithms/treeshap/device.cuh"
#include "algorithms/treeshap/quadrature_interpreter.hpp"
#include "algorithms/treeshap/quadrature_kernel.hpp"

namespace retable::treeshap {

template <int R>
using RowVector = std::conditional_t<R == 2, float2, float>;

template <int R>
__device__ __forceinline__ void Unpack(const RowVector<R>& from, float (&to)[R]) {
  if constexpr (R == 2) {
    to[0] = from.x;
    to[1] = from.y;
  } else {
    to[0] = from;
  }
}

template <int R>
__device__ __forceinline__ RowVector<R> Packed(const float (&from)[R]) {
  if constexpr (R == 2) {
    return make_float2(from[0], from[1]);
  } else {
    return from[0];
  }
}

//! The interpreter's memory of one lane. OneStack: no slot is in local memory.
template <int Q, int R, bool SharedX, bool SharedPhi, bool OneStack = false>
struct DeviceMemory {
  const float* x;   // global, at the lane's first row: features x stride
  char* columns;    // shared, at the lane's first row: phi and, behind it, x of each feature
  float4* stack;    // shared_slots x vectors x threads
  float4* local;    // kLocalSlots x vectors, of this lane
  double* partial;  // this range's slice, at the lane's first row
  const std::uint32_t* sets;
  std::uint32_t features;
  std::uint32_t stride;     // of partial and of wide x
  std::uint32_t step;       // bytes of a shared column
  std::uint32_t phi_bytes;  // of which phi
  std::uint32_t threads;
  int shared_slots;
  std::uint32_t first_unit;
  const std::uint16_t* classes;  // of the batch's first unit, at the lane's first row
  const std::uint32_t* bases;
  const float4* table;

  // Q R floats as whole vectors; the last one may be partly used.
  static constexpr int kVectors = (Q * R + 3) / 4;

  // Shared columns: phi and x of a feature side by side, `step` bytes a feature. With x the step is
  // a multiple of 256 and the flags, the top eight bits, fall out of the 32-bit product.
  __device__ __forceinline__ char* Column(std::uint32_t bits) const {
    return columns + (SharedX ? bits : bits & tape::kFeatureMask) * step;
  }

  __device__ __forceinline__ void X(std::uint32_t bits, float (&out)[R]) const {
    if constexpr (SharedX) {
      Unpack<R>(*reinterpret_cast<const RowVector<R>*>(Column(bits) + phi_bytes), out);
    } else {
      const float* at = x + static_cast<std::size_t>(bits & tape::kFeatureMask) * stride;
      Unpack<R>(__ldg(reinterpret_cast<const RowVector<R>*>(at)), out);
    }
  }

  __device__ __forceinline__ void AddPhi(std::uint32_t bits, const float (&change)[R]) {
    if constexpr (!SharedPhi) {
      double* at = partial + static_cast<std::size_t>(bits & tape::kFeatureMask) * stride;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if (change[r] != 0) atomicAdd(at + r, static_cast<double>(change[r]));
      }
    } else {
      auto* at = reinterpret_cast<RowVector<R>*>(Column(bits));
      float sum[R];
      Unpack<R>(*at, sum);
#pragma unroll
      for (int r = 0; r < R; ++r) sum[r] += change[r];
      *at = Packed<R>(sum);
    }
  }

  // Slots are uniform over the block, so the branch is too.
  __device__ __forceinline__ void Push(int slot, const float (&g)[Q * R]) {
    if (OneStack || slot < shared_slots) {
      Store(stack + static_cast<std::uint32_t>(slot) * kVectors * threads, threads, g);
    } else {
      Store(local + (slot - shared_slots) * kVectors, 1, g);
    }
  }

  __device__ __forceinline__ void Peek(int slot, float (&g)[Q * R]) const {
    if (OneStack || slot < shared_slots) {
      Load(stack + static_cast<std::uint32_t>(slot) * kVectors * threads, threads, g);
    } else {
      Load(local + (slot - shared_slots) * kVectors, 1, g);
    }
  }

  static __device__ __forceinline__ void Store(float4* at, std::uint32_t step,
                                               const float (&g)[Q * R]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const auto word = [&](int i) { return 4 * v + i < Q * R ? g[4 * v + i] : 0.0f; };
      at[v * step] = make_float4(word(0), word(1), word(2), word(3));
    }
  }

  static __device__ __forceinline__ void Load(const float4* at, std::uint32_t step,
                                              float (&g)[Q * R]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const float4 four = at[v * step];
      g[4 * v] = four.x;
      if (4 * v + 1 < Q * R) g[4 * v + 1] = four.y;
      if (4 * v + 2 < Q * R) g[4 * v + 2] = four.z;
      if (4 * v + 3 < Q * R) g[4 * v + 3] = four.w;
    }
  }

  __device__ __forceinline__ bool InSet(std::uint32_t offset, float value) const {
    const std::uint32_t head = __ldg(sets + offset);
    if (!(value >= 0) || value >= static_cast<float>((head & 0x7fffffffu) * 32)) {
      return (head >> 31) != 0;
    }
    const auto category = static_cast<std::uint32_t>(value);
    return ((__ldg(sets + offset + 1 + category / 32) >> (category % 32)) & 1u) != 0;
  }

  // K and contributions of the rows' classes.
  __device__ __forceinline__ const Float4* Shared(const Float4* at, float (&k)[Q * R]) {
    const std::uint32_t unit = tape::Bits(at->x) - first_unit;
    const std::uint32_t own = tape::Bits(at->y);
    const std::uint32_t width = tape::Bits(at->z);
    const float4* from[R];
    const std::uint16_t* of = classes + static_cast<std::size_t>(unit) * stride;
    const float4* base = table + __ldg(bases + unit);
    if constexpr (R == 2) {
      const std::uint32_t two = __ldg(reinterpret_cast<const std::uint32_t*>(of));
      from[0] = base + (two & 0xffffu) * width;
      from[R - 1] = base + (two >> 16) * width;
    } else {
      from[0] = base + static_cast<std::uint32_t>(__ldg(of)) * width;
    }
    constexpr int kGroups = (Q + 3) / 4;
#pragma unroll
    for (int v = 0; v < kGroups; ++v) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const float4 four = __ldg(from[r] + v);
        k[4 * v * R + r] = four.x;
        if (4 * v + 1 < Q) k[(4 * v + 1) * R + r] = four.y;
        if (4 * v + 2 < Q) k[(4 * v + 2) * R + r] = four.z;
        if (4 * v + 3 < Q) k[(4 * v + 3) * R + r] = four.w;
      }
    }
    ++at;
    for (std::uint32_t i = 0; i < own; i += 4, ++at) {
      const Float4 features = *at;
      float change[4][R];
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const float4 four = __ldg(from[r] + kGroups + i / 4);
        change[0][r] = four.x;
        change[1][r] = four.y;
        change[2][r] = four.z;
        change[3][r] = four.w;
      }
      AddPhi(tape::Bits(features.x), change[0]);
      if (i + 1 < own) AddPhi(tape::Bits(features.y), change[1]);
      if (i + 2 < own) AddPhi(tape::Bits(features.z), change[2]);
      if (i + 3 < own) AddPhi(tape::Bits(features.w), change[3]);
    }
    return at;
  }

  // Folds the sums into double: the error does not grow with the number of trees. The adds
  // are atomic only to be asynchronous; no other thread touches these addresses.
  __device__ __forceinline__ void Fold() {
    if constexpr (SharedPhi) {
      for (std::uint32_t f = 0; f < features; ++f) {
        auto* at = reinterpret_cast<RowVector<R>*>(Column(f));
        float sum[R];
        Unpack<R>(*at, sum);
#pragma unroll
        for (int r = 0; r < R; ++r) {
          if (sum[r] != 0) {
            atomicAdd(partial + static_cast<std::size_t>(f) * stride + r,
                      static_cast<double>(sum[r]));
          }
          sum[r] = 0;
        }
        *at = Packed<R>(sum);
      }
    }
  }
};

__device__ __forceinline__ void CopyChunkAsync(Float4* to, const Float4* from) {
  for (std::uint32_t i = threadIdx.x; i < tape::kChunk; i += blockDim.x) {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to + i));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + i)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ __forceinline__ void WaitForChunks() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

template <int Q, int R, bool General, bool SharedX, bool SharedPhi>
__global__ void __launch_bounds__(128, ResidentBlocks(Q))
    QuadratureKernel(QuadratureLaunch launch) {
  extern __shared__ Float4 shared[];
  Float4* chunks = shared;
  auto* stack = reinterpret_cast<float4*>(shared + 2 * tape::kChunk);
  constexpr int kVectors = DeviceMemory<Q, R, SharedX, SharedPhi>::kVectors;
  auto* columns = reinterpret_cast<float*>(stack + launch.shared_slots * kVectors * blockDim.x);

  const TapeRange range = launch.ranges[blockIdx.y];
  const Float4* words = launch.words + static_cast<std::size_t>(range.first_chunk) * tape::kChunk;
  CopyChunkAsync(chunks, words);

  const std::uint32_t pitch = blockDim.x * R;
  const std::uint32_t lane_row = threadIdx.x * R;
  const std::size_t first_row = static_cast<std::size_t>(blockIdx.x) * pitch;
  DeviceMemory<Q, R, SharedX, SharedPhi> memory;
  memory.sets = launch.sets;
  memory.features = launch.features;
  memory.stride = launch.stride;
  memory.phi_bytes = pitch * static_cast<std::uint32_t>(sizeof(float));
  memory.step = memory.phi_bytes * (SharedX ? 2 : 1);
  memory.threads = blockDim.x;
  float4 local[kLocalSlots * kVectors];
  memory.local = local;
  memory.shared_slots = static_cast<int>(launch.shared_slots);
  memory.stack = stack + threadIdx.x;
  memory.partial = launch.partial +
                   static_cast<std::size_t>(blockIdx.y) * launch.features * launch.stride +
                   first_row + lane_row;
  memory.first_unit = launch.first_unit;
  memory.classes = launch.classes + first_row + lane_row;
  memory.bases = launch.bases;
  memory.table = launch.table;
  // A lane reads its own rows alone: no barrier is needed.
  memory.x = launch.x + first_row + lane_row;
  memory.columns = reinterpret_cast<char*>(columns + lane_row);
  if constexpr (SharedPhi) {
    for (std::uint32_t f = 0; f < launch.features; ++f) {
      auto* column = reinterpret_cast<float*>(memory.Column(f));
      for (std::uint32_t r = 0; r < R; ++r) {
        column[r] = 0;
        if constexpr (SharedX) {
          column[pitch + r] = memory.x[static_cast<std::size_t>(f) * launch.stride + r];
        }
      }
    }
  }

  tape::LaneState<Q, R> state;
  tape::StartTree(state);
  for (std::uint32_t c = 0; c < range.chunks; ++c) {
    WaitForChunks();
    __syncthreads();  // chunk c is here for all, and nobody reads chunk c - 1 any more
    if (c + 1 < range.chunks) {
      CopyChunkAsync(chunks + (c + 1) % 2 * tape::kChunk, words + (c + 1) * tape::kChunk);
    }
    tape::RunChunk<General, Q, R>(chunks + c % 2 * tape::kChunk, state, memory);
  }
}

//! Warps take items in turn: lanes are classes, the features of a unit are columns of the warp's
//! shared memory.
template <int Q, int R, bool General>
__global__ void __launch_bounds__(128, ResidentBlocks(Q)) UnitKernel(UnitLaunch p) {
  extern __shared__ float4 unit_shared[];
  using Memory = DeviceMemory<Q, R, true, true, true>;
  constexpr std::uint32_t kPitch = 32 * R * sizeof(float);
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t stack_words = p.slots * Memory::kVectors * 32;
  const std::uint32_t column_words = p.features * (2 * kPitch / sizeof(float4));
  float4* mine = unit_shared + threadIdx.x / 32 * (stack_words + column_words + p.unit_words);
  auto* words = reinterpret_cast<Float4*>(mine + stack_words + column_words);
  Memory memory{};
  memory.stack = mine + lane;
  memory.columns = reinterpret_cast<char*>(mine + stack_words) + lane * R * sizeof(float);
  memory.phi_bytes = kPitch;
  memory.step = 2 * kPitch;
  memory.threads = 32;
  const std::uint32_t items = p.counters[kItems];
  for (;;) {
    std::uint32_t next = 0;
    if (lane == 0) next = atomicAdd(p.counters + kItemsTaken, 1);
    next = __shfl_sync(0xffffffffu, next, 0);
    if (next >= items) return;
    const UnitItem item = p.items[next];
    const Unit unit = p.units[item.unit];
    // The whole tape at once: read word by word it would wait for the second-level cache each time.
    __syncwarp();
    for (std::uint32_t i = lane; i < unit.words; i += 32) {
      reinterpret_cast<float4*>(words)[i] =
          __ldg(reinterpret_cast<const float4*>(p.words + unit.first_word) + i);
    }
    __syncwarp();
    std::uint32_t row[R];
#pragma unroll
    for (int r = 0; r < R; ++r) {
      row[r] = p.members[item.row + min(lane * R + r, item.count - 1)];
    }
    for (std::uint32_t f = 0; f < unit.features; ++f) {
      const float* x =
          p.x + static_cast<std::size_t>(p.feature_lists[unit.first_feature + f]) * p.stride;
      float values[R];
      float zero[R] = {};
#pragma unroll
      for (int r = 0; r < R; ++r) values[r] = __ldg(x + row[r]);
      *reinterpret_cast<RowVector<R>*>(memory.Column(f) + kPitch) = Packed<R>(values);
      *reinterpret_cast<RowVector<R>*>(memory.Column(f)) = Packed<R>(zero);
    }
    tape::LaneState<Q, R> state;
    const Float4* at = tape::StartUnit<General, Q, R>(words, unit.path_factors, state, memory);
    tape::RunChunk<General, Q, R>(at, state, memory);
    const std::uint32_t width = ClassWidth(Q, unit.own);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const std::uint32_t index = lane * R + r;
      if (index >= item.count) continue;
      float4* to = p.table + p.bases[item.unit] + (item.first + index) * width;
      constexpr int kGroups = (Q + 3) / 4;
#pragma unroll
      for (int v = 0; v < kGroups; ++v) {
        const auto k = [&](int q) { return q < Q ? state.k[q * R + r] : 0.0f; };
        to[v] = make_float4(k(4 * v), k(4 * v + 1), k(4 * v + 2), k(4 * v + 3));
      }
      const auto phi = [&](std::uint32_t f) {
        return f < unit.own ? reinterpret_cast<const float*>(memory.Column(f))[r] : 0.0f;
      };
      for (std::uint32_t f = 0; f < unit.own; f += 4) {
        to[kGroups + f / 4] = make_float4(phi(f), phi(f + 1), phi(f + 2), phi(f + 3));
      }
    }
  }
}

template <int Q, bool General>
void LaunchUnitsKind(const UnitLaunch& launch, cudaStream_t stream) {
  constexpr int R = RowsPerLane(Q);
  const auto kernel = UnitKernel<Q, R, General>;
  const std::size_t warp = UnitSharedBytes(Q, launch);
  std::uint32_t warps = 4;
  while (warps > 1 && warps * warp > 56 * 1024) warps /= 2;
  const std::size_t bytes = warps * warp;
  AllowSharedMemory(kernel, bytes);
  // Blocks for the largest GPU: those without work return at once, and no result depends on them.
  kernel<<<16 * 148 / warps, 32 * warps, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "unit kernel");
}

template <int Q>
void LaunchUnitsPoints(const UnitLaunch& launch, cudaStream_t stream) {
  if (launch.missing) {
    LaunchUnitsKind<Q, true>(launch, stream);
  } else {
    LaunchUnitsKind<Q, false>(launch, stream);
  }
}

template <int Q, int R, bool General, bool SharedX, bool SharedPhi>
void LaunchRows(const QuadratureLaunch& launch, cudaStream_t stream) {
  const auto kernel = QuadratureKernel<Q, R, General, SharedX, SharedPhi>;
  const std::size_t bytes = QuadratureSharedBytes(Q, launch);
  AllowSharedMemory(kernel, bytes);
  const dim3 grid(launch.stride / (launch.threads * R), launch.range_count);
  kernel<<<grid, launch.threads, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "quadrature kernel");
}

template <int Q, bool General, bool SharedX, bool SharedPhi>
void LaunchKind(const QuadratureLaunch& launch, cudaStream_t stream) {
  constexpr int R = RowsPerLane(Q);
  constexpr KernelKind kind = General ? KernelKind::kGeneral : KernelKind::kPlain;
  if constexpr (SharedX && SharedRowsPerLane(Q, kind) != R) {
    if (launch.rows_per_lane != R) {
      LaunchRows<Q, SharedRowsPerLane(Q, kind), General, SharedX, SharedPhi>(launch, stream);
      return;
    }
  }
  LaunchRows<Q, R, General, SharedX, SharedPhi>(launch, stream);
}

template <int Q>
void LaunchQuadraturePoints(const QuadratureLaunch& launch, cudaStream_t stream) {
  switch (launch.kind) {
    case KernelKind::kPlain:
      LaunchKind<Q, false, true, true>(launch, stream);
      break;
    case KernelKind::kGeneral:
      LaunchKind<Q, true, true, true>(launch, stream);
      break;
    case KernelKind::kPlainMany:
      LaunchKind<Q, false, false, true>(launch, stream);
      break;
    case KernelKind::kGeneralMany:
      LaunchKind<Q, true, false, true>(launch, stream);
      break;
    case KernelKind::kGeneralWide:
      LaunchKind<Q, true, false, false>(launch, stream);
      break;
  }
}

}  // namespace retable::treeshap

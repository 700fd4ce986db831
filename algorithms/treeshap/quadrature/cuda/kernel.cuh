#pragma once
//! @file
//! The quadrature kernel. A block takes a block of rows and a range of the tape; chunks of the tape
//! are copied ahead into shared memory (cp.async, two buffers), and every lane runs the interpreter
//! of quadrature/tape/interpreter.hpp on its rows.
//!
//! Shared memory: two chunks, the low slots of the stack, phi (columns x rows) and, for
//! kPerFeature, x. All accesses of a warp are to consecutive words or to one word: no bank
//! conflicts. Occupancy is what the sizes are chosen for: three or four blocks of 128
//! lanes on a multiprocessor.

#include <type_traits>

#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/quadrature/cuda/async_copy.cuh"
#include "algorithms/treeshap/quadrature/cuda/choices.hpp"
#include "algorithms/treeshap/quadrature/cuda/lane_stack.cuh"
#include "algorithms/treeshap/quadrature/cuda/launch.hpp"
#include "algorithms/treeshap/quadrature/cuda/partial_sums.cuh"
#include "algorithms/treeshap/quadrature/tape/interpreter.hpp"
#include "base/cuda/streams.hpp"

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

//! The interpreter's memory of one lane. Shares: instructions may take shared subtrees, which
//! models with categories have none of. OneStack: no slot is in local memory.
template <int Q, int R, AccumulatorLayout Layout, bool Shares, bool OneStack = false>
struct DeviceMemory : LaneStack<Q * R, OneStack> {
  static constexpr bool kCategories = !Shares;
  static constexpr bool kSharedSubtrees = Shares;

  const float* x;  // global, at the lane's first row: features x stride
  char* columns;   // shared, at the lane's first row: phi and, behind it, x of each feature
  double*
      partial;  // few: this range's slice, at the lane's first row; others kSecondRowOffset behind
  float* column;  // kSlots: the next column of sums, at the lane's first row
  const std::uint32_t* sets;
  std::uint32_t stride;     // of partial and of wide x
  std::uint32_t step;       // bytes of a shared column
  std::uint32_t phi_bytes;  // of which phi
  std::uint32_t first_subtree;
  const std::uint16_t* classes;  // of the batch's first subtree, at the lane's first row
  const std::uint32_t* bases;
  const float4* table;

  // Few features have phi and x side by side, `step` bytes a feature: a multiple of 256, so that
  // the flags, the top eight bits, fall out of the 32-bit product. Others have accumulator slots
  // alone.
  __device__ __forceinline__ char* Column(std::uint32_t bits) const {
    return columns + (Layout == AccumulatorLayout::kPerFeature
                          ? bits
                          : bits >> tape::kSlotShift & tape::kSlotMask) *
                         step;
  }

  static __device__ __forceinline__ std::size_t Feature(std::uint32_t bits) {
    return bits &
           (Layout == AccumulatorLayout::kSlots ? tape::kSlottedFeatureMask : tape::kFeatureMask);
  }

  __device__ __forceinline__ void X(std::uint32_t bits, float (&out)[R]) const {
    if constexpr (Layout == AccumulatorLayout::kPerFeature) {
      Unpack<R>(*reinterpret_cast<const RowVector<R>*>(Column(bits) + phi_bytes), out);
    } else {
      const float* at = x + Feature(bits) * stride;
      Unpack<R>(__ldg(reinterpret_cast<const RowVector<R>*>(at)), out);
    }
  }

  __device__ __forceinline__ void AddPhi(std::uint32_t bits, const float (&change)[R]) {
    auto* at = reinterpret_cast<RowVector<R>*>(Column(bits));
    float sum[R];
    Unpack<R>(*at, sum);
#pragma unroll
    for (int r = 0; r < R; ++r) sum[r] += change[r];
    *at = Packed<R>(sum);
  }

  __device__ __forceinline__ bool InSet(std::uint32_t offset, float value) const {
    return treeshap::InSet([at = sets](std::uint32_t i) { return __ldg(at + i); }, offset, value);
  }

  // K and contributions of the rows' classes, one of them or both.
  __device__ __forceinline__ const Float4* Shared(const Float4* at, float (&k)[Q * R]) {
    const std::uint32_t subtree = tape::Bits(at->x) - first_subtree;
    const std::uint32_t own = tape::Bits(at->y);
    const std::uint32_t width = tape::Bits(at->z);
    const std::uint32_t k_at = tape::Bits(at->w);
    const float4* from[R];
    const std::uint16_t* of = classes + static_cast<std::size_t>(subtree) * stride;
    const float4* base = table + __ldg(bases + subtree);
    if constexpr (R == 2) {
      const std::uint32_t two = __ldg(reinterpret_cast<const std::uint32_t*>(of));
      from[0] = base + (two & 0xffffu) * width;
      from[R - 1] = base + (two >> 16) * width;
    } else {
      from[0] = base + static_cast<std::uint32_t>(__ldg(of)) * width;
    }
    constexpr int kGroups = (Q + 3) / 4;
#pragma unroll
    for (int v = 0; v < kGroups && k_at != tape::kNoK; ++v) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const float4 four = __ldg(from[r] + k_at + v);
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
        const float4 four = __ldg(from[r] + i / 4);
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

  // The lane's double sums of a feature.
  __device__ __forceinline__ void Clear(std::uint32_t feature) {
    double* at = partial + static_cast<std::size_t>(feature) * stride;
#pragma unroll
    for (int r = 0; r < R; ++r) at[r * kSecondRowOffset] = 0;
  }

  // Folds the sums into double: the error does not grow with the number of trees. The adds
  // are atomic only to be asynchronous; no other thread touches these addresses.
  __device__ __forceinline__ const Float4* Fold(const Float4* at, std::uint32_t count) {
    if constexpr (Layout == AccumulatorLayout::kPerFeature) {
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t bits = tape::Bits(reinterpret_cast<const float*>(at)[i]);
        auto* from = reinterpret_cast<RowVector<R>*>(Column(bits));
        double* to = partial + Feature(bits) * stride;
        float sum[R];
        Unpack<R>(*from, sum);
#pragma unroll
        for (int r = 0; r < R; ++r) {
          if (sum[r] != 0) atomicAdd(to + r * kSecondRowOffset, static_cast<double>(sum[r]));
          sum[r] = 0;
        }
        *from = Packed<R>(sum);
      }
    }
    return at + (count + 3) / 4;
  }

  // Every sum is written to the next column, once, and not seen again here.
  __device__ __forceinline__ const Float4* Spill(const Float4* at, std::uint32_t count) {
    if constexpr (Layout == AccumulatorLayout::kSlots) {
      const float zero[R] = {};
#pragma unroll 4
      for (std::uint32_t i = 0; i < count; ++i) {
        auto* from = reinterpret_cast<RowVector<R>*>(
            Column(tape::Bits(reinterpret_cast<const float*>(at)[i])));
        __stcs(reinterpret_cast<RowVector<R>*>(column), *from);
        *from = Packed<R>(zero);
        column += stride;
      }
    }
    return at + (count + 3) / 4;
  }
};

__device__ __forceinline__ void CopyChunkAsync(Float4* to, const Float4* from) {
  CopyAsync(to, from, tape::kChunk, threadIdx.x, blockDim.x);
}

template <int Q, bool Shares, bool General, AccumulatorLayout Layout>
__global__ void __launch_bounds__(128, ResidentBlocks(Q))
    QuadratureKernel(QuadratureLaunch launch) {
  constexpr int R = kRowsPerLane;
  using Memory = DeviceMemory<Q, R, Layout, Shares>;
  extern __shared__ Float4 shared[];
  Float4* chunks = shared;
  auto* stack = reinterpret_cast<float4*>(shared + 2 * tape::kChunk);
  constexpr int kVectors = Memory::kVectors;
  auto* columns =
      reinterpret_cast<float*>(stack + launch.sizes.shared_slots * kVectors * blockDim.x);

  const TapeRange range = launch.tape.ranges[blockIdx.y];
  const Float4* words =
      launch.tape.words + static_cast<std::size_t>(range.first_chunk) * tape::kChunk;
  CopyChunkAsync(chunks, words);

  const std::uint32_t pitch = blockDim.x * R;
  const std::uint32_t lane_row = threadIdx.x * R;
  const std::size_t first_row = static_cast<std::size_t>(blockIdx.x) * pitch;
  Memory memory;
  memory.sets = launch.tape.sets;
  memory.stride = launch.sizes.stride;
  memory.phi_bytes = pitch * static_cast<std::uint32_t>(sizeof(float));
  memory.step = memory.phi_bytes * (Layout == AccumulatorLayout::kPerFeature ? 2 : 1);
  memory.threads = blockDim.x;
  float4 local[kLocalSlots * kVectors];
  memory.local = local;
  memory.shared_slots = static_cast<int>(launch.sizes.shared_slots);
  memory.stack = stack + threadIdx.x;
  memory.first_subtree = launch.first_subtree;
  memory.classes = launch.shared.classes + first_row + lane_row;
  memory.bases = launch.shared.bases;
  memory.table = launch.shared.table;
  const std::uint32_t begin = __ldg(launch.sums.list_begin + blockIdx.y);
  if constexpr (Layout == AccumulatorLayout::kPerFeature) {
    memory.partial =
        launch.sums.partial +
        static_cast<std::size_t>(blockIdx.y) * launch.sizes.features * launch.sizes.stride +
        PositionOfRow(static_cast<std::uint32_t>(first_row) + lane_row);
    const std::uint32_t last = __ldg(launch.sums.list_begin + blockIdx.y + 1);
#pragma unroll 8
    for (std::uint32_t i = begin; i < last; ++i) memory.Clear(__ldg(launch.sums.lists + i));
  } else {
    memory.column =
        launch.sums.columns + std::size_t{begin} * launch.sizes.stride + first_row + lane_row;
  }
  // A lane reads its own rows alone: no barrier is needed.
  memory.x = launch.x + first_row + lane_row;
  memory.columns = reinterpret_cast<char*>(columns + lane_row);
  for (std::uint32_t f = 0; f < launch.sizes.columns; ++f) {
    auto* column = reinterpret_cast<float*>(memory.columns + f * memory.step);
    for (std::uint32_t r = 0; r < R; ++r) {
      column[r] = 0;
      if constexpr (Layout == AccumulatorLayout::kPerFeature) {
        column[pitch + r] = memory.x[static_cast<std::size_t>(f) * launch.sizes.stride + r];
      }
    }
  }

  tape::LaneState<Q, R> state;
  tape::StartTree(state);
  for (std::uint32_t c = 0; c < range.chunks; ++c) {
    WaitForCopies();
    __syncthreads();  // chunk c is visible to all; the other buffer is free
    if (c + 1 < range.chunks) {
      CopyChunkAsync(chunks + (c + 1) % 2 * tape::kChunk, words + (c + 1) * tape::kChunk);
    }
    tape::RunChunk<General, Q, R>(chunks + c % 2 * tape::kChunk, state, memory);
  }
}

template <int Q, bool Shares, bool General, AccumulatorLayout Layout>
void LaunchVariant(const QuadratureLaunch& launch, cudaStream_t stream) {
  const auto kernel = QuadratureKernel<Q, Shares, General, Layout>;
  const std::size_t bytes = QuadratureSharedBytes(Q, launch);
  AllowSharedMemory(kernel, bytes);
  const dim3 grid(launch.sizes.stride / (launch.sizes.threads * kRowsPerLane),
                  launch.sizes.range_count);
  kernel<<<grid, launch.sizes.threads, bytes, stream>>>(launch);
  CheckCuda(cudaGetLastError(), "quadrature kernel");
}

template <int Q>
void LaunchQuadraturePoints(const QuadratureLaunch& launch, cudaStream_t stream) {
  constexpr bool kMayShare = Q >= kMinSubtreePoints;
  ForEither(kMayShare && launch.variant.shares, [&]<bool Shares>() {
    ForEither(launch.variant.general, [&]<bool General>() {
      ForEither(launch.variant.layout == AccumulatorLayout::kSlots, [&]<bool Slots>() {
        if constexpr (kMayShare || !Shares) {
          constexpr auto kLayout =
              Slots ? AccumulatorLayout::kSlots : AccumulatorLayout::kPerFeature;
          LaunchVariant<Q, Shares, General, kLayout>(launch, stream);
        }
      });
    });
  });
}

}  // namespace retable::treeshap

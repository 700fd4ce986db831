#pragma once
//! @file
//! The stack of a lane: its low slots in shared memory, the others in local memory; device code.

#include <cstdint>

namespace retable::treeshap {

//! A slot holds N floats as whole vectors; the last one may be partly used. OneStack: no slot is in
//! local memory.
template <int N, bool OneStack = false>
struct LaneStack {
  static constexpr int kVectors = (N + 3) / 4;

  float4* stack;          // shared_slots x vectors x threads
  float4* local;          // further slots x vectors, of this lane
  std::uint32_t threads;  // that share the memory
  int shared_slots;

  // Slots are uniform over the threads, so the branch is too.
  __device__ __forceinline__ void Push(int slot, const float (&g)[N]) {
    if (OneStack || slot < shared_slots) {
      Store(stack + static_cast<std::uint32_t>(slot) * kVectors * threads, threads, g);
    } else {
      Store(local + (slot - shared_slots) * kVectors, 1, g);
    }
  }

  __device__ __forceinline__ void Peek(int slot, float (&g)[N]) const {
    if (OneStack || slot < shared_slots) {
      Load(stack + static_cast<std::uint32_t>(slot) * kVectors * threads, threads, g);
    } else {
      Load(local + (slot - shared_slots) * kVectors, 1, g);
    }
  }

  static __device__ __forceinline__ void Store(float4* at, std::uint32_t step,
                                               const float (&g)[N]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const auto word = [&](int i) { return 4 * v + i < N ? g[4 * v + i] : 0.0f; };
      at[v * step] = make_float4(word(0), word(1), word(2), word(3));
    }
  }

  static __device__ __forceinline__ void Load(const float4* at, std::uint32_t step, float (&g)[N]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const float4 four = at[v * step];
      g[4 * v] = four.x;
      if (4 * v + 1 < N) g[4 * v + 1] = four.y;
      if (4 * v + 2 < N) g[4 * v + 2] = four.z;
      if (4 * v + 3 < N) g[4 * v + 3] = four.w;
    }
  }
};

}  // namespace retable::treeshap

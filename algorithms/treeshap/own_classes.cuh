#pragma once
//! @file
//! Own classes of a split unit (shared_units.hpp), found from its classes alone, for these are few;
//! device code of shared_grouping.cu.

#include "algorithms/treeshap/shared_grouping.cuh"

namespace retable::treeshap {

//! A slot of a hash table that nobody holds.
inline constexpr std::uint32_t kEmpty = 0xffffffffu;

//! A block's way from the classes of a split unit to its own classes. Speakers of classes become
//! speakers of own classes (owners), own classes are numbered, and classes get new numbers in the
//! order of the items that their own classes are of.
template <class Size>
struct OwnClasses {
  static constexpr std::uint32_t kThreads = Size::kThreads;
  static constexpr std::uint32_t kSlots = 1u << Size::kBits;
  std::uint32_t* slots;        // the class's speaker that holds it; then counts
  std::uint32_t* keys;         // of speakers
  std::uint16_t* speakers;     // of the classes as they were found
  std::uint16_t* owners;       // of the same: the speakers of their own classes
  std::uint32_t* members;      // of the result: the speaker of each own class
  std::uint32_t* classes;      // of the result, in order: own class, upper half
  uint2* spans;                // of the result
  std::uint32_t* counts;       // shared: of own classes, of classes in order
  std::uint32_t item_classes;  // own classes: a multiple of 32
  std::uint32_t own_bits;      // of a key
  bool direct;                 // the key is the slot
  std::uint32_t found = 0;     // classes

  //! Clears the slots; a barrier must follow.
  __device__ __forceinline__ void Clear(std::uint32_t own_keys) const {
    const std::uint32_t used = direct ? (own_keys + 3) / 4 : kSlots / 4;
    for (std::uint32_t i = threadIdx.x; i < used; i += kThreads) {
      reinterpret_cast<uint4*>(slots)[i] = make_uint4(kEmpty, kEmpty, kEmpty, kEmpty);
    }
  }

  //! Of so many classes; all threads together, behind a barrier. A barrier follows the last step.
  __device__ __forceinline__ void Find(std::uint32_t count) {
    found = count;
    Settle();
    __syncthreads();
    Number();
    __syncthreads();
    Count();
    __syncthreads();
    Span();
    __syncthreads();
    Order();
    __syncthreads();
  }

 private:
  __device__ __forceinline__ std::uint32_t Slot(std::uint32_t speaker) const {
    const std::uint32_t key = keys[speaker] & own_bits;
    return direct ? key : key * 2654435769u >> (32 - Size::kBits);
  }

  // Each class finds the speaker of its own class, or becomes it.
  __device__ __forceinline__ void Settle() const {
    for (std::uint32_t i = threadIdx.x; i < found; i += kThreads) {
      const std::uint32_t speaker = speakers[i];
      std::uint32_t owner = speaker;
      for (std::uint32_t slot = Slot(speaker);; slot = (slot + 1) % kSlots) {
        owner = atomicCAS(slots + slot, kEmpty, speaker);
        if (owner == kEmpty) owner = speaker;
        if (((keys[owner] ^ keys[speaker]) & own_bits) == 0) break;
      }
      owners[i] = static_cast<std::uint16_t>(owner);
    }
  }

  // An owner's number takes the place of the lower half of its key.
  __device__ __forceinline__ void Number() const {
    for (std::uint32_t first = 0; first < found; first += kThreads) {
      const std::uint32_t i = first + threadIdx.x;
      const std::uint32_t speaker = i < found ? speakers[i] : 0;
      const bool mine = i < found && owners[i] == speaker;
      const std::uint32_t all = __ballot_sync(0xffffffffu, mine);
      std::uint32_t number = 0;
      if (threadIdx.x % 32 == 0) number = atomicAdd(counts, __popc(all));
      number = __shfl_sync(0xffffffffu, number, 0) + __popc(all & ((1u << threadIdx.x % 32) - 1));
      if (mine) {
        keys[speaker] = (keys[speaker] & 0xffff0000u) | number;
        members[number] = speaker;
      }
      if (i < found) slots[i] = 0;
    }
  }

  __device__ __forceinline__ void Count() const {
    for (std::uint32_t i = threadIdx.x; i < found; i += kThreads) {
      const std::uint32_t speaker = speakers[i];
      const std::uint32_t own = keys[owners[i]] & 0xffffu;
      if (owners[i] != speaker) keys[speaker] = (keys[speaker] & 0xffff0000u) | own;
      atomicAdd(slots + own, 1u);
    }
  }

  // Counts become numbers of first classes.
  __device__ __forceinline__ void Span() const {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t each = item_classes / 32;
    const std::uint32_t owns = counts[0];
    for (std::uint32_t span = threadIdx.x / 32; span * item_classes < owns; span += kThreads / 32) {
      const std::uint32_t first = span * item_classes + lane * each;
      const std::uint32_t last = min(first + each, owns);
      std::uint32_t mine = 0;
      for (std::uint32_t own = first; own < last; ++own) mine += slots[own];
      std::uint32_t sum = mine;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t before = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += before;
      }
      std::uint32_t base = 0;
      if (lane == 31) {
        base = atomicAdd(counts + 1, sum);
        spans[span] = make_uint2(base, sum);
      }
      base = __shfl_sync(0xffffffffu, base, 31) + sum - mine;
      for (std::uint32_t own = first; own < last; ++own) {
        const std::uint32_t count = slots[own];
        slots[own] = base;
        base += count;
      }
    }
  }

  // A speaker's key makes way for the numbers of its class and own class.
  __device__ __forceinline__ void Order() const {
    for (std::uint32_t i = threadIdx.x; i < found; i += kThreads) {
      const std::uint32_t speaker = speakers[i];
      const std::uint32_t key = keys[speaker];  // own class, upper half
      const std::uint32_t number = atomicAdd(slots + (key & 0xffffu), 1u);
      classes[number] = key;
      keys[speaker] = number | key << 16;
    }
  }
};

}  // namespace retable::treeshap

#pragma once
//! @file
//! Runs a pair tape (pair_tape.hpp) for the row, or the class of rows, of one lane. The same code
//! is the CUDA kernels' body and, with plain arrays as memory, a CPU function that tests it.
//!
//! `Memory` gives: X(bits), InSet(offset, x), Push and Peek of G with the mask and of K by slot,
//! AddPair(index, value), Shared(at, head, k), which takes a unit's K and sums and returns where
//! the next operation starts, and EndTree().

#include "algorithms/common/host_device.hpp"
#include "algorithms/treeshap/pair_tape.hpp"
#include "algorithms/treeshap/quadrature_interpreter.hpp"

#if defined(__CUDA_ARCH__)
#define RETABLE_UNROLL _Pragma("unroll")
#else
#define RETABLE_UNROLL
#endif

namespace retable::treeshap::pairs {

using tape::Bits;
using tape::MultiplyAdd;

//! Groups of four words of an array of Q points.
template <int Q>
inline constexpr int kGroups = (Q + 3) / 4;

template <int Q>
RETABLE_HD void LoadPoints(const Float4* at, float (&to)[Q]) {
  RETABLE_UNROLL
  for (int v = 0; v < kGroups<Q>; ++v) {
    const Float4 four = at[v];
    to[4 * v] = four.x;
    if (4 * v + 1 < Q) to[4 * v + 1] = four.y;
    if (4 * v + 2 < Q) to[4 * v + 2] = four.z;
    if (4 * v + 3 < Q) to[4 * v + 3] = four.w;
  }
}

template <int Q>
struct Lane {
  float g[Q];
  float k[Q];
  float cold[Q];
  std::uint64_t mask = 0;  //!< positions whose splits the row follows
};

struct Route {
  float delta;
  bool first, second;  //!< follows to that child
};

template <class Memory>
RETABLE_HD Route Take(const Float4& split, const Float4& shares, bool second_above,
                      Memory& memory) {
  const std::uint32_t bits = Bits(split.w);
  const float x = memory.X(bits);
  bool inside = x >= split.x && x < split.y;
  bool above = x >= split.z;
  if ((bits & tape::kCategorical) != 0) {
    const std::uint32_t set = Bits(split.x);
    inside = set == ~0u || memory.InSet(set, x);
    above = !memory.InSet(Bits(split.y), x);
  }
  if (x != x) {
    inside = (bits & tape::kMissingInside) != 0;
    above = (bits & tape::kMissingAbove) != 0;
  }
  const bool second = above == second_above;
  return {inside ? (above ? shares.x : shares.y) : 0.0f, inside && !second, inside && second};
}

//! G and the mask at a unit's root; returns where its operations start.
template <int Q, class Memory>
RETABLE_HD const Float4* StartUnit(const Float4* at, std::uint32_t factors, Lane<Q>& lane,
                                   Memory& memory) {
  LoadPoints<Q>(at, lane.cold);
  at += kGroups<Q>;
  lane.mask = std::uint64_t{1} << kSelf;
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) lane.g[q] = 1.0f;
  for (std::uint32_t i = 0; i < factors; ++i) {
    const Float4 split = *at++;
    const float x = memory.X(Bits(split.w));
    bool inside = x >= split.x && x < split.y;
    if (x != x) inside = (Bits(split.w) & tape::kMissingInside) != 0;
    float hot[Q];
    float cold[Q];
    LoadPoints<Q>(at, hot);
    LoadPoints<Q>(at + kGroups<Q>, cold);
    at += 2 * kGroups<Q>;
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) lane.g[q] *= inside ? hot[q] : cold[q];
    if (inside) lane.mask |= std::uint64_t{1} << i;
  }
  return at;
}

//! One sum for each live feature; returns where the next operation starts.
template <int Q, class Memory>
RETABLE_HD const Float4* AddPairs(const Float4* at, std::uint32_t partners, const Lane<Q>& lane,
                                  const float (&part)[Q], Memory& memory) {
  float cold = 0;
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) cold = MultiplyAdd(part[q], lane.cold[q], cold);
  for (std::uint32_t j = 0; j < partners; j += 4) {
    const Float4 places = *at++;
    const std::uint32_t place[4] = {Bits(places.x), Bits(places.y), Bits(places.z), Bits(places.w)};
    RETABLE_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (j + i < partners) {
        float ratio[Q];
        LoadPoints<Q>(at, ratio);
        at += kGroups<Q>;
        float hot = 0;
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) hot = MultiplyAdd(part[q], ratio[q], hot);
        const bool follows = (lane.mask >> (place[i] >> kIndexBits) & 1) != 0;
        memory.AddPair(place[i] & kIndexMask, follows ? hot : cold);
      }
    }
  }
  return at;
}

//! Runs operations to the end of the tape.
template <int Q, class Memory>
RETABLE_HD void Run(const Float4* at, Lane<Q>& lane, Memory& memory) {
  constexpr int V = kGroups<Q>;
  for (;;) {
    const Float4 head = *at++;
    const auto op = static_cast<std::int32_t>(Bits(head.x));
    if (op <= kUpLeaf && op != kBegin) {
      const int slot = static_cast<int>(Bits(head.y));
      const std::uint64_t bit = std::uint64_t{1} << (Bits(head.w) & 255u);
      const Float4 shares = at[1];
      const Route route = Take(at[0], shares, (Bits(head.w) & 256u) != 0, memory);
      float g[Q];
      LoadPoints<Q>(at + 2, g);
      at += 2 + V;
      if (op == kDown) {
        memory.PushG(slot, lane.g, lane.mask);
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) {
          lane.g[q] -= lane.g[q] * MultiplyAdd(g[q], route.delta, shares.z);
        }
        lane.mask = route.first ? lane.mask | bit : lane.mask & ~bit;
        continue;
      }
      if (op == kMid) {
        memory.PushK(slot, lane.k);
        float above[Q];
        memory.PeekG(slot, above, lane.mask);
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) {
          lane.g[q] = above[q] * MultiplyAdd(g[q], route.delta, shares.z);
        }
        lane.mask = route.second ? lane.mask | bit : lane.mask & ~bit;
        continue;
      }
      float part[Q];
      LoadPoints<Q>(at, part);
      at += V;
      if (op == kLeafParent) {
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) {
          part[q] *= lane.g[q] * route.delta;
          lane.k[q] = MultiplyAdd(g[q], route.delta, shares.z);
        }
      } else {
        float first[Q];
        if (op == kUp) {
          memory.PeekK(slot, first);
        } else {
          RETABLE_UNROLL
          for (int q = 0; q < Q; ++q) {
            first[q] = lane.k[q];
            lane.k[q] = shares.w;
          }
        }
        float above[Q];
        memory.PeekG(slot, above, lane.mask);
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) {
          const float difference = lane.k[q] - first[q];
          part[q] *= above[q] * difference * route.delta;
          lane.k[q] = MultiplyAdd(MultiplyAdd(g[q], route.delta, shares.z), difference, first[q]);
        }
      }
      at = AddPairs<Q>(at, Bits(head.z), lane, part, memory);
    } else if (op == kShared) {
      at = memory.Shared(at, head, lane.k);
    } else if (op == kBegin) {
      LoadPoints<Q>(at, lane.cold);
      at += V;
      lane.mask = std::uint64_t{1} << kSelf;
      RETABLE_UNROLL
      for (int q = 0; q < Q; ++q) lane.g[q] = 1.0f;
    } else if (op == kEndTree) {
      memory.EndTree();
    } else {
      return;
    }
  }
}

}  // namespace retable::treeshap::pairs

#undef RETABLE_UNROLL

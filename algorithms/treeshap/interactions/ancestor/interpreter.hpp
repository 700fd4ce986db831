#pragma once
//! @file
//! Runs a subtree tile of an interaction tape (interactions/ancestor/tape.hpp) for the row, or the
//! row class, of one lane. The same code is the CUDA kernels' body and, with plain arrays as
//! memory, a CPU function that tests it.
//!
//! `Memory` gives: X(bits), InSet(offset, x), Push and Peek of G and of K by slot, Sum(word), a
//! reference to the sum whose slot the word holds, Shared(slots, head, k), which takes a shared
//! subtree's K and sums, and Below(tile, k).

#include <type_traits>

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"
#include "algorithms/treeshap/interactions/common/tile_interpreter.hpp"
#include "algorithms/treeshap/quadrature/tape/interpreter.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap::ancestor {

using tape::Bits;
using tape::MultiplyAdd;
using tape::Side;
using tiles::kGroups;
using tiles::LoadPoints;
using tiles::Locate;

RETABLE_HD void PutBit(std::uint32_t& bits, std::uint32_t slot, bool value) {
  const std::uint32_t bit = 1u << slot;
  bits = (bits & ~bit) | (value ? bit : 0u);
}

//! `Mask` has a bit for each position.
template <int Q, class Mask>
struct Lane {
  float g[Q];
  float k[Q];
  float cold[Q];
  Mask mask = 0;  //!< positions whose splits the row follows
  //! A bit for each stack slot: its feature's bit above the split, and the row's side.
  std::uint32_t saved = 0, inside = 0, above = 0;
};

// The first position is the highest bit: a shift brings any of them to the sign.
template <class Mask>
RETABLE_HD bool Follows(Mask mask, std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Mask) == 4) {
    return static_cast<std::int32_t>(__funnelshift_l(0u, mask, word)) < 0;
  }
#endif
  return static_cast<std::make_signed_t<Mask>>(mask << (word & (8 * sizeof(Mask) - 1))) < 0;
}

template <class Mask>
RETABLE_HD void SetBit(Mask& mask, std::uint32_t position, bool follows) {
  const Mask bit = Mask{1} << (8 * sizeof(Mask) - 1 - position);
  mask = (mask & ~bit) | (follows ? bit : Mask{0});
}

//! Where a tile's states begin, behind its lists.
RETABLE_HD const Float4* States(const Float4* words, const InteractionTile& tile) {
  return words + (tile.features + 3) / 4 + (tile.interactions + 3) / 4;
}

//! G and the mask at a tile's root; returns where its instructions start.
template <bool General, int Q, class Mask, class Memory>
RETABLE_HD const Float4* Start(const Float4* at, std::uint32_t factors, Lane<Q, Mask>& lane,
                               Memory& memory) {
  LoadPoints<Q>(at, lane.cold);
  at += kGroups<Q>;
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) lane.g[q] = 1.0f;
  for (std::uint32_t i = 0; i < factors; ++i) {
    const Float4 split = at[0];
    const Side side = Locate<General>(split, memory);
    const bool follows = side.inside && side.above == ((Bits(split.w) & kBelow) == 0);
    float hot[Q];
    float cold[Q];
    LoadPoints<Q>(at + 1, hot);
    LoadPoints<Q>(at + 1 + kGroups<Q>, cold);
    at += 1 + 2 * kGroups<Q>;
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) lane.g[q] *= follows ? hot[q] : cold[q];
    SetBit(lane.mask, i, follows);
  }
  return at;
}

//! N partners at once: their slots differ, so all are read before the first is written.
template <int N, int Q, class Mask, class Memory>
RETABLE_HD void AddSome(const std::uint32_t (&word)[N], const Float4* states,
                        const Lane<Q, Mask>& lane, const float (&term)[Q], float cold,
                        Memory& memory) {
  float sum[N];
  float hot[N];
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) {
    sum[i] = memory.Sum(word[i]);
    float ratio[Q];
    LoadPoints<Q>(states + (word[i] >> kStateShift) * kGroups<Q>, ratio);
    hot[i] = term[0] * ratio[0];
    RETABLE_UNROLL
    for (int q = 1; q < Q; ++q) hot[i] = MultiplyAdd(term[q], ratio[q], hot[i]);
  }
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) {
    memory.Sum(word[i]) = sum[i] + (Follows(lane.mask, word[i]) ? hot[i] : cold);
  }
}

//! One sum for each partner, and the value.
template <int Q, class Mask, class Memory>
RETABLE_HD void AddInteractions(const Float4* at, std::uint32_t partners, const Float4* states,
                                const Lane<Q, Mask>& lane, const float (&term)[Q], Memory& memory) {
  Float4 four = *at;
  float cold = term[0] * lane.cold[0];
  float value = term[0];
  RETABLE_UNROLL
  for (int q = 1; q < Q; ++q) {
    cold = MultiplyAdd(term[q], lane.cold[q], cold);
    value += term[q];
  }
  std::uint32_t left = partners & 0xffffu;
  RETABLE_ROLLED
  for (; left > 4; left -= 4) {
    const std::uint32_t words[4] = {Bits(four.x), Bits(four.y), Bits(four.z), Bits(four.w)};
    four = *++at;
    AddSome<4>(words, states, lane, term, cold, memory);
  }
  if (left == 4) {
    const std::uint32_t words[4] = {Bits(four.x), Bits(four.y), Bits(four.z), Bits(four.w)};
    AddSome<4>(words, states, lane, term, cold, memory);
  } else if (left == 3) {
    const std::uint32_t words[3] = {Bits(four.x), Bits(four.y), Bits(four.z)};
    AddSome<3>(words, states, lane, term, cold, memory);
  } else if (left == 2) {
    const std::uint32_t words[2] = {Bits(four.x), Bits(four.y)};
    AddSome<2>(words, states, lane, term, cold, memory);
  } else if (left == 1) {
    const std::uint32_t words[1] = {Bits(four.x)};
    AddSome<1>(words, states, lane, term, cold, memory);
  }
  memory.Sum(partners >> 16 << kSumShift) += value;
}

//! Runs the instructions of a tile.
template <bool General, int Q, class Mask, class Memory>
RETABLE_HD void Run(const Float4* at, const Float4* states, Lane<Q, Mask>& lane, Memory& memory) {
  constexpr int V = kGroups<Q>;
  Float4 next_head = *at;
  for (;;) {
    const Float4 head = next_head;
    const auto op = static_cast<std::int32_t>(Bits(head.x) & 255u);
    if (op == kEnd) return;
    const Float4* now = at + 1;
    at += Bits(head.x) >> 8;
    next_head = *at;
    if (op <= kUpLeaf) {
      const int slot = static_cast<int>(Bits(head.y));
      const std::uint32_t position = Bits(head.w) & 255u;
      const bool splits = op == kLeafParent || op == kDown;
      const Float4* rest = splits ? now + 1 : now;
      const Float4 weights = rest[0];
      float g[Q];
      LoadPoints<Q>(rest + 1, g);
      rest += 1 + V;
      const Side side = splits
                            ? Locate<General>(now[0], memory)
                            : Side{(lane.inside >> slot & 1u) != 0, (lane.above >> slot & 1u) != 0};
      const bool second = side.above == ((Bits(head.w) & 256u) != 0);
      const float delta = side.Delta(weights.x, weights.y);
      if (op == kDown) {
        memory.PushG(slot, lane.g);
        PutBit(lane.inside, slot, side.inside);
        PutBit(lane.above, slot, side.above);
        PutBit(lane.saved, slot, Follows(lane.mask, position));
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) {
          lane.g[q] -= lane.g[q] * MultiplyAdd(g[q], delta, weights.z);
        }
        SetBit(lane.mask, position, side.inside && !second);
        continue;
      }
      if (op == kMid) {
        memory.PushK(slot, lane.k);
        memory.PeekG(slot, lane.g);
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) lane.g[q] *= MultiplyAdd(g[q], delta, weights.z);
        SetBit(lane.mask, position, side.inside && second);
        continue;
      }
      float term[Q];
      LoadPoints<Q>(rest, term);
      if (op == kLeafParent) {
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) {
          term[q] *= lane.g[q] * delta;
          lane.k[q] = MultiplyAdd(g[q], delta, weights.z);
        }
      } else {
        float first[Q];
        if (op == kUp) {
          memory.PeekK(slot, first);
        } else {
          RETABLE_UNROLL
          for (int q = 0; q < Q; ++q) {
            first[q] = lane.k[q];
            lane.k[q] = weights.w;
          }
        }
        memory.PeekG(slot, lane.g);
        SetBit(lane.mask, position, (lane.saved >> slot & 1u) != 0);
        RETABLE_UNROLL
        for (int q = 0; q < Q; ++q) {
          const float difference = lane.k[q] - first[q];
          term[q] *= lane.g[q] * difference * delta;
          lane.k[q] = MultiplyAdd(MultiplyAdd(g[q], delta, weights.z), difference, first[q]);
        }
      }
      AddInteractions(rest + V, Bits(head.z), states, lane, term, memory);
    } else if (op == kShared) {
      memory.Shared(now, head, lane.k);
    } else {
      memory.Below(Bits(head.y), lane.k);
    }
  }
}

//! Evaluates a tile; K is in the lane afterwards.
template <bool General, int Q, class Mask, class Memory>
RETABLE_HD void Evaluate(const Float4* words, const InteractionTile& tile, Lane<Q, Mask>& lane,
                         Memory& memory) {
  const Float4* states = States(words, tile);
  const Float4* at = Start<General>(states + tile.states * kGroups<Q>, tile.factors, lane, memory);
  Run<General>(at, states, lane, memory);
}

}  // namespace retable::treeshap::ancestor

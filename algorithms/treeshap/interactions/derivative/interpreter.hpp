#pragma once
//! @file
//! Runs a subtree tile of a derivative tape (interactions/derivative/tape.hpp) for the row of one
//! lane. The same code is the CUDA kernel's body and, with plain arrays as memory, a CPU function
//! that tests it.
//!
//! `Memory` gives: X(bits), InSet(offset, x), Push and Peek of G by slot of the stack, Get and Put
//! of a vector, Sum(slot), a reference, Value(i, phi), a sum that is complete, Below(vector, to), a
//! vector of a tile below, and Leave(i, vector), for the tile above.

#include "algorithms/treeshap/interactions/common/tile_interpreter.hpp"
#include "algorithms/treeshap/interactions/derivative/tape.hpp"
#include "algorithms/treeshap/quadrature/tape/interpreter.hpp"
#include "base/cuda/host_device.hpp"

namespace retable::treeshap::derivatives {

using tape::Bits;
using tape::MultiplyAdd;
using tape::Side;
using tiles::kGroups;
using tiles::LoadPoints;
using tiles::Locate;

template <int Q>
RETABLE_HD float Dot(const float (&a)[Q], const float (&b)[Q]) {
  float sum = a[0] * b[0];
  RETABLE_UNROLL
  for (int q = 1; q < Q; ++q) sum = MultiplyAdd(a[q], b[q], sum);
  return sum;
}

template <int Q>
struct Lane {
  float g[Q];
  float k[Q];
  std::uint32_t sides = 0;  //!< two bits for each split above, the last split lowest
};

//! The row's change of the second child's weight.
RETABLE_HD float Delta(const Float4& head, std::uint32_t sides) {
  return (sides & 2u) != 0 ? head.z : (sides & 1u) != 0 ? head.w : 0.0f;
}

//! Where a tile's weights begin, behind its sums.
RETABLE_HD const Float4* Weights(const Float4* words, const DerivativeTile& tile) {
  return words + (tile.interactions + tile.values + 3) / 4;
}

//! G at a tile's root; returns where its instructions start.
template <bool General, int Q, class Memory>
RETABLE_HD const Float4* Start(const Float4* at, std::uint32_t factors, Lane<Q>& lane,
                               Memory& memory) {
  LoadPoints<Q>(at, lane.g);
  float t[Q];
  LoadPoints<Q>(at + kGroups<Q>, t);
  at += 2 * kGroups<Q>;
  for (std::uint32_t i = 0; i < factors; ++i) {
    const Float4 split = at[0];
    const Side side = Locate<General>(split, memory);
    const bool follows = side.inside && side.above == ((Bits(split.w) & kBelow) == 0);
    const float followed = follows ? 1.0f : 0.0f;
    float cold[Q];
    LoadPoints<Q>(at + 1, cold);
    at += 1 + kGroups<Q>;
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) lane.g[q] *= MultiplyAdd(t[q], followed, cold[q]);
  }
  return at;
}

//! Groups of four words of a kLeafParent.
template <int Q>
inline constexpr int kLeafParentGroups = 2 + 2 * kGroups<Q>;

//! K and D of a parent of two leaves; returns where its D goes.
template <bool General, int Q, class Memory>
RETABLE_HD std::uint32_t LeafParent(const Float4* at, const Float4& head, float (&k)[Q],
                                    float (&d)[Q], Memory& memory) {
  const Float4 split = at[1];
  float g[Q];
  float e[Q];
  LoadPoints<Q>(at + 2, g);
  LoadPoints<Q>(at + 2 + kGroups<Q>, e);
  const float delta = Locate<General>(split, memory).Delta(head.z, head.w);
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) {
    k[q] = MultiplyAdd(g[q], delta, head.y);
    d[q] = e[q] * delta;
  }
  return Bits(head.x) >> 16;
}

inline constexpr std::uint32_t kSlotMask = (1u << kIndexShift) - 1;

// A node's factors in registers: the weight r of its second child, and G w e delta for the sums.
template <int Q>
struct Joint {
  float r[Q], a[Q];
};

//! Joins two children: K of the node, and its own D.
template <int Q>
RETABLE_HD Joint<Q> Join(const Float4* tables, float w, float delta, const float (&g)[Q],
                         const float (&first)[Q], const float (&second)[Q], float (&k)[Q],
                         float (&own)[Q]) {
  Joint<Q> joint;
  float e[Q];
  LoadPoints<Q>(tables, joint.r);
  LoadPoints<Q>(tables + kGroups<Q>, e);
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) {
    const float difference = second[q] - first[q];
    e[q] *= delta;
    joint.r[q] = MultiplyAdd(joint.r[q], delta, w);
    joint.a[q] = g[q] * e[q];
    own[q] = e[q] * difference;
    k[q] = MultiplyAdd(joint.r[q], difference, first[q]);
  }
  return joint;
}

template <int Q, class Memory>
RETABLE_HD void PutOrAdd(std::uint32_t to, const float (&d)[Q], Memory& memory) {
  if ((to & kAdds) != 0) {
    float sum[Q];
    memory.Get(to & ~kAdds, sum);
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) sum[q] += d[q];
    memory.Put(to & ~kAdds, sum);
  } else {
    memory.Put(to, d);
  }
}

//! D of the first child alone: returns what the sum of the interaction loses.
template <int Q>
RETABLE_HD float KeepFirst(const Joint<Q>& joint, float (&d)[Q]) {
  const float dot = Dot<Q>(joint.a, d);
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) d[q] = MultiplyAdd(-joint.r[q], d[q], d[q]);
  return dot;
}

template <int Q>
RETABLE_HD float KeepSecond(const Joint<Q>& joint, float (&d)[Q]) {
  const float dot = Dot<Q>(joint.a, d);
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) d[q] *= joint.r[q];
  return dot;
}

//! A parent of two leaf parents, or of a leaf parent and a leaf.
template <bool General, bool Leaf, int Q, class Memory>
RETABLE_HD void Fork(const Float4* at, const Float4& head, Lane<Q>& lane, Memory& memory) {
  constexpr int V = kGroups<Q>;
  const Float4 split = at[1];
  const Float4 to = at[2];
  const Float4* tables = at + 3;
  const Float4* child = tables + 2 * V;
  float k1[Q];
  float d1[Q];
  float k2[Q];
  float d2[Q];
  float own[Q];
  const std::uint32_t first = LeafParent<General>(child, child[0], k1, d1, memory) * kColumn;
  std::uint32_t second = 0;
  if constexpr (Leaf) {
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) k2[q] = to.w;
  } else {
    child += kLeafParentGroups<Q>;
    const Float4 second_head = child[0];
    LeafParent<General>(child, second_head, k2, d2, memory);
    second = Bits(to.w);
  }
  const float delta = Locate<General>(split, memory).Delta(head.z, head.w);
  const Joint<Q> joint = Join<Q>(tables, head.y, delta, lane.g, k1, k2, lane.k, own);
  memory.Sum(Bits(to.y)) -= KeepFirst<Q>(joint, d1);
  memory.Put(first, d1);
  if constexpr (!Leaf) {
    memory.Sum(Bits(to.z)) += KeepSecond<Q>(joint, d2);
    PutOrAdd<Q>(second, d2, memory);
  }
  PutOrAdd<Q>(Bits(to.x), own, memory);
}

//! N vectors of both children at once: all are read before the first is written.
template <bool FromTile, int N, int Q, class Memory>
RETABLE_HD void BothSome(const Float4* items, const Joint<Q>& joint, Memory& memory) {
  float d[N][Q];
  float sum[N];
  Float4 item[N];
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) {
    item[i] = items[i];
    float second[Q];
    if constexpr (FromTile) {
      memory.Below(Bits(item[i].y), second);
    } else {
      memory.Get(Bits(item[i].y), second);
    }
    memory.Get(Bits(item[i].x), d[i]);
    sum[i] = memory.Sum(Bits(item[i].z));
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) {
      const float difference = second[q] - d[i][q];
      sum[i] = MultiplyAdd(joint.a[q], difference, sum[i]);
      d[i][q] = MultiplyAdd(joint.r[q], difference, d[i][q]);
    }
  }
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) {
    memory.Put(Bits(item[i].x), d[i]);
    memory.Sum(Bits(item[i].z)) = sum[i];
  }
}

template <bool FromTile, int Q, class Memory>
RETABLE_HD const Float4* Both(const Float4* items, std::uint32_t count, const Joint<Q>& joint,
                              Memory& memory) {
  if constexpr (FromTile && Q < 8) {
    RETABLE_ROLLED
    for (; count > 3; count -= 4, items += 4) BothSome<FromTile, 4>(items, joint, memory);
  }
  RETABLE_ROLLED
  for (; count > 1; count -= 2, items += 2) BothSome<FromTile, 2>(items, joint, memory);
  if (count > 0) BothSome<FromTile, 1>(items++, joint, memory);
  return items;
}

//! N vectors of a second child that is a tile below.
template <int N, int Q, class Memory>
RETABLE_HD void TakeSome(const Float4* items, const Joint<Q>& joint, Memory& memory) {
  float d[N][Q];
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) memory.Below(Bits(items[i].y), d[i]);
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) {
    const Float4 item = items[i];
    memory.Sum(Bits(item.z)) += KeepSecond<Q>(joint, d[i]);
    memory.Put(Bits(item.x), d[i]);
  }
}

//! The same of one child alone; two words an item.
template <bool First, int N, int Q, class Memory>
RETABLE_HD void LoneSome(const Float4& items, const Joint<Q>& joint, Memory& memory) {
  const std::uint32_t at[2] = {Bits(items.x), Bits(items.z)};
  const std::uint32_t to[2] = {Bits(items.y), Bits(items.w)};
  float d[N][Q];
  float sum[N];
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) {
    memory.Get(at[i], d[i]);
    sum[i] = memory.Sum(to[i]);
  }
  RETABLE_UNROLL
  for (int i = 0; i < N; ++i) {
    sum[i] = First ? sum[i] - KeepFirst<Q>(joint, d[i]) : sum[i] + KeepSecond<Q>(joint, d[i]);
    memory.Put(at[i], d[i]);
    memory.Sum(to[i]) = sum[i];
  }
}

template <bool First, int Q, class Memory>
RETABLE_HD const Float4* Lone(const Float4* items, std::uint32_t count, const Joint<Q>& joint,
                              Memory& memory) {
  RETABLE_ROLLED
  for (; count > 1; count -= 2) LoneSome<First, 2>(*items++, joint, memory);
  if (count > 0) LoneSome<First, 1>(*items++, joint, memory);
  return items;
}

//! Joins the children of a node after the second is done.
template <bool General, Op kind, int Q, class Memory>
RETABLE_HD void Up(const Float4* at, const Float4& head, Lane<Q>& lane, Memory& memory) {
  constexpr int V = kGroups<Q>;
  const std::uint32_t slot = Bits(head.x) >> 16 & kSlotMask;
  const Float4 to = at[1];
  const float delta = Delta(head, lane.sides);
  lane.sides >>= 2;
  const Float4* items = at + 2 + 2 * V;
  float first[Q];
  float second[Q];
  float d2[Q];
  float own[Q];
  std::uint32_t to_second = 0;
  if constexpr (kind == kUp) {
    memory.Get((Bits(head.x) >> (16 + kIndexShift)) * kColumn, first);
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) second[q] = lane.k[q];
  } else {
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) first[q] = lane.k[q];
    if constexpr (kind == kUpTile) {
      memory.Below(Bits(to.w), second);
    } else if constexpr (kind == kUpLeaf) {
      RETABLE_UNROLL
      for (int q = 0; q < Q; ++q) second[q] = to.w;
    } else {
      LeafParent<General>(items, items[0], second, d2, memory);
      to_second = Bits(to.w);
      items += kLeafParentGroups<Q>;
    }
  }
  memory.Peek(slot, lane.g);
  const Joint<Q> joint = Join<Q>(at + 2, head.y, delta, lane.g, first, second, lane.k, own);
  const std::uint32_t counts = Bits(to.y);
  if constexpr (kind == kUp || kind == kUpTile) {
    items = Both<kind == kUpTile>(items, counts & 255u, joint, memory);
  }
  items = Lone<true>(items, counts >> 8 & 255u, joint, memory);
  if constexpr (kind == kUp) Lone<false>(items, counts >> 16, joint, memory);
  if constexpr (kind == kUpTile) {
    std::uint32_t left = counts >> 16;
    if constexpr (Q < 8) {
      RETABLE_ROLLED
      for (; left > 3; left -= 4, items += 4) TakeSome<4>(items, joint, memory);
    }
    RETABLE_ROLLED
    for (; left > 1; left -= 2, items += 2) TakeSome<2>(items, joint, memory);
    if (left > 0) TakeSome<1>(items, joint, memory);
  }
  if constexpr (kind == kUpLeafParent) {
    memory.Sum(Bits(to.z)) += KeepSecond<Q>(joint, d2);
    PutOrAdd<Q>(to_second, d2, memory);
  }
  PutOrAdd<Q>(Bits(to.x), own, memory);
}

RETABLE_HD std::uint32_t Word(const Float4* words, std::uint32_t i) {
  return reinterpret_cast<const std::uint32_t*>(words)[i];
}

//! Instructions on vectors alone: taken from a tile below, left for the tile above, or summed.
template <int Q, class Memory>
RETABLE_HD void Move(std::int32_t op, const Float4* at, const Float4& head, const Float4* weights,
                     Lane<Q>& lane, Memory& memory) {
  const Float4* list = at + 1;
  const std::uint32_t first = Bits(head.y);
  const std::uint32_t count = Bits(head.z);
  float w[Q];
  LoadPoints<Q>(weights, w);
  if (op == kTile) {
    constexpr std::uint32_t kAhead = Q < 8 ? 4 : 2;
    memory.Below(first, lane.k);
    RETABLE_ROLLED
    for (std::uint32_t i = 0; i < count; i += kAhead) {
      float d[kAhead][Q];
      RETABLE_UNROLL
      for (std::uint32_t j = 0; j < kAhead; ++j) {
        memory.Below(first + (i + j < count ? 1 + i + j : count), d[j]);
      }
      RETABLE_UNROLL
      for (std::uint32_t j = 0; j < kAhead; ++j) {
        if (i + j < count) memory.Put(Word(list, i + j), d[j]);
      }
    }
    return;
  }
  if (op == kLeave) memory.Leave(0, lane.k);
  RETABLE_ROLLED
  for (std::uint32_t i = 0; i < count; ++i) {
    float d[Q];
    if (op == kLeave) {
      memory.Get(Word(list, i), d);
      memory.Leave(1 + i, d);
    } else {
      memory.Get(Word(list, i), d);
      memory.Value(i, Dot<Q>(w, d));
    }
  }
}

//! Goes down to the first child.
template <bool General, int Q, class Memory>
RETABLE_HD void Down(const Float4* at, const Float4& head, Lane<Q>& lane, Memory& memory) {
  const std::uint32_t slot = Bits(head.x) >> 16;
  const Side side = Locate<General>(at[1], memory);
  float g[Q];
  LoadPoints<Q>(at + 2, g);
  memory.Push(slot, lane.g);
  lane.sides = lane.sides << 2 | (side.inside ? (side.above ? 2u : 1u) : 0u);
  const float delta = side.Delta(head.z, head.w);
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) {
    lane.g[q] = MultiplyAdd(-lane.g[q], MultiplyAdd(g[q], delta, head.y), lane.g[q]);
  }
}

//! Goes from the first child to the second.
template <int Q, class Memory>
RETABLE_HD void Middle(const Float4* at, const Float4& head, Lane<Q>& lane, Memory& memory) {
  const std::uint32_t slot = Bits(head.x) >> 16 & kSlotMask;
  float g[Q];
  LoadPoints<Q>(at + 1, g);
  memory.Put((Bits(head.x) >> (16 + kIndexShift)) * kColumn, lane.k);
  memory.Peek(slot, lane.g);
  const float delta = Delta(head, lane.sides);
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) lane.g[q] *= MultiplyAdd(g[q], delta, head.y);
}

//! Runs the instructions of a tile.
template <bool General, int Q, class Memory>
RETABLE_HD void Run(const Float4* at, const Float4* weights, Lane<Q>& lane, Memory& memory) {
  Float4 next_head = *at;
  for (;;) {
    const Float4 head = next_head;
    const Float4* now = at;
    const auto op = static_cast<std::int32_t>(Bits(head.x) & 15u);
    at += Bits(head.x) >> 4 & 0xfffu;
    next_head = *at;
    // Frequent instructions come first: each comparison costs an issue slot.
    if (op == kDown) {
      Down<General>(now, head, lane, memory);
    } else if (op == kUpLeaf) {
      Up<General, kUpLeaf>(now, head, lane, memory);
    } else if (op == kForkLeaf) {
      Fork<General, true>(now, head, lane, memory);
    } else if (op == kMid) {
      Middle(now, head, lane, memory);
    } else if (op == kUp) {
      Up<General, kUp>(now, head, lane, memory);
    } else if (op == kUpLeafParent) {
      Up<General, kUpLeafParent>(now, head, lane, memory);
    } else if (op == kUpTile) {
      Up<General, kUpTile>(now, head, lane, memory);
    } else if (op == kFork) {
      Fork<General, false>(now, head, lane, memory);
    } else if (op == kLeafParent) {
      float d[Q];
      const std::uint32_t to = LeafParent<General>(now, head, lane.k, d, memory);
      memory.Put(to * kColumn, d);
    } else if (op == kEnd) {
      return;
    } else {
      Move<Q>(op, now, head, weights, lane, memory);
    }
  }
}

//! Evaluates a tile.
template <bool General, int Q, class Memory>
RETABLE_HD void Evaluate(const Float4* words, const DerivativeTile& tile, Lane<Q>& lane,
                         Memory& memory) {
  const Float4* weights = Weights(words, tile);
  const Float4* at = Start<General>(weights, tile.factors, lane, memory);
  Run<General>(at, weights, lane, memory);
}

}  // namespace retable::treeshap::derivatives

#pragma once
//! @file
//! Runs a tape (quadrature/tape/compiler.hpp) for the rows of one lane. The same code is the CUDA
//! kernel's body and, with plain arrays as memory, a CPU function that tests it. The recurrence and
//! its names are quadrature/annotated_model.hpp's; "first" and "second" take the place of left and
//! right.
//!
//! `Memory` gives: X(bits, x), AddPhi(bits, change), Push(slot, g), Peek(slot, g), InSet(offset, x)
//! Shared(at, k), which takes a shared subtree's K and contributions and returns where the next
//! instruction starts, and Fold(at, count) and Spill(at, count), which do so too behind a list of
//! sums. `bits` is a record's feature with its flags. Arrays hold R rows (fastest) by Q points.
//! Memory::kSharedSubtrees and kCategories: whether instructions may take shared subtrees, and
//! splits be categorical.

#include "algorithms/treeshap/quadrature/tape/format.hpp"
#include "base/cuda/host_device.hpp"
#include "base/cuda/unroll.hpp"

#if !defined(__CUDA_ARCH__)
#include <bit>
#endif

namespace retable::treeshap::tape {

RETABLE_HD std::uint32_t Bits(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}

RETABLE_HD float MultiplyAdd(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return a * b + c;
#endif
}

//! A node record in registers.
template <int Q>
struct Record {
  const Float4* tape;  //!< its address
  float word[4 * RecordSize(Q)];

  RETABLE_HD explicit Record(const Float4* at) : tape(at) {
    RETABLE_UNROLL
    for (int i = 0; i < RecordSize(Q); ++i) {
      const Float4 four = at[i];
      word[4 * i] = four.x;
      word[4 * i + 1] = four.y;
      word[4 * i + 2] = four.z;
      word[4 * i + 3] = four.w;
    }
  }
  RETABLE_HD float weight() const { return word[6]; }
  RETABLE_HD float value() const { return word[7]; }
  RETABLE_HD float g(int q) const { return word[8 + q]; }
  RETABLE_HD float e(int q) const { return word[8 + Q + q]; }
  RETABLE_HD std::uint32_t bits() const { return Bits(word[3]); }
  RETABLE_HD Float4 split() const { return {word[0], word[1], word[2], word[3]}; }
};

//! Slots whose nodes' sides are kept, a bit each.
inline constexpr int kKeptSides = 32;

//! G and K of one lane.
template <int Q, int R>
struct LaneState {
  float g[Q * R];
  float k[Q * R];
  float first[Q * R];  //!< K of a first child while the second, a treelet, runs
  float delta[R];      //!< delta of the node above that treelet
  // Of the node at each slot: whether a row is inside, and whether it goes above.
  std::uint32_t inside[R] = {}, above[R] = {};
};

//! Where a row is at a split.
struct Side {
  bool inside, above;

  RETABLE_HD float Delta(float above_delta, float below_delta) const {
    const float d = above ? above_delta : below_delta;
    return inside ? d : 0.0f;
  }
};

//! The side of a value, `split` as the first four words of a record. General: it may be missing.
//! Categories: the split may be categorical, and `category` gives its side.
template <bool General, bool Categories, class Category>
RETABLE_HD Side SideOf(const Float4& split, float x, const Category& category) {
  const std::uint32_t bits = Bits(split.w);
  Side side{((x >= split.x) & (x < split.y)) != 0, x >= split.z};
  if constexpr (Categories) {
    if ((bits & kCategorical) != 0) side = category();
  }
  if constexpr (General) {
    const bool missing = x != x;
    side.inside = missing ? (bits & kMissingInside) != 0 : side.inside;
    side.above = missing ? (bits & kMissingAbove) != 0 : side.above;
  }
  return side;
}

//! Whether a value is above a categorical split; or else, whether it is inside.
template <class Memory>
RETABLE_HD bool IsAtCategory(const Float4& split, bool above, float x, const Memory& memory) {
  const std::uint32_t set = Bits(above ? split.y : split.x);
  return (set == ~0u || memory.InSet(set, x)) != above;
}

//! Sides of R rows at the categorical splits of an instruction.
template <int R>
class CategorySides {
 public:
  //! Finds them for `nodes` records. One loop for all nodes and sides: this code, seldom run, does
  //! not lie between the code of other splits.
  template <int Q, class Memory>
  RETABLE_HD void Find(const Float4* at, int nodes, const Memory& memory) {
    RETABLE_ROLLED
    for (int node = 0; node < nodes; ++node) {
      const Float4 split = at[node * RecordSize(Q)];
      if ((Bits(split.w) & kCategorical) == 0) continue;
      float x[R];
      memory.X(Bits(split.w), x);
      RETABLE_ROLLED
      for (int i = 0; i < 2 * R; ++i) {
        const bool is = IsAtCategory(split, i % 2 != 0, i < 2 ? x[0] : x[R - 1], memory);
        sides_ |= static_cast<std::uint32_t>(is) << (node * 2 * R + i);
      }
    }
  }

  RETABLE_HD Side At(int node, int r) const {
    const std::uint32_t two = sides_ >> (2 * (node * R + r));
    return {(two & 1u) != 0, (two & 2u) != 0};
  }

 private:
  static_assert(R <= 2);
  std::uint32_t sides_ = 0;  // of each node's rows: inside, above
};

//! The side of each row at one node. General: with missing values and, where memory has them,
//! categories.
template <bool General, int Q, int R, class Memory>
RETABLE_HD void FindSides(const Record<Q>& record, Memory& memory, Side (&sides)[R]) {
  constexpr bool kCategories = General && Memory::kCategories;
  const Float4 split = record.split();
  float x[R];
  memory.X(record.bits(), x);
  CategorySides<R> categories;
  if constexpr (kCategories) {
    if ((record.bits() & kCategorical) != 0) categories.template Find<Q>(record.tape, 1, memory);
  }
  RETABLE_UNROLL
  for (int r = 0; r < R; ++r) {
    sides[r] = SideOf<General, kCategories>(split, x[r], [&] { return categories.At(0, r); });
  }
}

//! delta of each row.
template <bool General, int Q, int R, class Memory>
RETABLE_HD void Route(const Record<Q>& record, Memory& memory, float (&delta)[R]) {
  Side sides[R];
  FindSides<General, Q, R>(record, memory, sides);
  RETABLE_UNROLL
  for (int r = 0; r < R; ++r) delta[r] = sides[r].Delta(record.word[4], record.word[5]);
}

//! The same on the way down, and keeps the sides for the node's slot.
template <bool General, int Q, int R, class Memory>
RETABLE_HD void RouteDown(const Record<Q>& record, int slot, LaneState<Q, R>& state, Memory& memory,
                          float (&delta)[R]) {
  Side sides[R];
  FindSides<General, Q, R>(record, memory, sides);
  const std::uint32_t bit = General && slot < kKeptSides ? 1u << slot : 0;
  RETABLE_UNROLL
  for (int r = 0; r < R; ++r) {
    delta[r] = sides[r].Delta(record.word[4], record.word[5]);
    if constexpr (General) {
      state.inside[r] = sides[r].inside ? state.inside[r] | bit : state.inside[r] & ~bit;
      state.above[r] = sides[r].above ? state.above[r] | bit : state.above[r] & ~bit;
    }
  }
}

//! The same later on. To look up a side is less work than to compare a value that may be missing
//! again; without missing values it is not.
template <bool General, int Q, int R, class Memory>
RETABLE_HD void RouteAgain(const Record<Q>& record, int slot, const LaneState<Q, R>& state,
                           Memory& memory, float (&delta)[R]) {
  if (!General || slot >= kKeptSides) return Route<General, Q, R>(record, memory, delta);
  const std::uint32_t bit = 1u << slot;
  RETABLE_UNROLL
  for (int r = 0; r < R; ++r) {
    const Side side{(state.inside[r] & bit) != 0, (state.above[r] & bit) != 0};
    delta[r] = side.Delta(record.word[4], record.word[5]);
  }
}

//! delta of each row at all nodes of a treelet. General: first all values are read, since no load
//! moves up past the branch of a categorical split.
template <bool General, int Q, int R, int Nodes, class Memory>
RETABLE_HD void RouteTreelet(const Float4* at, Memory& memory, std::uint32_t (&feature)[Nodes],
                             float (&delta)[Nodes][R]) {
  if constexpr (!General) {
    RETABLE_UNROLL
    for (int i = 0; i < Nodes; ++i) {
      const Record<Q> record(at + i * RecordSize(Q));
      Route<General, Q, R>(record, memory, delta[i]);
      feature[i] = record.bits();
    }
    return;
  }
  float x[Nodes][R];
  std::uint32_t flags = 0;
  RETABLE_UNROLL
  for (int i = 0; i < Nodes; ++i) {
    feature[i] = Bits(at[i * RecordSize(Q)].w);
    flags |= feature[i];
    memory.X(feature[i], x[i]);
  }
  static_assert(2 * R * Nodes <= 32, "CategorySides has a bit for each side");
  CategorySides<R> categories;
  if constexpr (Memory::kCategories) {
    if ((flags & kCategorical) != 0) categories.template Find<Q>(at, Nodes, memory);
  }
  RETABLE_UNROLL
  for (int i = 0; i < Nodes; ++i) {
    const Float4* record = at + i * RecordSize(Q);
    const Float4 split = record[0];
    const Float4 deltas = record[1];
    RETABLE_UNROLL
    for (int r = 0; r < R; ++r) {
      const Side side =
          SideOf<General, Memory::kCategories>(split, x[i][r], [&] { return categories.At(i, r); });
      delta[i][r] = side.Delta(deltas.x, deltas.y);
    }
  }
}

// Shapes.
struct L {
  static constexpr int kNodes = 0;
};
template <class First, class Second>
struct N {
  static constexpr int kNodes = 1 + First::kNodes + Second::kNodes;
};
using P = N<L, L>;
using A = N<P, L>;
using B = N<P, P>;

//! Given K of both children, leaves K of the node in `k` (which holds K of the second child before)
//! and returns the node's contribution in `sum`.
template <int Q, int R>
RETABLE_HD void Join(const Record<Q>& record, const float (&delta)[R], const float (&g)[Q * R],
                     const float (&first)[Q * R], float (&k)[Q * R], float (&sum)[R]) {
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) {
    RETABLE_UNROLL
    for (int r = 0; r < R; ++r) {
      const int i = q * R + r;
      const float difference = k[i] - first[i];
      const float share = MultiplyAdd(record.g(q), delta[r], record.weight());
      const float part = g[i] * record.e(q);
      sum[r] = q == 0 ? part * difference : MultiplyAdd(part, difference, sum[r]);
      k[i] = MultiplyAdd(share, difference, first[i]);
    }
  }
  RETABLE_UNROLL
  for (int r = 0; r < R; ++r) sum[r] *= delta[r];
}

//! G of the second child.
template <int Q, int R>
RETABLE_HD void SecondG(const Record<Q>& record, const float (&delta)[R], const float (&g)[Q * R],
                        float (&second)[Q * R]) {
  RETABLE_UNROLL
  for (int q = 0; q < Q; ++q) {
    RETABLE_UNROLL
    for (int r = 0; r < R; ++r) {
      second[q * R + r] = g[q * R + r] * MultiplyAdd(record.g(q), delta[r], record.weight());
    }
  }
}

//! Sums of a treelet's nodes that are added when all is read: no store stands between the loads,
//! and the compiler may order them freely.
template <int Nodes, int R, class Memory>
struct SumsLast {
  Memory& memory;
  std::uint32_t feature[Nodes];
  float sum[Nodes][R];

  RETABLE_HD explicit SumsLast(Memory& to) : memory(to) {}
  RETABLE_HD void Add(int node, const float (&change)[R]) {
    RETABLE_UNROLL
    for (int r = 0; r < R; ++r) sum[node][r] = change[r];
  }
  RETABLE_HD void Finish() {
    RETABLE_UNROLL
    for (int i = 0; i < Nodes; ++i) memory.AddPhi(feature[i], sum[i]);
  }
};

//! A subtree in registers. Nodes are numbered in preorder; delta holds all of them.
template <class Shape>
struct Treelet;

template <>
struct Treelet<L> {
  template <int Q, int R, int Index, int Nodes, class Sums>
  static RETABLE_HD void Run(const Float4*, const float (&)[Nodes][R], Sums&,
                             const float (&)[Q * R], float (&)[Q * R]) {}
};

//! Both children are leaves: K is linear in delta, the contribution is one dot product with G.
template <>
struct Treelet<P> {
  template <int Q, int R, int Index, int Nodes, class Sums>
  static RETABLE_HD void Run(const Float4* at, const float (&delta)[Nodes][R], Sums& sums,
                             const float (&g)[Q * R], float (&k)[Q * R]) {
    const Record<Q> record(at + Index * RecordSize(Q));
    float sum[R];
    RETABLE_UNROLL
    for (int q = 0; q < Q; ++q) {
      RETABLE_UNROLL
      for (int r = 0; r < R; ++r) {
        const int i = q * R + r;
        k[i] = MultiplyAdd(record.g(q), delta[Index][r], record.weight());
        sum[r] = q == 0 ? g[r] * record.e(0) : MultiplyAdd(g[i], record.e(q), sum[r]);
      }
    }
    RETABLE_UNROLL
    for (int r = 0; r < R; ++r) sum[r] *= delta[Index][r];
    sums.Add(Index, sum);
  }
};

template <class First, class Second>
struct Treelet<N<First, Second>> {
  template <int Q, int R, int Index, int Nodes, class Sums>
  static RETABLE_HD void Run(const Float4* at, const float (&delta)[Nodes][R], Sums& sums,
                             const float (&g)[Q * R], float (&k)[Q * R]) {
    const Record<Q> record(at + Index * RecordSize(Q));
    float second_g[Q * R];
    float child_g[Q * R];
    float first[Q * R];
    SecondG<Q, R>(record, delta[Index], g, second_g);
    RETABLE_UNROLL
    for (int i = 0; i < Q * R; ++i) child_g[i] = g[i] - second_g[i];
    Treelet<First>::template Run<Q, R, Index + 1, Nodes>(at, delta, sums, child_g, first);
    RETABLE_UNROLL
    for (int i = 0; i < Q * R; ++i) k[i] = record.value();
    Treelet<Second>::template Run<Q, R, Index + 1 + First::kNodes, Nodes>(at, delta, sums, second_g,
                                                                          k);
    float sum[R];
    Join<Q, R>(record, delta[Index], g, first, k, sum);
    sums.Add(Index, sum);
  }
};

template <class Shape, bool General, int Q, int R, class Memory>
RETABLE_HD void RunTreelet(const Float4* at, LaneState<Q, R>& state, Memory& memory) {
  constexpr int kNodes = Shape::kNodes;
  SumsLast<kNodes, R, Memory> sums(memory);
  float delta[kNodes][R];
  RouteTreelet<General, Q, R>(at, memory, sums.feature, delta);
  Treelet<Shape>::template Run<Q, R, 0, kNodes>(at, delta, sums, state.g, state.k);
  sums.Finish();
}

//! A node on the stack: the slot holds its G.
template <bool General, int Q, int R, class Memory>
RETABLE_HD void Finish(const Float4* at, int slot, const float (&first)[Q * R],
                       LaneState<Q, R>& state, Memory& memory) {
  const Record<Q> record(at);
  float delta[R];
  float g[Q * R];
  float sum[R];
  RouteAgain<General, Q, R>(record, slot, state, memory, delta);
  memory.Peek(slot, g);
  Join<Q, R>(record, delta, g, first, state.k, sum);
  memory.AddPhi(record.bits(), sum);
}

//! The same after a treelet: its routing is still at hand.
template <int Q, int R, class Memory>
RETABLE_HD void FinishTreelet(const Float4* at, int slot, LaneState<Q, R>& state, Memory& memory) {
  const Record<Q> record(at);
  float g[Q * R];
  float sum[R];
  memory.Peek(slot, g);
  Join<Q, R>(record, state.delta, g, state.first, state.k, sum);
  memory.AddPhi(record.bits(), sum);
}

template <bool General, int Q, int R, class Memory>
RETABLE_HD void Down(const Float4* at, int slot, LaneState<Q, R>& state, Memory& memory) {
  const Record<Q> record(at);
  float delta[R];
  RouteDown<General, Q, R>(record, slot, state, memory, delta);
  memory.Push(slot, state.g);
  float second[Q * R];
  SecondG<Q, R>(record, delta, state.g, second);
  RETABLE_UNROLL
  for (int i = 0; i < Q * R; ++i) state.g[i] -= second[i];
}

template <bool General, int Q, int R, class Memory>
RETABLE_HD void Middle(const Float4* at, int slot, LaneState<Q, R>& state, Memory& memory) {
  const Record<Q> record(at);
  float g[Q * R];
  RouteAgain<General, Q, R>(record, slot, state, memory, state.delta);
  memory.Peek(slot, g);
  SecondG<Q, R>(record, state.delta, g, state.g);
}

template <int Q, int R>
RETABLE_HD void StartTree(LaneState<Q, R>& state) {
  RETABLE_UNROLL
  for (int i = 0; i < Q * R; ++i) state.g[i] = 1.0f;
}

//! G at the root of a subtree from its path's factors. Two rows that are inside for the same
//! features get the same bits, wherever they left the others. Returns where the subtree's
//! instructions start.
template <bool General, int Q, int R, class Memory>
RETABLE_HD const Float4* StartSubtree(const Float4* at, std::uint32_t factors,
                                      LaneState<Q, R>& state, Memory& memory) {
  StartTree(state);
  for (std::uint32_t i = 0; i < factors; ++i) {
    const Record<Q> record(at);
    float x[R];
    memory.X(record.bits(), x);
    RETABLE_UNROLL
    for (int r = 0; r < R; ++r) {
      bool inside = x[r] >= record.word[0] && x[r] < record.word[1];
      if constexpr (General) {
        if (x[r] != x[r]) inside = (record.bits() & kMissingInside) != 0;
      }
      RETABLE_UNROLL
      for (int q = 0; q < Q; ++q) state.g[q * R + r] *= inside ? record.g(q) : record.e(q);
    }
    at += RecordSize(Q);
  }
  return at;
}

template <bool General, int Q, int R, class Memory>
RETABLE_HD const Float4* DispatchTreelet(int op, const Float4* at, LaneState<Q, R>& state,
                                         Memory& memory) {
  switch (op) {
#define RETABLE_TREELET(code, ...)                             \
  case code:                                                   \
    RunTreelet<__VA_ARGS__, General, Q, R>(at, state, memory); \
    return at + __VA_ARGS__::kNodes * RecordSize(Q);
    RETABLE_TREELET(kP, P)
    RETABLE_TREELET(kA, A)
    RETABLE_TREELET(kB, B)
    RETABLE_TREELET(kAL, N<A, L>)
    RETABLE_TREELET(kBL, N<B, L>)
    RETABLE_TREELET(kAP, N<A, P>)
    RETABLE_TREELET(kBP, N<B, P>)
    RETABLE_TREELET(kAA, N<A, A>)
    RETABLE_TREELET(kBA, N<B, A>)
    RETABLE_TREELET(kBB, N<B, B>)
#undef RETABLE_TREELET
    default:
      __builtin_unreachable();
  }
}

//! A node whose first child is a shared subtree: G stays where it is, and only a treelet needs its
//! own.
template <bool General, int Q, int R, class Memory>
RETABLE_HD const Float4* Fork(int op, const Float4* at, int slot, LaneState<Q, R>& state,
                              Memory& memory) {
  const Record<Q> record(at);
  Route<General, Q, R>(record, memory, state.delta);
  at = memory.Shared(at + RecordSize(Q), state.first);
  if (op == kForkTreelet) {
    memory.Push(slot, state.g);
    SecondG<Q, R>(record, state.delta, state.g, state.g);
    return at;
  }
  if (op == kFork) {
    at = memory.Shared(at, state.k);
  } else {
    RETABLE_UNROLL
    for (int i = 0; i < Q * R; ++i) state.k[i] = record.value();
  }
  float sum[R];
  Join<Q, R>(record, state.delta, state.g, state.first, state.k, sum);
  memory.AddPhi(record.bits(), sum);
  return at;
}

//! The first child is done and the second is a shared subtree.
template <bool General, int Q, int R, class Memory>
RETABLE_HD const Float4* UpShared(const Float4* at, int slot, LaneState<Q, R>& state,
                                  Memory& memory) {
  RETABLE_UNROLL
  for (int i = 0; i < Q * R; ++i) state.first[i] = state.k[i];
  const Float4* next = memory.Shared(at + RecordSize(Q), state.k);
  Finish<General, Q, R>(at, slot, state.first, state, memory);
  return next;
}

//! The instructions after a first or a second child.
template <bool General, int Q, int R, class Memory>
RETABLE_HD void Close(int op, const Float4* at, int slot, int second_slot, LaneState<Q, R>& state,
                      Memory& memory) {
  if (op == kMid || op == kMidTreelet) {
    if (op == kMid) {
      memory.Push(second_slot, state.k);
    } else {
      RETABLE_UNROLL
      for (int i = 0; i < Q * R; ++i) state.first[i] = state.k[i];
    }
    Middle<General, Q, R>(at, slot, state, memory);
  } else if (op == kUpTreelet) {
    FinishTreelet<Q, R>(at, slot, state, memory);
  } else {
    float first[Q * R];
    if (op == kUp) {
      memory.Peek(second_slot, first);
    } else {
      const Record<Q> record(at);
      RETABLE_UNROLL
      for (int i = 0; i < Q * R; ++i) {
        first[i] = state.k[i];
        state.k[i] = record.value();
      }
    }
    Finish<General, Q, R>(at, slot, first, state, memory);
  }
}

//! Runs instructions up to the end of the chunk. Returns false at the end of the segment.
template <bool General, int Q, int R, class Memory>
RETABLE_HD bool RunChunk(const Float4* at, LaneState<Q, R>& state, Memory& memory) {
  constexpr int kRecord = RecordSize(Q);
  const Float4 start = *at;
  int op = static_cast<int>(Bits(start.x));
  int slot = static_cast<int>(Bits(start.y));
  for (;;) {
    // The next instruction is known a whole instruction ahead of its dispatch.
    const Float4 head = *at;
    const int second_slot = static_cast<int>(Bits(head.y)) >> 16;
    const int here = slot & 0xffff;
    const int now = op;
    op = static_cast<int>(Bits(head.z));
    slot = static_cast<int>(Bits(head.w));
    ++at;
    // Uniform branches, the most frequent instructions first; a switch over few, dense cases.
    if (now == kDown) {
      Down<General, Q, R>(at, here, state, memory);
      at += kRecord;
    } else if (now <= kBB) {
      at = DispatchTreelet<General, Q, R>(now, at, state, memory);
    } else if (Memory::kSharedSubtrees && now == kUpShared) {
      at = UpShared<General, Q, R>(at, here, state, memory);
    } else if (Memory::kSharedSubtrees && now <= kForkTreelet) {
      at = Fork<General, Q, R>(now, at, here, state, memory);
    } else if (Memory::kSharedSubtrees && now == kShared) {
      at = memory.Shared(at, state.k);
    } else if (now <= kUpLeaf) {
      Close<General, Q, R>(now, at, here, second_slot, state, memory);
      at += kRecord;
    } else if (now == kNextTree || now == kFold) {
      if (now == kFold) at = memory.Fold(at, Bits(head.y));
      StartTree(state);
    } else if (now == kSpill) {
      at = memory.Spill(at, Bits(head.y));
    } else {
      return now == kNextChunk;
    }
  }
}

}  // namespace retable::treeshap::tape

#pragma once
//! @file
//! Large nodes, whatever the targets are: lanes are samples, neighbours in a column.
//!
//! A block tries kLargeGroup candidates of a node: it finds their ranges, draws their cuts, and
//! adds up what lies left of them. Samples are in class order, so a warp meets few classes; what
//! its lanes count is added to the class's sum in shared memory, in integers, so in any order.
//! Another block chooses among the cuts of a node and partitions it.

#include <cstdint>
#include <type_traits>

#include "algorithms/extratrees/frontier/cuda/sums_node.cuh"

namespace retable::extratrees::frontier {

enum class TargetKind {
  kPlain,       //!< classes, every sample weighs 1
  kClasses,     //!< weighted classes, missing values
  kRegression,  //!< real targets, missing values
};

//! A candidate's cut, as it is left for the choice.
template <TargetKind kKind>
struct LargeCut {
  std::conditional_t<kKind == TargetKind::kPlain, Chosen, SumsCut> cut;
  std::uint32_t varies;

  //! Whether the cut leaves enough samples on either side.
  __device__ bool Found() const {
    if constexpr (kKind == TargetKind::kPlain) {
      return cut.score.numerator != 0;
    } else {
      return cut.found != 0;
    }
  }
  __device__ bool BetterThan(const LargeCut& other) const {
    if constexpr (kKind == TargetKind::kPlain) {
      return Better(cut.score, other.cut.score);
    } else {
      return cut.score > other.cut.score;
    }
  }
};
static_assert(sizeof(LargeCut<TargetKind::kClasses>) <= kLargeCutBytes);

//! Sums of each candidate, [fields + 1][kLargeGroup]: a class's weight to the left, or the weight
//! and the targets; one number a class behind them: its weight in the node.
inline std::size_t LargeMemoryBytes(std::uint32_t classes, bool regression) {
  return sizeof(unsigned long long) * (regression ? 2 * kLargeGroup : (kLargeGroup + 1) * classes);
}

//! The candidates of a block, in shared memory.
struct LargeGroup {
  std::uint64_t bits[kLargeGroup];
  double threshold[kLargeGroup];
  std::uint32_t feature[kLargeGroup], low[kLargeGroup], high[kLargeGroup], top[kLargeGroup];
  std::uint32_t code[kLargeGroup], shift[kLargeGroup], saw_missing[kLargeGroup];
  std::uint32_t varies[kLargeGroup], n_left[kLargeGroup];
};

template <class Code, TargetKind kKind>
struct LargeScorer {
  static constexpr bool kPlain = kKind == TargetKind::kPlain;
  static constexpr bool kRegression = kKind == TargetKind::kRegression;
  using Weight = std::conditional_t<kPlain, std::uint32_t, std::int64_t>;

  const Problem<Code>& p;
  const Task task;
  const std::uint32_t* ids;
  const std::uint32_t at;  //!< the first candidate's draw
  LargeGroup& g;
  unsigned long long* sums;
  unsigned long long* totals;

  __device__ const Code* Column(std::uint32_t j) const {
    return p.data.columns + std::size_t{g.feature[j]} * p.sizes.rows;
  }

  //! One warp: draws at, at + 1, ...; a place past the last one repeats the first.
  __device__ void Draw() const {
    const std::uint32_t start = at / 32 * 32;
    const Candidate drawn =
        DrawFeatures(p.rules.seed, p.sizes.first_tree + task.tree, task.path, start,
                     ChunkWidth(false, p.sizes.k, p.sizes.features, start), p.sizes.features);
    const std::uint32_t j = start + threadIdx.x - at;  // wraps before `at`
    const int first = static_cast<int>(at - start);
    const std::uint32_t first_feature = __shfl_sync(kAll, drawn.feature, first);
    if (j >= kLargeGroup) return;
    g.feature[j] = at + j < p.sizes.k ? drawn.feature : first_feature;
    g.bits[j] = drawn.bits;
    g.code[j] = g.shift[j] = 0;
    g.low[j] = kAll;
    g.high[j] = g.top[j] = g.n_left[j] = 0;
  }

  //! Codes are taken plus one where values may be missing, so that a missing one wraps to 0.
  __device__ void FindRanges() const {
    const bool missing = !kPlain && p.targets.has_missing;
    const Code shift = missing ? 1 : 0;
    const Code* column[kLargeGroup];
    std::uint32_t low[kLargeGroup], high[kLargeGroup], top[kLargeGroup];
#pragma unroll
    for (std::uint32_t j = 0; j < kLargeGroup; ++j) {
      column[j] = Column(j);
      low[j] = kAll;
      high[j] = top[j] = 0;
    }
#pragma unroll 4
    for (std::uint32_t s = threadIdx.x; s < task.count; s += 32 * kLargeWarps) {
      const std::uint32_t id = ids[s];
#pragma unroll
      for (std::uint32_t j = 0; j < kLargeGroup; ++j) {
        const std::uint32_t code = column[j][id];
        low[j] = min(low[j], code);
        high[j] = max(high[j], static_cast<std::uint32_t>(static_cast<Code>(code + shift)));
        if (!kPlain) top[j] = max(top[j], code);
      }
    }
#pragma unroll
    for (std::uint32_t j = 0; j < kLargeGroup; ++j) {
      const std::uint32_t lowest = WarpMin(low[j]);
      const std::uint32_t highest = WarpMax(high[j]);
      const std::uint32_t topmost = missing ? WarpMax(top[j]) : 0;
      if ((threadIdx.x & 31) != 0) continue;
      atomicMin(g.low + j, lowest);
      atomicMax(g.high + j, highest);
      if (missing) atomicMax(g.top + j, topmost);
    }
  }

  //! One thread a candidate.
  __device__ void DrawCut(std::uint32_t j) const {
    const std::uint32_t low = g.low[j];
    std::uint32_t high = g.high[j];
    const bool missing =
        !kPlain && p.targets.has_missing && g.top[j] == static_cast<Code>(~Code{0});
    const bool none = !kPlain && p.targets.has_missing && high == 0;
    if (!kPlain && p.targets.has_missing) --high;
    g.varies[j] = at + j < p.sizes.k && !none && (missing || Separable(p, g.feature[j], low, high));
    if (g.varies[j] == 0) return;
    const CodedCut drawn = DrawCodedCut(p, g.feature[j], low, high, g.bits[j]);
    g.threshold[j] = drawn.threshold;
    g.code[j] = drawn.code;
    g.saw_missing[j] = missing ? 1 : 0;
    g.shift[j] = missing && DrawMissingLeft(g.bits[j]) ? 1 : 0;
  }

  __device__ static void AddTo(unsigned long long* to, Weight value) {
    if constexpr (kPlain) {
      value = WarpAdd(value);
      if ((threadIdx.x & 31) == 0) atomicAdd(to, static_cast<unsigned long long>(value));
    } else {
      AddShared(to, value);
    }
  }

  //! Adds up samples [from, end), all of class `c` unless targets are real.
  __device__ void AddRun(std::uint32_t c, std::uint32_t from, std::uint32_t end) const {
    const std::uint32_t lane = threadIdx.x & 31;
    const Code* column[kLargeGroup];
    std::uint32_t code[kLargeGroup], shift[kLargeGroup], n[kLargeGroup] = {};
    Weight left[kLargeGroup] = {}, left_sum[kLargeGroup] = {}, all = 0;
#pragma unroll
    for (std::uint32_t j = 0; j < kLargeGroup; ++j) {
      column[j] = Column(j);
      code[j] = g.code[j];
      shift[j] = kPlain ? 0 : g.shift[j];
    }
#pragma unroll 4
    for (std::uint32_t s = from + lane; s < end; s += 32) {
      const std::uint32_t id = ids[s];
      const Weight weight = kPlain ? 1 : p.targets.weight[id];
      const Weight sum = kRegression ? p.targets.sum[id] : 0;
      all += weight;
#pragma unroll
      for (std::uint32_t j = 0; j < kLargeGroup; ++j) {
        const bool goes_left = GoesLeft(column[j][id], code[j], shift[j]);
        left[j] += goes_left ? weight : 0;
        if (!kPlain) n[j] += goes_left ? 1 : 0;
        if (kRegression) left_sum[j] += goes_left ? sum : 0;
      }
    }
#pragma unroll
    for (std::uint32_t j = 0; j < kLargeGroup; ++j) {
      AddTo(sums + (kRegression ? 0 : c) * kLargeGroup + j, left[j]);
      if (kRegression) AddTo(sums + kLargeGroup + j, left_sum[j]);
      const std::uint32_t count = kPlain ? 0 : WarpAdd(n[j]);
      if (!kPlain && lane == 0) atomicAdd(g.n_left + j, count);
    }
    if (!kRegression) AddTo(totals + c, all);
  }

  //! Each warp adds up its share of the samples, class by class.
  __device__ void AddSides() const {
    const std::uint32_t lane = threadIdx.x & 31;
    const std::uint32_t warp = threadIdx.x >> 5;
    std::uint32_t from = static_cast<std::uint32_t>(std::uint64_t{task.count} * warp / kLargeWarps);
    const auto last =
        static_cast<std::uint32_t>(std::uint64_t{task.count} * (warp + 1) / kLargeWarps);
    if (from == last) return;
    if (kRegression) return AddRun(0, from, last);
    const std::uint32_t last_class = p.data.class_of[ids[last - 1]];
    for (std::uint32_t c0 = p.data.class_of[ids[from]]; c0 <= last_class; c0 += 32) {
      const std::uint32_t next = p.data.class_start[min(c0 + lane + 1, p.sizes.classes)];
      const std::uint32_t bound = from + LowerBound(ids + from, last - from, next);
      for (std::uint32_t c = c0; c < min(c0 + 32, last_class + 1); ++c) {
        const std::uint32_t end = __shfl_sync(kAll, bound, static_cast<int>(c - c0));
        if (from < end) AddRun(c, from, end);
        from = end;
      }
    }
  }

  //! One thread a candidate: its cut and the cut's score.
  __device__ LargeCut<kKind> Finish(std::uint32_t j) const {
    LargeCut<kKind> out{};
    out.varies = g.varies[j];
    if (out.varies == 0) return out;
    auto& cut = out.cut;
    cut.feature = g.feature[j];
    cut.threshold = g.threshold[j];
    cut.code = g.code[j];
    if constexpr (kPlain) {
      for (std::uint32_t c = 0; c < p.sizes.classes; ++c) {
        const std::uint64_t left = sums[c * kLargeGroup + j];
        const std::uint64_t right = totals[c] - left;
        cut.left_squares += left * left;
        cut.right_squares += right * right;
        cut.n_left += static_cast<std::uint32_t>(left);
      }
    } else {
      cut.shift = g.shift[j];
      cut.saw_missing = g.saw_missing[j];
      cut.n_left = g.n_left[j];
      for (std::uint32_t c = 0; !kRegression && c < p.sizes.classes; ++c) {
        const auto left = static_cast<std::int64_t>(sums[c * kLargeGroup + j]);
        AddClass(left, cut.left);
        AddClass(static_cast<std::int64_t>(totals[c]) - left, cut.right);
      }
      if (kRegression) {
        const NodeSums node = p.pool.sums[task.node];
        cut.left.weight = static_cast<std::int64_t>(sums[j]);
        cut.left.sum = static_cast<std::int64_t>(sums[kLargeGroup + j]);
        cut.right.weight = node.weight - cut.left.weight;
        cut.right.sum = node.sum - cut.left.sum;
      }
    }
    const std::uint32_t n_right = task.count - cut.n_left;
    if (cut.n_left < p.rules.limits.min_leaf || n_right < p.rules.limits.min_leaf) return out;
    if constexpr (kPlain) {
      cut.score = GiniScore(cut.left_squares, cut.right_squares, cut.n_left, n_right);
    } else {
      if (IsTooLight(p, task.tree, cut.left, cut.right)) return out;
      cut.score = kRegression ? TargetScore(cut.left, cut.right) : ClassScore(cut.left, cut.right);
      cut.found = 1;
    }
    return out;
  }
};

//! A block a node and group of candidates. Dynamic shared memory: LargeMemoryBytes.
template <class Code, TargetKind kKind>
__global__ void __launch_bounds__(32 * kLargeWarps)
    ScoreLarge(const Problem<Code> p, const Task* tasks) {
  extern __shared__ uint4 dynamic_memory[];
  __shared__ LargeGroup shared_group;
  const std::uint32_t groups = (p.sizes.k + kLargeGroup - 1) / kLargeGroup;
  const std::uint32_t place = blockIdx.x / groups;
  const Task task = tasks[place];
  auto* const sums = reinterpret_cast<unsigned long long*>(dynamic_memory);
  const LargeScorer<Code, kKind> scorer{
      p,
      task,
      p.pool.ids[task.side] + std::size_t{task.tree} * p.sizes.rows + task.begin,
      blockIdx.x % groups * kLargeGroup,
      shared_group,
      sums,
      sums + kLargeGroup * p.sizes.classes};
  const std::uint32_t words =
      scorer.kRegression ? 2 * kLargeGroup : (kLargeGroup + 1) * p.sizes.classes;
  for (std::uint32_t i = threadIdx.x; i < words; i += 32 * kLargeWarps) sums[i] = 0;
  if (threadIdx.x < 32) scorer.Draw();
  __syncthreads();
  scorer.FindRanges();
  __syncthreads();
  if (threadIdx.x < kLargeGroup) scorer.DrawCut(threadIdx.x);
  __syncthreads();
  scorer.AddSides();
  __syncthreads();
  const std::uint32_t i = scorer.at + threadIdx.x;
  if (threadIdx.x >= kLargeGroup || i >= p.sizes.k) return;
  auto* const cuts = static_cast<LargeCut<kKind>*>(p.pool.large_cuts);
  cuts[std::size_t{place} * p.sizes.k + i] = scorer.Finish(threadIdx.x);
}

//! Squared targets of the two sides of the chosen cut. All threads of the block.
template <class Code>
__device__ void AddSquares(const Problem<Code>& p, const Task& task, const std::uint32_t* ids,
                           const Code* column, unsigned long long* shared, SumsCut& best) {
  if (threadIdx.x == 0) *shared = 0;
  __syncthreads();
  std::int64_t squares = 0;
  for (std::uint32_t s = threadIdx.x; s < task.count; s += blockDim.x) {
    if (GoesLeft(column[ids[s]], best.code, best.shift)) squares += p.targets.squares[ids[s]];
  }
  AddShared(shared, squares);
  __syncthreads();
  best.left.squares = static_cast<std::int64_t>(*shared);
  best.right.squares = p.pool.sums[task.node].squares - best.left.squares;
}

//! The place of a node's best cut, the first of equals; kAll: none. One warp.
template <TargetKind kKind>
__device__ std::uint32_t BestLargeCut(const LargeCut<kKind>* cuts, std::uint32_t k, bool& varies) {
  const auto better = [cuts](std::uint32_t a, std::uint32_t b) {
    if (a == kAll || b == kAll) return b == kAll && a != kAll;
    return cuts[a].BetterThan(cuts[b]) || (a < b && !cuts[b].BetterThan(cuts[a]));
  };
  std::uint32_t at = kAll;
  varies = false;
  for (std::uint32_t i = threadIdx.x; i < k; i += 32) {
    varies = varies || cuts[i].varies != 0;
    if (cuts[i].Found() && better(i, at)) at = i;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const std::uint32_t other = __shfl_xor_sync(kAll, at, offset);
    if (better(other, at)) at = other;
  }
  varies = __any_sync(kAll, varies);
  return at;
}

//! Picks a large node's best cut and partitions it; one block a node. A node whose first K features
//! are all constant goes on to the kernels of block nodes, which draw further.
template <class Code, TargetKind kKind>
__global__ void __launch_bounds__(32 * kSplitWarps)
    SplitLarge(const Problem<Code> p, const Task* tasks) {
  constexpr bool kRegression = kKind == TargetKind::kRegression;
  __shared__ std::uint32_t shared_at;
  __shared__ bool any_varies;
  __shared__ std::uint32_t lefts[kSplitWarps];
  __shared__ unsigned long long shared_squares;
  const Task task = tasks[blockIdx.x];
  const auto* const cuts =
      static_cast<const LargeCut<kKind>*>(p.pool.large_cuts) + std::size_t{blockIdx.x} * p.sizes.k;
  if (threadIdx.x < 32) {
    bool varies = false;
    const std::uint32_t at = BestLargeCut(cuts, p.sizes.k, varies);
    if (threadIdx.x == 0) {
      shared_at = at;
      any_varies = varies;
    }
  }
  __syncthreads();
  if (!any_varies) {
    if (threadIdx.x == 0) Push(p, kBlock, task);
    return;
  }
  bool leaf = shared_at == kAll;
  auto best = cuts[leaf ? 0 : shared_at].cut;
  if constexpr (kKind == TargetKind::kPlain) {
    leaf = leaf || p.rules.limits.Refuses(p.pool.cold[task.node].squares, task.count,
                                          best.left_squares, best.n_left, best.right_squares);
  } else {
    leaf = leaf || GainsTooLittle(p.targets.scale, p.pool.sums[task.node], best.score, kRegression,
                                  p.rules.limits.min_decrease);
  }
  if (leaf) {
    if (!kRegression && threadIdx.x == 0) Push(p, kMixedLeaf, task);
    return;
  }
  const std::size_t offset = std::size_t{task.tree} * p.sizes.rows + task.begin;
  const std::uint32_t side = 1 - task.side;
  const std::uint32_t* const ids = p.pool.ids[task.side] + offset;
  const Code* const column = p.data.columns + std::size_t{best.feature} * p.sizes.rows;
  std::uint32_t shift = 0;
  if constexpr (kKind != TargetKind::kPlain) shift = best.shift;
  if constexpr (kRegression) AddSquares(p, task, ids, column, &shared_squares, best);
  PartitionNode<Code, kSplitWarps>(column, ids, p.pool.ids[side] + offset, task.count, best.code,
                                   shift, best.n_left, lefts);
  if (threadIdx.x != 0) return;
  if constexpr (kKind == TargetKind::kPlain) {
    MakeChildren(p, task, best, side);
  } else {
    MakeSumsChildren(p, task, best, side);
  }
}

}  // namespace retable::extratrees::frontier

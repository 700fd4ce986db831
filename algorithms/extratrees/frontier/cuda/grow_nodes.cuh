#pragma once
//! @file
//! The frontier's kernels; instantiated for one code width a translation unit.

#include <cstdint>

#include "algorithms/extratrees/frontier/cuda/search.cuh"

namespace retable::extratrees::frontier {

// ---------------------------------------------------------------- block and warp nodes

//! Shared memory of one node's group of warps, carved from the dynamic allocation.
template <class Code>
struct NodeMemory {
  std::uint32_t* ids;     //!< [capacity]
  std::uint32_t* lows;    //!< [warps][32]
  std::uint32_t* highs;   //!< [warps][32]
  std::uint32_t* shares;  //!< [warps]
  std::uint32_t* counts;  //!< [classes][32], where counts are shared
  std::uint32_t* totals;  //!< [classes]
  Code* codes;            //!< [capacity][32]
};

inline std::size_t NodeMemoryBytes(std::uint32_t capacity, std::uint32_t warps,
                                   std::uint32_t classes, std::size_t code_bytes, bool keep,
                                   bool counted) {
  const std::size_t words = capacity + 65 * warps + (counted ? 33 * classes : 0);
  return 4 * words + (keep ? 32 * code_bytes * capacity : 0);
}

//! A node grown by kWarps warps: lanes are candidates, warps share the samples.
template <class Code, int kWarps>
struct NodeGrower {
  const Problem<Code>& p;
  const Task task;
  const NodeMemory<Code> memory;
  const bool staged;   //!< the ids are in shared memory
  const bool keep;     //!< and so are the codes of the chunk in hand
  const bool counted;  //!< class counts meet in shared memory
  const std::uint32_t* global_ids;
  const std::uint32_t lane, warp, first, last;

  __device__ void Sync() const {
    if (kWarps > 1) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
  __device__ std::uint32_t Id(std::uint32_t s) const {
    return staged ? memory.ids[s] : global_ids[s];
  }

  __device__ void Stage() const {
    if (staged) {
      for (std::uint32_t s = threadIdx.x; s < task.count; s += 32 * kWarps) {
        memory.ids[s] = global_ids[s];
      }
    }
    if (counted) {
      for (std::uint32_t c = threadIdx.x; c < p.classes; c += 32 * kWarps) memory.totals[c] = 0;
      Sync();
      for (std::uint32_t s = threadIdx.x; s < task.count; s += 32 * kWarps) {
        atomicAdd(memory.totals + p.class_of[global_ids[s]], 1u);
      }
    }
    Sync();
  }

  //! The range of each lane's feature over the node.
  __device__ Range Scan(std::uint32_t feature) const {
    const Code* line = p.lines + feature;
    std::uint32_t low = kAll;
    std::uint32_t high = 0;
    for (std::uint32_t s = first; s < last; s += 8) {
      Code code[8];
#pragma unroll
      for (std::uint32_t j = 0; j < 8; ++j) {
        const std::uint32_t at = s + j < last ? s + j : last - 1;
        code[j] = line[std::size_t{Id(at)} * p.features];
      }
#pragma unroll
      for (std::uint32_t j = 0; j < 8; ++j) {
        low = min(low, static_cast<std::uint32_t>(code[j]));
        high = max(high, static_cast<std::uint32_t>(code[j]));
        if (keep && s + j < last) memory.codes[(s + j) * 32 + lane] = code[j];
      }
    }
    if (kWarps == 1) return {low, high, false};
    __syncthreads();  // whoever reads the last chunk's ranges is done
    memory.lows[warp * 32 + lane] = low;
    memory.highs[warp * 32 + lane] = high;
    __syncthreads();
#pragma unroll
    for (std::uint32_t w = 0; w < kWarps; ++w) {
      low = min(low, memory.lows[w * 32 + lane]);
      high = max(high, memory.highs[w * 32 + lane]);
    }
    return {low, high, false};
  }

  __device__ bool Varies(std::uint32_t feature, const Range& range) const {
    if (range.low == range.high) return false;
    const float* table = p.values + p.table_start[feature];
    return !IsConstant(table[range.low], table[range.high]);
  }

  //! End of the class run that starts at sample s of this warp's share.
  __device__ std::uint32_t RunEnd(std::uint32_t s, std::uint32_t next_class) const {
    for (std::uint32_t base = s;; base += 32) {
      const std::uint32_t at = base + lane;
      const bool over = at >= last || Id(at) >= next_class;
      const std::uint32_t mask = __ballot_sync(kAll, over);
      if (mask != 0) return base + static_cast<std::uint32_t>(__ffs(static_cast<int>(mask))) - 1;
    }
  }

  __device__ std::uint32_t CodeOf(std::uint32_t s, std::uint32_t feature) const {
    return keep ? memory.codes[s * 32 + lane] : p.lines[std::size_t{Id(s)} * p.features + feature];
  }

  //! Counts each lane's left side by class runs; sums of squares in registers or shared counts.
  __device__ void CountRuns(std::uint32_t feature, Chosen& cut) const {
    for (std::uint32_t s = first; s < last;) {
      const std::uint32_t c = p.class_of[Id(s)];
      const std::uint32_t end = RunEnd(s, p.class_start[c + 1]);
      std::uint32_t left = 0;
      const std::uint32_t length = end - s;
#pragma unroll 4
      for (; s < end; ++s) left += CodeOf(s, feature) <= cut.code ? 1 : 0;
      if (counted) {
        atomicAdd(memory.counts + c * 32 + lane, left);
      } else {
        const std::uint64_t right = length - left;
        cut.left_squares += std::uint64_t{left} * left;
        cut.right_squares += right * right;
        cut.n_left += left;
      }
    }
  }

  //! The ladder's first rung: a histogram by atomics.
  __device__ void CountAtomics(std::uint32_t feature, const Chosen& cut) const {
    for (std::uint32_t s = first; s < last; ++s) {
      const std::uint32_t c = p.class_of[Id(s)];
      if (CodeOf(s, feature) <= cut.code) atomicAdd(memory.counts + c * 32 + lane, 1u);
    }
  }

  __device__ void SumCounts(Chosen& cut) const {
    for (std::uint32_t c = 0; c < p.classes; ++c) {
      const std::uint64_t left = memory.counts[c * 32 + lane];
      const std::uint64_t right = memory.totals[c] - left;
      cut.left_squares += left * left;
      cut.right_squares += right * right;
      cut.n_left += static_cast<std::uint32_t>(left);
    }
  }

  //! Draws and scores the chosen lanes' cuts; `best` is replaced by a strictly better one.
  __device__ void Evaluate(const Candidate& candidate, const Range& range, std::uint32_t chosen,
                           Chosen& best) const {
    const bool in = (chosen >> lane) & 1u;
    Chosen cut{};
    cut.feature = candidate.feature;
    if (in) {
      const float* table = p.values + p.table_start[candidate.feature];
      cut.threshold = DrawCut(table[range.low], table[range.high], candidate.bits);
      cut.code = CutCode(table, range.low, range.high, cut.threshold, candidate.bits);
    }
    if (counted) {
      Sync();
      for (std::uint32_t i = threadIdx.x; i < 32 * p.classes; i += 32 * kWarps) {
        memory.counts[i] = 0;
      }
    }
    Sync();
    if (p.steps.class_sorted) {
      CountRuns(candidate.feature, cut);
    } else {
      CountAtomics(candidate.feature, cut);
    }
    Sync();
    if (counted) SumCounts(cut);
    const std::uint32_t n_right = task.count - cut.n_left;
    const bool fits = in && cut.n_left >= p.limits.min_leaf && n_right >= p.limits.min_leaf;
    if (fits) cut.score = GiniScore(cut.left_squares, cut.right_squares, cut.n_left, n_right);
    const std::uint32_t lanes = __ballot_sync(kAll, fits);
    if (lanes == 0) return;
    const int from = static_cast<int>(BestLane(lanes, cut.score, task.count));
    Chosen winner;
    winner.score.numerator = __shfl_sync(kAll, cut.score.numerator, from);
    winner.score.denominator = __shfl_sync(kAll, cut.score.denominator, from);
    winner.threshold = __shfl_sync(kAll, cut.threshold, from);
    winner.left_squares = __shfl_sync(kAll, cut.left_squares, from);
    winner.right_squares = __shfl_sync(kAll, cut.right_squares, from);
    winner.feature = __shfl_sync(kAll, cut.feature, from);
    winner.code = __shfl_sync(kAll, cut.code, from);
    winner.n_left = __shfl_sync(kAll, cut.n_left, from);
    if (Better(winner.score, best.score)) best = winner;
  }

  __device__ void Grow() const {
    Stage();
    Chosen best{};
    best.score.denominator = 1;
    Search(*this, best);
    const std::uint64_t squares = p.cold[task.node].squares;
    if (best.score.numerator == 0 ||
        p.limits.Refuses(squares, task.count, best.left_squares, best.n_left, best.right_squares)) {
      if (threadIdx.x == 0) Push(p, kMixedLeaf, task);
      return;
    }
    const std::uint32_t side = staged ? task.side : 1 - task.side;
    std::uint32_t* out = p.ids[side] + std::size_t{task.tree} * p.rows + task.begin;
    const Code* column = p.columns + std::size_t{best.feature} * p.rows;
    Sync();
    PartitionNode<Code, kWarps>(column, staged ? memory.ids : global_ids, out, task.count,
                                best.code, 0, best.n_left, memory.shares);
    if (threadIdx.x == 0) MakeChildren(p, task, best, side);
  }
};

//! One node a block. Dynamic shared memory: NodeMemoryBytes.
template <class Code, int kWarps>
__global__ void __launch_bounds__(32 * kWarps)
    GrowNodes(const Problem<Code> p, const Task* tasks, std::uint32_t capacity, bool keep,
              bool counted) {
  extern __shared__ uint4 dynamic_memory[];
  std::uint32_t* words = reinterpret_cast<std::uint32_t*>(dynamic_memory);
  NodeMemory<Code> memory;
  memory.lows = words;
  memory.highs = memory.lows + 32 * kWarps;
  memory.shares = memory.highs + 32 * kWarps;
  memory.counts = memory.shares + kWarps;
  memory.totals = memory.counts + (counted ? 32 * p.classes : 0);
  memory.ids = memory.totals + (counted ? p.classes : 0);
  memory.codes = reinterpret_cast<Code*>(memory.ids + capacity);
  const Task task = tasks[blockIdx.x];
  const bool staged = task.count <= capacity;
  const std::uint32_t warp = threadIdx.x >> 5;
  const NodeGrower<Code, kWarps> grower{
      p,
      task,
      memory,
      staged,
      staged && keep,
      counted,
      p.ids[task.side] + std::size_t{task.tree} * p.rows + task.begin,
      threadIdx.x & 31,
      warp,
      static_cast<std::uint32_t>(std::uint64_t{task.count} * warp / kWarps),
      static_cast<std::uint32_t>(std::uint64_t{task.count} * (warp + 1) / kWarps)};
  grower.Grow();
}

// ---------------------------------------------------------------- large nodes

//! One warp scores kLargeGroup candidates of a large node: lanes are samples, columns are read.
template <class Code>
__global__ void __launch_bounds__(128)
    ScoreLarge(const Problem<Code> p, const Task* tasks, std::uint32_t count) {
  constexpr std::uint32_t G = kLargeGroup;
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t groups = (p.k + G - 1) / G;
  const std::uint32_t unit = blockIdx.x * 4 + (threadIdx.x >> 5);
  if (unit >= count * groups) return;
  const Task task = tasks[unit / groups];
  const std::uint32_t at = unit % groups * G;
  const std::uint32_t start = at / 32 * 32;
  const Candidate drawn = DrawFeatures(p.seed, p.first_tree + task.tree, task.path, start,
                                       ChunkWidth(false, p.k, p.features, start), p.features);
  const std::uint32_t* ids = p.ids[task.side] + std::size_t{task.tree} * p.rows + task.begin;
  const Code* column[G];
  std::uint32_t feature[G], low[G], high[G];
  std::uint64_t bits[G];
#pragma unroll
  for (std::uint32_t j = 0; j < G; ++j) {
    const std::uint32_t i = at + j < p.k ? at + j : at;
    feature[j] = __shfl_sync(kAll, drawn.feature, static_cast<int>(i - start));
    bits[j] = __shfl_sync(kAll, drawn.bits, static_cast<int>(i - start));
    column[j] = p.columns + std::size_t{feature[j]} * p.rows;
    low[j] = kAll;
    high[j] = 0;
  }
#pragma unroll 4
  for (std::uint32_t s = lane; s < task.count; s += 32) {
    const std::uint32_t id = ids[s];
#pragma unroll
    for (std::uint32_t j = 0; j < G; ++j) {
      const std::uint32_t code = column[j][id];
      low[j] = min(low[j], code);
      high[j] = max(high[j], code);
    }
  }
  std::uint32_t varying = 0;
  double threshold[G];
  std::uint32_t cut[G];
#pragma unroll
  for (std::uint32_t j = 0; j < G; ++j) {
    low[j] = __reduce_min_sync(kAll, low[j]);
    high[j] = __reduce_max_sync(kAll, high[j]);
    threshold[j] = 0;
    cut[j] = 0;
    const float* table = p.values + p.table_start[feature[j]];
    if (at + j >= p.k || low[j] == high[j] || IsConstant(table[low[j]], table[high[j]])) continue;
    varying |= 1u << j;
    threshold[j] = DrawCut(table[low[j]], table[high[j]], bits[j]);
    cut[j] = CutCode(table, low[j], high[j], threshold[j], bits[j]);
  }
  std::uint32_t n_left[G] = {};
  std::uint64_t left_squares[G] = {}, right_squares[G] = {};
  std::uint32_t from = 0;
  for (std::uint32_t c0 = 0; varying != 0 && c0 < p.classes; c0 += 32) {
    const std::uint32_t mine = min(c0 + lane + 1, p.classes);
    const std::uint32_t bound = LowerBound(ids, task.count, p.class_start[mine]);
    for (std::uint32_t c = c0; c < min(c0 + 32, p.classes); ++c) {
      const std::uint32_t end = __shfl_sync(kAll, bound, static_cast<int>(c - c0));
      std::uint32_t left[G] = {};
#pragma unroll 4
      for (std::uint32_t s = from + lane; s < end; s += 32) {
        const std::uint32_t id = ids[s];
#pragma unroll
        for (std::uint32_t j = 0; j < G; ++j) {
          if ((varying >> j) & 1u) left[j] += column[j][id] <= cut[j] ? 1 : 0;
        }
      }
#pragma unroll
      for (std::uint32_t j = 0; j < G; ++j) {
        const std::uint64_t l = __reduce_add_sync(kAll, left[j]);
        const std::uint64_t r = end - from - l;
        left_squares[j] += l * l;
        right_squares[j] += r * r;
        n_left[j] += static_cast<std::uint32_t>(l);
      }
      from = end;
    }
  }
#pragma unroll
  for (std::uint32_t j = 0; j < G; ++j) {
    if (lane != j || at + j >= p.k) continue;
    p.large_cuts[std::size_t{unit / groups} * p.k + at + j] = {
        threshold[j], left_squares[j], right_squares[j],   feature[j],
        cut[j],       n_left[j],       (varying >> j) & 1u};
  }
}

inline constexpr int kSplitWarps = 16;

//! Picks a large node's best cut and partitions it; one block a node. A node whose first K features
//! are all constant goes on to GrowNodes, which walks further.
template <class Code>
__global__ void __launch_bounds__(32 * kSplitWarps)
    SplitLarge(const Problem<Code> p, const Task* tasks) {
  __shared__ Chosen shared_best;
  __shared__ std::uint32_t any_varies;
  __shared__ std::uint32_t shares[kSplitWarps];
  const Task task = tasks[blockIdx.x];
  const LargeCut* cuts = p.large_cuts + std::size_t{blockIdx.x} * p.k;
  if (threadIdx.x < 32) {
    SplitScore mine{0, 1};
    std::uint32_t at = kAll;
    bool varies = false;
    for (std::uint32_t i = threadIdx.x; i < p.k; i += 32) {
      const LargeCut& cut = cuts[i];
      varies = varies || cut.varies != 0;
      const std::uint32_t n_right = task.count - cut.n_left;
      if (cut.varies == 0 || cut.n_left < p.limits.min_leaf || n_right < p.limits.min_leaf)
        continue;
      const SplitScore score = GiniScore(cut.left_squares, cut.right_squares, cut.n_left, n_right);
      if (Better(score, mine)) {
        mine = score;
        at = i;
      }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      const SplitScore other{__shfl_xor_sync(kAll, mine.numerator, offset),
                             __shfl_xor_sync(kAll, mine.denominator, offset)};
      const std::uint32_t other_at = __shfl_xor_sync(kAll, at, offset);
      const bool better = Better(other, mine);
      if (better || (!Better(mine, other) && other_at < at)) {
        mine = other;
        at = other_at;
      }
    }
    varies = __any_sync(kAll, varies);
    if (threadIdx.x == 0) {
      any_varies = varies ? 1 : 0;
      Chosen best{};
      best.score = mine;
      if (mine.numerator != 0) {
        const LargeCut& cut = cuts[at];
        best.threshold = cut.threshold;
        best.left_squares = cut.left_squares;
        best.right_squares = cut.right_squares;
        best.feature = cut.feature;
        best.code = cut.code;
        best.n_left = cut.n_left;
      }
      shared_best = best;
    }
  }
  __syncthreads();
  const Chosen best = shared_best;
  if (any_varies == 0) {
    if (threadIdx.x == 0) Push(p, kBlock, task);
    return;
  }
  if (best.score.numerator == 0 ||
      p.limits.Refuses(p.cold[task.node].squares, task.count, best.left_squares, best.n_left,
                       best.right_squares)) {
    if (threadIdx.x == 0) Push(p, kMixedLeaf, task);
    return;
  }
  const std::size_t offset = std::size_t{task.tree} * p.rows + task.begin;
  const std::uint32_t side = 1 - task.side;
  PartitionNode<Code, kSplitWarps>(p.columns + std::size_t{best.feature} * p.rows,
                                   p.ids[task.side] + offset, p.ids[side] + offset, task.count,
                                   best.code, 0, best.n_left, shares);
  if (threadIdx.x == 0) MakeChildren(p, task, best, side);
}

}  // namespace retable::extratrees::frontier

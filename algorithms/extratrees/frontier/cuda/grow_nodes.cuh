#pragma once
//! @file
//! Nodes of plain classes that one block or one warp grows: lanes are candidates.

#include <cstdint>

#include "algorithms/extratrees/frontier/cuda/search.cuh"
#include "base/cuda/warp_reduce.cuh"

namespace retable::extratrees::frontier {

//! Shared memory of one node's group of warps, carved from the dynamic allocation.
template <class Code>
struct NodeMemory {
  std::uint32_t* ids;     //!< [capacity]
  std::uint32_t* lows;    //!< [warps][32]
  std::uint32_t* highs;   //!< [warps][32]
  std::uint32_t* lefts;   //!< [warps]
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
  const bool keep;     //!< the codes of the current chunk are in shared memory
  const bool counted;  //!< class counts are added up in shared memory
  const std::uint32_t* global_ids;
  const std::uint32_t lane, warp, first, last;

  __device__ void Sync() const { SyncWarps<kWarps>(); }
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
      for (std::uint32_t c = threadIdx.x; c < p.sizes.classes; c += 32 * kWarps)
        memory.totals[c] = 0;
      Sync();
      for (std::uint32_t s = threadIdx.x; s < task.count; s += 32 * kWarps) {
        atomicAdd(memory.totals + p.data.class_of[global_ids[s]], 1u);
      }
    }
    Sync();
  }

  //! The range of each lane's feature over the node.
  __device__ Range Scan(std::uint32_t feature) const {
    const Code* line = p.data.lines + feature;
    std::uint32_t low = kAll;
    std::uint32_t high = 0;
    for (std::uint32_t s = first; s < last; s += 8) {
      Code code[8];
#pragma unroll
      for (std::uint32_t j = 0; j < 8; ++j) {
        const std::uint32_t at = s + j < last ? s + j : last - 1;
        code[j] = line[std::size_t{Id(at)} * p.sizes.features];
      }
#pragma unroll
      for (std::uint32_t j = 0; j < 8; ++j) {
        low = min(low, static_cast<std::uint32_t>(code[j]));
        high = max(high, static_cast<std::uint32_t>(code[j]));
        if (keep && s + j < last) memory.codes[(s + j) * 32 + lane] = code[j];
      }
    }
    if (kWarps == 1) return {low, high, false};
    __syncthreads();  // the last chunk's ranges have been read
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
    return Separable(p, feature, range.low, range.high);
  }

  //! End of the class run that starts at sample s of this warp's range.
  __device__ std::uint32_t RunEnd(std::uint32_t s, std::uint32_t next_class) const {
    for (std::uint32_t base = s;; base += 32) {
      const std::uint32_t at = base + lane;
      const bool over = at >= last || Id(at) >= next_class;
      const std::uint32_t mask = __ballot_sync(kAll, over);
      if (mask != 0) return base + static_cast<std::uint32_t>(__ffs(static_cast<int>(mask))) - 1;
    }
  }

  __device__ std::uint32_t CodeOf(std::uint32_t s, std::uint32_t feature) const {
    return keep ? memory.codes[s * 32 + lane]
                : p.data.lines[std::size_t{Id(s)} * p.sizes.features + feature];
  }

  //! Counts each lane's left side by class runs; sums of squares in registers or shared counts.
  __device__ void CountRuns(std::uint32_t feature, Chosen& cut) const {
    for (std::uint32_t s = first; s < last;) {
      const std::uint32_t c = p.data.class_of[Id(s)];
      const std::uint32_t end = RunEnd(s, p.data.class_start[c + 1]);
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
      const std::uint32_t c = p.data.class_of[Id(s)];
      if (CodeOf(s, feature) <= cut.code) atomicAdd(memory.counts + c * 32 + lane, 1u);
    }
  }

  __device__ void SumCounts(Chosen& cut) const {
    for (std::uint32_t c = 0; c < p.sizes.classes; ++c) {
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
      const CodedCut drawn =
          DrawCodedCut(p, candidate.feature, range.low, range.high, candidate.bits);
      cut.threshold = drawn.threshold;
      cut.code = drawn.code;
    }
    if (counted) {
      Sync();
      for (std::uint32_t i = threadIdx.x; i < 32 * p.sizes.classes; i += 32 * kWarps) {
        memory.counts[i] = 0;
      }
    }
    Sync();
    if (p.rules.steps.class_sorted) {
      CountRuns(candidate.feature, cut);
    } else {
      CountAtomics(candidate.feature, cut);
    }
    Sync();
    if (counted) SumCounts(cut);
    const std::uint32_t n_right = task.count - cut.n_left;
    const bool fits =
        in && cut.n_left >= p.rules.limits.min_leaf && n_right >= p.rules.limits.min_leaf;
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
    const std::uint64_t squares = p.pool.cold[task.node].squares;
    if (best.score.numerator == 0 || p.rules.limits.Refuses(squares, task.count, best.left_squares,
                                                            best.n_left, best.right_squares)) {
      if (threadIdx.x == 0) Push(p, kMixedLeaf, task);
      return;
    }
    const std::uint32_t side = staged ? task.side : 1 - task.side;
    std::uint32_t* out = p.pool.ids[side] + std::size_t{task.tree} * p.sizes.rows + task.begin;
    const Code* column = p.data.columns + std::size_t{best.feature} * p.sizes.rows;
    Sync();
    PartitionNode<Code, kWarps>(column, staged ? memory.ids : global_ids, out, task.count,
                                best.code, 0, best.n_left, memory.lefts);
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
  memory.lefts = memory.highs + 32 * kWarps;
  memory.counts = memory.lefts + kWarps;
  memory.totals = memory.counts + (counted ? 32 * p.sizes.classes : 0);
  memory.ids = memory.totals + (counted ? p.sizes.classes : 0);
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
      p.pool.ids[task.side] + std::size_t{task.tree} * p.sizes.rows + task.begin,
      threadIdx.x & 31,
      warp,
      static_cast<std::uint32_t>(std::uint64_t{task.count} * warp / kWarps),
      static_cast<std::uint32_t>(std::uint64_t{task.count} * (warp + 1) / kWarps)};
  grower.Grow();
}

}  // namespace retable::extratrees::frontier

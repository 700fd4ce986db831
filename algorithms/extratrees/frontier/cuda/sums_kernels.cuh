#pragma once
//! @file
//! Growing nodes that keep sums: weighted classes, real targets, missing values.
//!
//! As GrowNodes (frontier/cuda/grow_nodes.cuh): lanes are candidates, warps share a node's samples,
//! codes are kept on chip between range and count where the node fits. A lane adds up integers, so
//! warps may add in any order. One warp sees whole classes and squares them as it goes; several
//! warps add up in shared memory first.

#include "algorithms/extratrees/frontier/cuda/search.cuh"
#include "algorithms/extratrees/frontier/cuda/sums_node.cuh"

namespace retable::extratrees::frontier {

//! Shared memory of one node, carved from the dynamic allocation.
template <class Code>
struct SumsMemory {
  unsigned long long* sums;    //!< [fields][32]: classes' weights, or weight and sum of targets
  unsigned long long* totals;  //!< [classes]
  std::uint32_t* n_left;       //!< [32]
  std::uint32_t* ranges;       //!< [3][warps][32]
  std::uint32_t* lefts;        //!< [warps]
  std::uint32_t* ids;          //!< [capacity]
  Code* codes;                 //!< [capacity][32]
};

//! Fields of SumsMemory::sums.
inline std::uint32_t SumsFields(std::uint32_t classes, bool regression, std::uint32_t warps) {
  return regression || warps == 1 ? 2 : std::max(classes, 2u);
}

inline std::size_t SumsMemoryBytes(std::uint32_t capacity, std::uint32_t warps,
                                   std::uint32_t classes, std::size_t code_bytes, bool regression) {
  const std::uint32_t fields = SumsFields(classes, regression, warps);
  return std::size_t{8} * (33 * fields) + 4 * (32 + 97 * warps + capacity) +
         32 * code_bytes * capacity;
}

template <class Code, int kWarps, bool kRegression>
struct SumsGrower {
  static constexpr Code kNone = static_cast<Code>(~Code{0});

  const Problem<Code>& p;
  const Task task;
  const SumsMemory<Code> memory;
  const bool staged;  //!< ids and codes are in shared memory
  const std::uint32_t* global_ids;
  const std::uint32_t lane, warp, first, last;

  __device__ void Sync() const { SyncWarps<kWarps>(); }
  __device__ std::uint32_t Id(std::uint32_t s) const {
    return staged ? memory.ids[s] : global_ids[s];
  }
  __device__ Code CodeOf(std::uint32_t s, std::uint32_t feature) const {
    return staged ? memory.codes[s * 32 + lane]
                  : p.data.lines[std::size_t{global_ids[s]} * p.sizes.features + feature];
  }

  __device__ void Stage() const {
    if (staged) {
      for (std::uint32_t s = threadIdx.x; s < task.count; s += 32 * kWarps) {
        memory.ids[s] = global_ids[s];
      }
    }
    if (!kRegression && kWarps > 1) {
      for (std::uint32_t c = threadIdx.x; c < p.sizes.classes; c += 32 * kWarps)
        memory.totals[c] = 0;
      Sync();
      for (std::uint32_t s = threadIdx.x; s < task.count; s += 32 * kWarps) {
        const std::uint32_t id = global_ids[s];
        atomicAdd(memory.totals + p.data.class_of[id],
                  static_cast<unsigned long long>(p.targets.weight[id]));
      }
    }
    Sync();
  }

  //! The range of each lane's feature. Codes are taken plus one where values may be missing, so
  //! that a missing one wraps to 0.
  __device__ Range Scan(std::uint32_t feature) const {
    const Code* line = p.data.lines + feature;
    const Code shift = p.targets.has_missing ? 1 : 0;
    std::uint32_t low = kAll;
    std::uint32_t high = 0;
    std::uint32_t top = 0;
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
        top = max(top, static_cast<std::uint32_t>(code[j]));
        high = max(high, static_cast<std::uint32_t>(static_cast<Code>(code[j] + shift)));
        if (staged && s + j < last) memory.codes[(s + j) * 32 + lane] = code[j];
      }
    }
    if (kWarps > 1) {
      __syncthreads();  // the last chunk's ranges have been read
      memory.ranges[warp * 32 + lane] = low;
      memory.ranges[(kWarps + warp) * 32 + lane] = high;
      memory.ranges[(2 * kWarps + warp) * 32 + lane] = top;
      __syncthreads();
#pragma unroll
      for (std::uint32_t w = 0; w < kWarps; ++w) {
        low = min(low, memory.ranges[w * 32 + lane]);
        high = max(high, memory.ranges[(kWarps + w) * 32 + lane]);
        top = max(top, memory.ranges[(2 * kWarps + w) * 32 + lane]);
      }
    }
    if (!p.targets.has_missing) return {low, high, false};
    if (high == 0) return {1, 0, true};  // nothing but missing values
    return {low, high - 1, top == kNone};
  }

  __device__ bool Varies(std::uint32_t feature, const Range& range) const {
    if (range.low > range.high) return false;
    if (range.missing) return true;
    return Separable(p, feature, range.low, range.high);
  }

  __device__ void AddTargets(std::uint32_t feature, SumsCut& cut) const {
    for (std::uint32_t s = first; s < last; ++s) {
      const std::uint32_t id = Id(s);
      const std::int64_t weight = p.targets.weight[id];
      const std::int64_t sum = p.targets.sum[id];
      if (!GoesLeft(CodeOf(s, feature), cut.code, cut.shift)) continue;
      ++cut.n_left;
      cut.left.weight += weight;
      cut.left.sum += sum;
    }
    if (kWarps > 1) {
      atomicAdd(memory.n_left + lane, cut.n_left);
      atomicAdd(memory.sums + lane, static_cast<unsigned long long>(cut.left.weight));
      atomicAdd(memory.sums + 32 + lane, static_cast<unsigned long long>(cut.left.sum));
      Sync();
      cut.n_left = memory.n_left[lane];
      cut.left.weight = static_cast<std::int64_t>(memory.sums[lane]);
      cut.left.sum = static_cast<std::int64_t>(memory.sums[32 + lane]);
    }
    const NodeSums node = p.pool.sums[task.node];
    cut.right.weight = node.weight - cut.left.weight;
    cut.right.sum = node.sum - cut.left.sum;
  }

  __device__ void AddClasses(std::uint32_t feature, SumsCut& cut) const {
    for (std::uint32_t s = first; s < last;) {
      const std::uint32_t c = p.data.class_of[Id(s)];
      const std::uint32_t next = p.data.class_start[c + 1];
      std::int64_t left = 0;
      std::int64_t all = 0;
      for (; s < last; ++s) {
        const std::uint32_t id = Id(s);
        if (id >= next) break;
        const std::int64_t weight = p.targets.weight[id];
        all += weight;
        if (!GoesLeft(CodeOf(s, feature), cut.code, cut.shift)) continue;
        ++cut.n_left;
        left += weight;
      }
      if (kWarps == 1) {
        AddClass(left, cut.left);
        AddClass(all - left, cut.right);
      } else {
        atomicAdd(memory.sums + c * 32 + lane, static_cast<unsigned long long>(left));
      }
    }
    if (kWarps == 1) return;
    atomicAdd(memory.n_left + lane, cut.n_left);
    Sync();
    cut.n_left = memory.n_left[lane];
    for (std::uint32_t c = 0; c < p.sizes.classes; ++c) {
      const auto left = static_cast<std::int64_t>(memory.sums[c * 32 + lane]);
      AddClass(left, cut.left);
      AddClass(static_cast<std::int64_t>(memory.totals[c]) - left, cut.right);
    }
  }

  __device__ void ClearSums() const {
    if (kWarps == 1) return;
    const std::uint32_t fields = kRegression ? 2 : p.sizes.classes;
    for (std::uint32_t i = threadIdx.x; i < 32 * fields; i += 32 * kWarps) memory.sums[i] = 0;
    if (threadIdx.x < 32) memory.n_left[threadIdx.x] = 0;
  }

  //! Draws and scores the chosen lanes' cuts; `best` is replaced by a strictly better one.
  __device__ void Evaluate(const Candidate& candidate, const Range& range, std::uint32_t chosen,
                           SumsCut& best) const {
    const bool in = (chosen >> lane) & 1u;
    SumsCut cut{};
    cut.feature = candidate.feature;
    cut.found = 1;
    if (in) {
      const CodedCut drawn =
          DrawCodedCut(p, candidate.feature, range.low, range.high, candidate.bits);
      cut.threshold = drawn.threshold;
      cut.code = drawn.code;
      cut.saw_missing = range.missing ? 1 : 0;
      cut.shift = range.missing && DrawMissingLeft(candidate.bits) ? 1 : 0;
    }
    Sync();  // the last chunk's sums have been read
    ClearSums();
    Sync();
    if (kRegression) {
      AddTargets(candidate.feature, cut);
    } else {
      AddClasses(candidate.feature, cut);
    }
    const std::uint32_t n_right = task.count - cut.n_left;
    const bool fits = in && cut.n_left >= p.rules.limits.min_leaf &&
                      n_right >= p.rules.limits.min_leaf &&
                      !IsTooLight(p, task.tree, cut.left, cut.right);
    if (fits) {
      cut.score = kRegression ? TargetScore(cut.left, cut.right) : ClassScore(cut.left, cut.right);
    }
    const std::uint32_t lanes = __ballot_sync(kAll, fits);
    if (lanes == 0) return;
    const SumsCut winner = ShuffleFrom(cut, static_cast<int>(LargestLane(lanes, cut.score)));
    if (best.found == 0 || winner.score > best.score) best = winner;
  }

  //! Squared targets of the two sides: of the chosen cut alone.
  __device__ void AddSquares(const Code* column, SumsCut& best) const {
    Sync();
    if (threadIdx.x == 0) memory.sums[0] = 0;
    Sync();
    std::int64_t squares = 0;
    for (std::uint32_t s = first + lane; s < last; s += 32) {
      const std::uint32_t id = Id(s);
      if (GoesLeft(column[id], best.code, best.shift)) squares += p.targets.squares[id];
    }
    AddShared(memory.sums, squares);
    Sync();
    best.left.squares = static_cast<std::int64_t>(memory.sums[0]);
    best.right.squares = p.pool.sums[task.node].squares - best.left.squares;
  }

  __device__ void Grow() const {
    Stage();
    SumsCut best{};
    Search(*this, best);
    if (best.found == 0 || GainsTooLittle(p.targets.scale, p.pool.sums[task.node], best.score,
                                          kRegression, p.rules.limits.min_decrease)) {
      if (!kRegression && threadIdx.x == 0) Push(p, kMixedLeaf, task);
      return;
    }
    const std::uint32_t side = staged ? task.side : 1 - task.side;
    std::uint32_t* out = p.pool.ids[side] + std::size_t{task.tree} * p.sizes.rows + task.begin;
    const Code* column = p.data.columns + std::size_t{best.feature} * p.sizes.rows;
    if (kRegression) AddSquares(column, best);
    Sync();
    PartitionNode<Code, kWarps>(column, staged ? memory.ids : global_ids, out, task.count,
                                best.code, best.shift, best.n_left, memory.lefts);
    if (threadIdx.x == 0) MakeSumsChildren(p, task, best, side);
  }
};

//! One node a block. Dynamic shared memory: SumsMemoryBytes; `fields`: SumsFields.
template <class Code, int kWarps, bool kRegression>
__global__ void __launch_bounds__(32 * kWarps)
    GrowSums(const Problem<Code> p, const Task* tasks, std::uint32_t capacity,
             std::uint32_t fields) {
  extern __shared__ uint4 dynamic_memory[];
  SumsMemory<Code> memory;
  memory.sums = reinterpret_cast<unsigned long long*>(dynamic_memory);
  memory.totals = memory.sums + 32 * fields;
  memory.n_left = reinterpret_cast<std::uint32_t*>(memory.totals + fields);
  memory.ranges = memory.n_left + 32;
  memory.lefts = memory.ranges + 96 * kWarps;
  memory.ids = memory.lefts + kWarps;
  memory.codes = reinterpret_cast<Code*>(memory.ids + capacity);
  const Task task = tasks[blockIdx.x];
  const std::uint32_t warp = threadIdx.x >> 5;
  const SumsGrower<Code, kWarps, kRegression> grower{
      p,
      task,
      memory,
      task.count <= capacity,
      p.pool.ids[task.side] + std::size_t{task.tree} * p.sizes.rows + task.begin,
      threadIdx.x & 31,
      warp,
      static_cast<std::uint32_t>(std::uint64_t{task.count} * warp / kWarps),
      static_cast<std::uint32_t>(std::uint64_t{task.count} * (warp + 1) / kWarps)};
  grower.Grow();
}

}  // namespace retable::extratrees::frontier

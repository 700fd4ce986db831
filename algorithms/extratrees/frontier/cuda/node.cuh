#pragma once
//! @file
//! Device functions the frontier's kernels share: random features, choice of a lane, children.

#include <cstdint>

#include "algorithms/extratrees/frontier/cuda/problem.cuh"
#include "algorithms/extratrees/splits/candidates.hpp"
#include "base/cuda/warp_reduce.cuh"

namespace retable::extratrees::frontier {

inline constexpr std::uint32_t kAll = 0xFFFFFFFFu;

//! A lane's candidate: a feature and the bits its cut is drawn with.
struct Candidate {
  std::uint32_t feature;
  std::uint64_t bits;
};

//! A cut, uniform over the warp once chosen.
struct Chosen {
  SplitScore score;
  double threshold;
  std::uint64_t left_squares, right_squares;
  std::uint32_t feature, code, n_left;
};

//! Draws first + lane of the node's permutation, for lanes < width. A place not drawn before
//! is its own feature; else the chain of earlier swaps is followed, latest first, in one downward
//! pass over the earlier draws (recomputed: nothing is stored). Other lanes repeat lane 0's.
__device__ inline Candidate DrawFeatures(std::uint64_t seed, std::uint32_t tree, std::uint64_t path,
                                         std::uint32_t first, std::uint32_t width,
                                         std::uint32_t features) {
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t step = first + lane;
  const PhiloxBlock bits = NodeBits(seed, tree, path, step);
  const std::uint32_t own = lane < width ? SwapPlace(bits, step, features) : features + lane;
  std::uint32_t place = own;
  const bool shared = __popc(__match_any_sync(kAll, own)) > 1;
  if (first > 0 || __any_sync(kAll, shared)) {
    std::uint32_t before = step;
    for (std::uint32_t chunk_end = first + 32;;) {
      const std::uint32_t chunk = chunk_end >= 32 ? chunk_end - 32 : 0;
      std::uint32_t drawn = own;
      if (chunk != first) {
        drawn = SwapPlace(NodeBits(seed, tree, path, chunk + lane), chunk + lane, features);
      }
      for (int j = static_cast<int>(chunk_end - chunk) - 1; j >= 0; --j) {
        const std::uint32_t other = __shfl_sync(kAll, drawn, j);
        const std::uint32_t at = chunk + static_cast<std::uint32_t>(j);
        if (at < before && other == place) {
          place = at;
          before = at;
        }
      }
      if (chunk == 0) break;
      chunk_end = chunk;
    }
  }
  if (lane >= width) place = 0;
  const std::uint32_t front = __shfl_sync(kAll, place, 0);
  return {lane < width ? place : front, bits.half(1)};
}

//! The lane of `lanes` with the largest value >= 0, the lowest of equals; lanes != 0.
__device__ inline std::uint32_t LargestLane(std::uint32_t lanes, double value) {
  // Doubles >= 0 are ordered as integers: high words first, then low words.
  const bool in = (lanes >> (threadIdx.x & 31)) & 1u;
  const std::uint64_t key = in ? __double_as_longlong(value) : 0ull;
  const auto high = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t top = WarpMax(high);
  const std::uint32_t low = in && high == top ? static_cast<std::uint32_t>(key) : 0u;
  const std::uint32_t top_low = WarpMax(low);
  const bool best = in && high == top && low == top_low;
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(__ballot_sync(kAll, best))) - 1);
}

//! The lane of `lanes` with the best score, the lowest of equals; lanes != 0.
__device__ inline std::uint32_t BestLane(std::uint32_t lanes, const SplitScore& score,
                                         std::uint32_t rows) {
  const std::uint32_t lane = threadIdx.x & 31;
  const bool in = (lanes >> lane) & 1u;
  if (rows <= kExactQuotientRows) return LargestLane(lanes, Quotient(score));
  SplitScore mine = in ? score : SplitScore{0, 1};
  std::uint32_t at = in ? lane : 32;
  for (int offset = 16; offset > 0; offset /= 2) {
    const SplitScore other{__shfl_xor_sync(kAll, mine.numerator, offset),
                           __shfl_xor_sync(kAll, mine.denominator, offset)};
    const std::uint32_t other_at = __shfl_xor_sync(kAll, at, offset);
    const bool equal = !Better(other, mine) && !Better(mine, other);
    if (Better(other, mine) || (equal && other_at < at)) {
      mine = other;
      at = other_at;
    }
  }
  return at;
}

//! First sample of a node's ascending list with id >= bound.
__device__ inline std::uint32_t LowerBound(const std::uint32_t* ids, std::uint32_t count,
                                           std::uint32_t bound) {
  std::uint32_t low = 0;
  while (low < count) {
    const std::uint32_t middle = low + (count - low) / 2;
    if (ids[middle] < bound) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

//! The largest float <= x.
__device__ inline float FloatBelow(double x) {
  return __double2float_rd(x);
}

template <class Code>
__device__ float ValueOf(const Problem<Code>& p, std::uint32_t feature, std::uint32_t code) {
  if constexpr (sizeof(Code) == sizeof(float)) return FromOrderedBits(code);
  return p.data.values[p.data.table_start[feature] + code];
}

//! Whether a cut between two codes of a feature can separate anything.
template <class Code>
__device__ bool Separable(const Problem<Code>& p, std::uint32_t feature, std::uint32_t low,
                          std::uint32_t high) {
  return low != high && !IsConstant(ValueOf(p, feature, low), ValueOf(p, feature, high));
}

//! Draws a cut between two codes of a feature.
struct CodedCut {
  double threshold;
  std::uint32_t code;  //!< the largest whose value is <= threshold
};
template <class Code>
__device__ CodedCut DrawCodedCut(const Problem<Code>& p, std::uint32_t feature, std::uint32_t low,
                                 std::uint32_t high, std::uint64_t bits) {
  const double cut = DrawCut(ValueOf(p, feature, low), ValueOf(p, feature, high), bits);
  if constexpr (sizeof(Code) == sizeof(float)) {
    return {cut, OrderedBits(__fadd_rn(FloatBelow(cut), 0.0f))};  // -0 becomes 0
  } else {
    return {cut, CutCode(p.data.values + p.data.table_start[feature], low, high, cut, bits)};
  }
}

//! The queue a node of `count` samples is grown from.
template <class Code>
__device__ Queue QueueFor(const Problem<Code>& p, std::uint32_t count) {
  if (p.rules.steps.subtrees && count <= kSubtreeRows) return kSubtree;
  if (count <= kWarpRows / sizeof(Code)) return kWarp;
  const bool large = p.rules.steps.columns && count > LargerThan(p.sizes.k) / sizeof(Code);
  return large ? kLarge : kBlock;
}

template <class Code>
__device__ void Push(const Problem<Code>& p, Queue queue, const Task& task) {
  p.pool.next[queue][atomicAdd(p.pool.counters + queue, 1u)] = task;
}

//! Writes a node that was just made and queues it, unless it is pure. One thread; the node's ids
//! are in place.
template <class Code>
__device__ void MakeNode(const Problem<Code>& p, const Task& task, std::uint64_t squares) {
  p.pool.cold[task.node] = {0.0, squares, task.count, 0};
  HotNode hot{0.0f, -1, 0, 0};
  if (squares == std::uint64_t{task.count} * task.count) {
    const std::uint32_t* ids = p.pool.ids[task.side] + std::size_t{task.tree} * p.sizes.rows;
    hot.value = p.data.class_of[ids[task.begin]];
  } else if (p.rules.limits.Stops(task.count, squares, task.depth)) {
    Push(p, kMixedLeaf, task);
  } else {
    Push(p, QueueFor(p, task.count), task);
  }
  p.pool.hot[task.node] = hot;
}

//! Turns a node into a branch and makes its children. One thread.
template <class Code>
__device__ void MakeChildren(const Problem<Code>& p, const Task& task, const Chosen& cut,
                             std::uint32_t side) {
  const std::uint32_t left = atomicAdd(p.pool.counters + kQueues, 2u);
  p.pool.hot[task.node] = {FloatBelow(cut.threshold), static_cast<std::int32_t>(cut.feature), left,
                           2 * cut.n_left > task.count ? 1u : 0u};
  p.pool.cold[task.node].threshold = cut.threshold;
  Task child = task;
  child.side = side;
  child.depth = task.depth + 1;
  child.node = left;
  child.count = cut.n_left;
  child.path = ChildPath(task.path, false);
  MakeNode(p, child, cut.left_squares);
  child.node = left + 1;
  child.begin = task.begin + cut.n_left;
  child.count = task.count - cut.n_left;
  child.path = ChildPath(task.path, true);
  MakeNode(p, child, cut.right_squares);
}

//! All threads of kWarps warps wait for each other.
template <int kWarps>
__device__ void SyncWarps() {
  if (kWarps > 1) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

//! Stable partition of a node's samples by GoesLeft(column[id], code, shift), by the block's warps:
//! each counts its contiguous range, then writes it behind its predecessors'. `in` and `out` do not
//! overlap. `lefts`: kWarps words of shared memory. Ends with the block synchronised.
template <class Code, int kWarps>
__device__ void PartitionNode(const Code* column, const std::uint32_t* in, std::uint32_t* out,
                              std::uint32_t count, std::uint32_t code, std::uint32_t shift,
                              std::uint32_t n_left, std::uint32_t* lefts) {
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t warp = threadIdx.x >> 5;
  const std::uint32_t first = static_cast<std::uint32_t>(std::uint64_t{count} * warp / kWarps);
  const std::uint32_t last = static_cast<std::uint32_t>(std::uint64_t{count} * (warp + 1) / kWarps);
  std::uint32_t left = 0;
  if (kWarps > 1) {
    std::uint32_t mine = 0;
#pragma unroll 4
    for (std::uint32_t s = first + lane; s < last; s += 32) {
      mine += GoesLeft(column[in[s]], code, shift) ? 1 : 0;
    }
    mine = WarpAdd(mine);
    if (lane == 0) lefts[warp] = mine;
    __syncthreads();
    for (std::uint32_t w = 0; w < warp; ++w) left += lefts[w];
  }
  std::uint32_t right = n_left + (first - left);
  const std::uint32_t below = (1u << lane) - 1;
#pragma unroll 2
  for (std::uint32_t base = first; base < last; base += 32) {
    const bool in_range = base + lane < last;
    const std::uint32_t id = in_range ? in[base + lane] : 0;
    const bool goes_left = in_range && GoesLeft(column[id], code, shift);
    const std::uint32_t lefts = __ballot_sync(kAll, goes_left);
    const std::uint32_t rights = __ballot_sync(kAll, in_range) & ~lefts;
    if (goes_left) out[left + __popc(lefts & below)] = id;
    if (in_range && !goes_left) out[right + __popc(rights & below)] = id;
    left += __popc(lefts);
    right += __popc(rights);
  }
  SyncWarps<kWarps>();
}

}  // namespace retable::extratrees::frontier

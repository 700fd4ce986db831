#pragma once
//! @file
//! Whole subtrees of at most 32 samples, each finished by one warp.
//!
//! Lanes are candidates. A sample's features lie in one row, so a lane reads its feature of each
//! sample, keeps codes of one byte in registers, and turns its cut into one word: which samples go
//! left. With samples in class order a class is a run of bits, and its left count a population
//! count. The smaller child is grown first, so the stack never holds more than log2(32) nodes.

#include <cstdint>

#include "algorithms/extratrees/frontier/cuda/node.cuh"

namespace retable::extratrees::frontier {

inline constexpr std::uint32_t kStack = 6;  //!< log2(kSubtreeRows) + 1

struct SubtreeNode {
  std::uint64_t path;
  std::uint32_t node, depth, begin, count, squares;
};

//! A warp's samples and its nodes yet to be grown.
struct SubtreeMemory {
  std::uint32_t ids[32];
  std::uint16_t classes[32];
  SubtreeNode stack[kStack];
};

__device__ inline std::uint32_t LowBits(std::uint32_t n) {
  return n >= 32 ? kAll : (1u << n) - 1;
}

template <class Code>
struct SubtreeGrower {
  static constexpr bool kKept = sizeof(Code) == 1;  // wider codes take too many registers
  static constexpr std::uint32_t kPer = 4;          // codes a register
  static constexpr std::uint32_t kWords = 32 / kPer;

  const Problem<Code>& p;
  SubtreeMemory& memory;
  const Task task;
  const std::uint32_t lane;
  std::uint32_t& reserve_next;  //!< nodes this warp has taken from the pool
  std::uint32_t& reserve_left;

  //! Reads each lane's feature of the node's samples; unused entries repeat the last sample.
  __device__ void Load(const SubtreeNode& node, std::uint32_t feature,
                       std::uint32_t (&packed)[kWords], std::uint32_t& low,
                       std::uint32_t& high) const {
    const Code* line = p.data.lines + feature;
    low = kAll;
    high = 0;
#pragma unroll
    for (std::uint32_t w = 0; w < kWords; ++w) {
      packed[w] = 0;
      if (w * kPer >= node.count) continue;
#pragma unroll
      for (std::uint32_t j = 0; j < kPer; ++j) {
        const std::uint32_t s = min(w * kPer + j, node.count - 1);
        const std::uint32_t code = line[std::size_t{memory.ids[node.begin + s]} * p.sizes.features];
        low = min(low, code);
        high = max(high, code);
        if (kKept) packed[w] |= code << (8 * j);
      }
    }
  }

  __device__ std::uint32_t LeftMask(const SubtreeNode& node, std::uint32_t feature,
                                    const std::uint32_t (&packed)[kWords],
                                    std::uint32_t cut) const {
    std::uint32_t left = 0;
#pragma unroll
    for (std::uint32_t w = 0; w < kWords; ++w) {
      if (w * kPer >= node.count) continue;
#pragma unroll
      for (std::uint32_t j = 0; j < kPer; ++j) {
        const std::uint32_t s = w * kPer + j;
        std::uint32_t code = (packed[w] >> (8 * j)) & 0xFFu;
        if (!kKept || !p.rules.steps.keep_codes) {
          const std::uint32_t at = node.begin + min(s, node.count - 1);
          code = p.data.lines[std::size_t{memory.ids[at]} * p.sizes.features + feature];
        }
        left |= (code <= cut ? 1u : 0u) << s;
      }
    }
    return left & LowBits(node.count);
  }

  //! The best cut of a node; its left samples as a mask. False: no cut, the node is a leaf.
  __device__ bool Search(const SubtreeNode& node, Chosen& best, std::uint32_t& best_mask) const {
    const bool geurts = p.rules.constant_rule == ConstantRule::kGeurts;
    best = {};
    best.score.denominator = 1;
    // Heads of the class runs.
    const std::uint32_t mine = lane < node.count ? memory.classes[node.begin + lane] : 0;
    const std::uint32_t before = __shfl_up_sync(kAll, mine, 1);
    const std::uint32_t heads =
        __ballot_sync(kAll, lane < node.count && (lane == 0 || mine != before));
    std::uint32_t seen = 0;
    for (std::uint32_t start = 0;;) {
      const std::uint32_t width = ChunkWidth(geurts, p.sizes.k, p.sizes.features, start);
      const Candidate candidate = DrawFeatures(p.rules.seed, p.sizes.first_tree + task.tree,
                                               node.path, start, width, p.sizes.features);
      std::uint32_t packed[kWords];
      std::uint32_t low, high;
      Load(node, candidate.feature, packed, low, high);
      const bool varies = lane < width && Separable(p, candidate.feature, low, high);
      const std::uint32_t chosen =
          EvaluatedLanes(geurts, p.sizes.k, start, seen, __ballot_sync(kAll, varies));
      if (chosen != 0) {
        Chosen cut{};
        std::uint32_t mask = 0;
        if ((chosen >> lane) & 1u) {
          const CodedCut drawn = DrawCodedCut(p, candidate.feature, low, high, candidate.bits);
          cut.threshold = drawn.threshold;
          cut.code = drawn.code;
          mask = LeftMask(node, candidate.feature, packed, cut.code);
        }
        std::uint32_t left_squares = 0;
        std::uint32_t right_squares = 0;
        for (std::uint32_t rest = heads; rest != 0;) {
          const std::uint32_t from = static_cast<std::uint32_t>(__ffs(static_cast<int>(rest))) - 1;
          rest &= rest - 1;
          const std::uint32_t end =
              rest != 0 ? static_cast<std::uint32_t>(__ffs(static_cast<int>(rest))) - 1
                        : node.count;
          const std::uint32_t left = __popc(mask & (LowBits(end) ^ LowBits(from)));
          const std::uint32_t right = end - from - left;
          left_squares += left * left;
          right_squares += right * right;
        }
        const std::uint32_t n_left = __popc(mask);
        const std::uint32_t n_right = node.count - n_left;
        const bool fits = ((chosen >> lane) & 1u) != 0 && n_left >= p.rules.limits.min_leaf &&
                          n_right >= p.rules.limits.min_leaf;
        if (fits) cut.score = GiniScore(left_squares, right_squares, n_left, n_right);
        const std::uint32_t lanes = __ballot_sync(kAll, fits);
        if (lanes != 0) {
          const int at = static_cast<int>(BestLane(lanes, cut.score, node.count));
          const SplitScore score{__shfl_sync(kAll, cut.score.numerator, at),
                                 __shfl_sync(kAll, cut.score.denominator, at)};
          const double threshold = __shfl_sync(kAll, cut.threshold, at);
          const std::uint32_t its_left = __shfl_sync(kAll, left_squares, at);
          const std::uint32_t its_right = __shfl_sync(kAll, right_squares, at);
          const std::uint32_t feature = __shfl_sync(kAll, candidate.feature, at);
          const std::uint32_t its_mask = __shfl_sync(kAll, mask, at);
          if (Better(score, best.score)) {
            best.score = score;
            best.threshold = threshold;
            best.left_squares = its_left;
            best.right_squares = its_right;
            best.feature = feature;
            best.n_left = static_cast<std::uint32_t>(__popc(its_mask));
            best_mask = its_mask;
          }
        }
        seen += static_cast<std::uint32_t>(__popc(chosen));
      }
      start += width;
      if (SearchIsOver(geurts, p.sizes.k, p.sizes.features, start, seen)) break;
    }
    return best.score.numerator != 0 &&
           !p.rules.limits.Refuses(node.squares, node.count, best.left_squares, best.n_left,
                                   best.right_squares);
  }

  //! A leaf with several classes: its samples go back to where the counting kernel reads them.
  __device__ void LeaveMixed(const SubtreeNode& node) const {
    std::uint32_t* ids = p.pool.ids[task.side] + std::size_t{task.tree} * p.sizes.rows + task.begin;
    if (lane < node.count) ids[node.begin + lane] = memory.ids[node.begin + lane];
    if (lane != 0) return;
    Task leaf = task;
    leaf.node = node.node;
    leaf.begin = task.begin + node.begin;
    leaf.count = node.count;
    Push(p, kMixedLeaf, leaf);
  }

  __device__ void Partition(const SubtreeNode& node, std::uint32_t mask,
                            std::uint32_t n_left) const {
    const bool in = lane < node.count;
    const std::uint32_t id = in ? memory.ids[node.begin + lane] : 0;
    const std::uint16_t its_class = in ? memory.classes[node.begin + lane] : std::uint16_t{0};
    const std::uint32_t below = LowBits(lane);
    const bool left = (mask >> lane) & 1u;
    const std::uint32_t to =
        left ? __popc(mask & below) : n_left + __popc(~mask & LowBits(node.count) & below);
    __syncwarp();
    if (in) {
      memory.ids[node.begin + to] = id;
      memory.classes[node.begin + to] = its_class;
    }
    __syncwarp();
  }

  //! Writes a child; true when it is to be grown further.
  __device__ bool Settle(const SubtreeNode& node) const {
    const bool pure = node.squares == node.count * node.count;
    const bool stops = p.rules.limits.Stops(node.count, node.squares, node.depth);
    if (lane == 0) {
      p.pool.cold[node.node] = {0.0, node.squares, node.count, 0};
      p.pool.hot[node.node] = {0.0f, -1, 0, pure ? memory.classes[node.begin] : 0u};
    }
    if (stops && !pure) LeaveMixed(node);
    return !stops;
  }

  __device__ std::uint32_t TakePair() {
    if (reserve_left < 2) {
      std::uint32_t taken = 0;
      if (lane == 0) taken = atomicAdd(p.pool.counters + kQueues, kNodeReserve);
      reserve_next = __shfl_sync(kAll, taken, 0);
      reserve_left = kNodeReserve;
    }
    reserve_left -= 2;
    reserve_next += 2;
    return reserve_next - 2;
  }

  __device__ void Run() {
    const std::uint32_t* ids =
        p.pool.ids[task.side] + std::size_t{task.tree} * p.sizes.rows + task.begin;
    __syncwarp();
    if (lane < task.count) {
      const std::uint32_t id = ids[lane];
      memory.ids[lane] = id;
      memory.classes[lane] = p.data.class_of[id];
    }
    __syncwarp();
    SubtreeNode node{task.path,  task.node,
                     task.depth, 0,
                     task.count, static_cast<std::uint32_t>(p.pool.cold[task.node].squares)};
    std::uint32_t stacked = 0;
    for (;;) {
      Chosen best;
      std::uint32_t mask = 0;
      bool left_grows = false;
      bool right_grows = false;
      SubtreeNode left{}, right{};
      if (Search(node, best, mask)) {
        const std::uint32_t pair = TakePair();
        Partition(node, mask, best.n_left);
        if (lane == 0) {
          p.pool.hot[node.node] = {FloatBelow(best.threshold),
                                   static_cast<std::int32_t>(best.feature), pair,
                                   2 * best.n_left > node.count ? 1u : 0u};
          p.pool.cold[node.node].threshold = best.threshold;
        }
        left = {ChildPath(node.path, false),
                pair,
                node.depth + 1,
                node.begin,
                best.n_left,
                static_cast<std::uint32_t>(best.left_squares)};
        right = {ChildPath(node.path, true),
                 pair + 1,
                 node.depth + 1,
                 node.begin + best.n_left,
                 node.count - best.n_left,
                 static_cast<std::uint32_t>(best.right_squares)};
        left_grows = Settle(left);
        right_grows = Settle(right);
      } else {
        LeaveMixed(node);
      }
      if (left_grows && right_grows) {
        const bool left_smaller = left.count < right.count;
        if (lane == 0) memory.stack[stacked] = left_smaller ? right : left;
        ++stacked;
        node = left_smaller ? left : right;
        __syncwarp();
      } else if (left_grows || right_grows) {
        node = left_grows ? left : right;
      } else if (stacked > 0) {
        __syncwarp();
        node = memory.stack[--stacked];
        __syncwarp();
      } else {
        return;
      }
    }
  }
};

template <class Code>
__global__ void __launch_bounds__(32 * kSubtreeWarps)
    GrowSubtrees(const Problem<Code> p, const Task* tasks, std::uint32_t count) {
  __shared__ SubtreeMemory memory[kSubtreeWarps];
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t warp = threadIdx.x >> 5;
  const std::uint32_t step = gridDim.x * kSubtreeWarps;
  std::uint32_t reserve_next = 0;
  std::uint32_t reserve_left = 0;
  for (std::uint32_t t = blockIdx.x * kSubtreeWarps + warp; t < count; t += step) {
    SubtreeGrower<Code> grower{p, memory[warp], tasks[t], lane, reserve_next, reserve_left};
    grower.Run();
  }
  // Taken and not needed: cleared, since they are copied with the others.
  for (std::uint32_t i = reserve_next + lane; i < reserve_next + reserve_left; i += 32) {
    p.pool.cold[i] = {};
    p.pool.hot[i] = {};
  }
}

}  // namespace retable::extratrees::frontier

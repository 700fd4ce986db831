#pragma once
//! @file
//! Nodes that keep sums of weights and targets (encoding/target_sums.hpp) on the device.

#include "algorithms/extratrees/frontier/cuda/node.cuh"

namespace retable::extratrees::frontier {

//! A cut, uniform over the warp once chosen.
struct SumsCut {
  double score, threshold;
  NodeSums left, right;
  std::uint32_t feature, code, n_left;
  std::uint32_t shift;  //!< 1: missing values go left
  std::uint32_t saw_missing, found;
};

//! Lane `from`'s value.
template <class T>
__device__ T ShuffleFrom(const T& value, int from) {
  static_assert(sizeof(T) % 4 == 0);
  std::uint32_t words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (std::uint32_t& word : words) word = __shfl_sync(kAll, word, from);
  T out;
  memcpy(&out, words, sizeof(T));
  return out;
}

//! Adds a warp's values to one in shared memory. All lanes.
__device__ inline void AddShared(unsigned long long* to, std::int64_t value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kAll, value, offset);
  if ((threadIdx.x & 31) == 0) atomicAdd(to, static_cast<unsigned long long>(value));
}

//! One more class, in ascending order.
__device__ inline void AddClass(std::int64_t weight, NodeSums& node) {
  const double wide = static_cast<double>(weight);
  node.weight += weight;
  node.class_squares = AddRn(node.class_squares, MulRn(wide, wide));
}

//! Whether a cut leaves too little of its tree's weight on a side.
template <class Code>
__device__ bool IsTooLight(const Problem<Code>& p, std::uint32_t tree, const NodeSums& left,
                           const NodeSums& right) {
  const double share = p.rules.limits.min_weight_share;
  if (share <= 0) return false;
  const double least = MulRn(share, NodeWeight(p.targets.scale, p.pool.sums[tree]));  // of its root
  return NodeWeight(p.targets.scale, left) < least || NodeWeight(p.targets.scale, right) < least;
}

//! Writes a node that was just made and queues it, unless it is a leaf. One thread; the node's ids
//! are in place. Ids are sorted by class or target: the first and the last tell whether it is pure.
template <class Code>
__device__ void MakeSumsNode(const Problem<Code>& p, const Task& task, const NodeSums& sums) {
  const std::uint32_t* ids =
      p.pool.ids[task.side] + std::size_t{task.tree} * p.sizes.rows + task.begin;
  const std::uint32_t first = ids[0];
  const std::uint32_t last = ids[task.count - 1];
  const bool pure = p.targets.regression ? p.targets.target[first] == p.targets.target[last]
                                         : p.data.class_of[first] == p.data.class_of[last];
  p.pool.cold[task.node] = {0.0, 0, task.count, pure ? 1u : 0u};
  p.pool.sums[task.node] = sums;
  HotNode hot{0.0f, -1, 0, 0};
  if (p.targets.regression) {
    hot.value = kMixed | task.node;
    p.pool.leaf_values[task.node] =
        pure ? p.targets.target[first] : TargetMean(p.targets.scale, sums);
  } else if (pure) {
    hot.value = p.data.class_of[first];
  }
  p.pool.hot[task.node] = hot;
  if (pure) return;
  if (!p.rules.limits.StopsAt(task.count, task.depth)) {
    Push(p, QueueFor(p, task.count), task);
  } else if (!p.targets.regression) {
    Push(p, kMixedLeaf, task);
  }
}

//! Turns a node into a branch and makes its children. One thread.
template <class Code>
__device__ void MakeSumsChildren(const Problem<Code>& p, const Task& task, const SumsCut& cut,
                                 std::uint32_t side) {
  const std::uint32_t left = atomicAdd(p.pool.counters + kQueues, 2u);
  const bool missing_left = cut.saw_missing != 0 ? cut.shift != 0 : 2 * cut.n_left > task.count;
  p.pool.hot[task.node] = {FloatBelow(cut.threshold), static_cast<std::int32_t>(cut.feature), left,
                           missing_left ? 1u : 0u};
  p.pool.cold[task.node].threshold = cut.threshold;
  Task child = task;
  child.side = side;
  child.depth = task.depth + 1;
  child.node = left;
  child.count = cut.n_left;
  child.path = ChildPath(task.path, false);
  MakeSumsNode(p, child, cut.left);
  child.node = left + 1;
  child.begin = task.begin + cut.n_left;
  child.count = task.count - cut.n_left;
  child.path = ChildPath(task.path, true);
  MakeSumsNode(p, child, cut.right);
}

}  // namespace retable::extratrees::frontier

#pragma once
//! @file
//! What the kernels of the exact frontier share: nodes, tasks, queues, and a batch's problem.

#include <cstdint>

#include "algorithms/extratrees/encoding/target_sums.hpp"
#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"
#include "algorithms/extratrees/frontier/cuda/trainer.hpp"
#include "algorithms/extratrees/splits/split_rules.hpp"
#include "algorithms/extratrees/tuning.cuh"
#include "base/cuda/memory.hpp"
#include "base/cuda/streams.hpp"

namespace retable::extratrees::frontier {

//! A node to be grown, or a mixed leaf to be counted.
struct alignas(16) Task {
  std::uint64_t path;
  std::uint32_t node, begin, count, tree, depth, side;
};

//! What growth needs to know of a node beside its HotNode.
struct ColdNode {
  double threshold;
  std::uint64_t squares;  //!< plain classes: sum of squared class counts
  std::uint32_t samples;
  std::uint32_t pure;  //!< set where sums are kept
};

//! Bytes of a cut of a large node (frontier/cuda/large_nodes.cuh).
inline constexpr std::size_t kLargeCutBytes = 112;

enum Queue : std::uint32_t { kLarge, kBlock, kWarp, kSubtree, kMixedLeaf, kQueues };
inline constexpr std::uint32_t kCounters = kQueues + 1;  // the last one counts nodes

//! The encoded samples and, for plain classes, their classes.
template <class Code>
struct TrainingData {
  const Code* columns;  //!< [features][rows]
  const Code* lines;    //!< [rows][features]
  const float* values;  //!< bytes' values: code c of feature f at table_start[f] + c
  const std::uint32_t* table_start;
  const std::uint16_t* class_of;
  const std::uint32_t* class_start;
};

struct Sizes {
  std::uint32_t rows, features, classes, k, first_tree, trees;
};

struct GrowthRules {
  std::uint64_t seed;
  GrowthLimits limits;
  ConstantRule constant_rule;
  FrontierSteps steps;
};

//! Integers of the rows where nodes keep sums (frontier/cuda/sums_kernels.cuh), else unset.
struct RowTargets {
  bool plain, regression, has_missing;
  TargetScale scale;
  const std::int64_t* weight;
  const std::int64_t* sum;
  const std::int64_t* squares;
  const double* target;              //!< regression: the rows' targets
  const std::int64_t* class_weight;  //!< sums over all rows; bootstrap: null, every draw weighs 1
};

struct NodePool {
  NodeSums* sums;
  HotNode* hot;
  ColdNode* cold;
  std::uint32_t* ids[2];
  std::uint32_t* counters;           //!< kCounters
  Task* next[kQueues];               //!< queues of the children
  unsigned long long* leaf_weights;  //!< [mixed leaves][classes]
  double* leaf_values;               //!< [mixed leaves][classes]: fractions; regression: [nodes]
  void* large_cuts;                  //!< [large nodes][k]
  double* gains;                     //!< [nodes] where trees are cut back afterwards, else null
};

//! One batch of trees, as the kernels see it.
template <class Code>
struct Problem {
  TrainingData<Code> data;
  Sizes sizes;
  GrowthRules rules;
  RowTargets targets;
  NodePool pool;
};

//! Host side, one code width a translation unit.
struct Buffers {
  DeviceArray<std::uint8_t> columns, lines;
  DeviceArray<float> values;
  DeviceArray<std::uint32_t> table_start, class_start, counters;
  DeviceArray<std::int64_t> weight, sum, squares, class_weight, draw_up_to;
  DeviceArray<double> target, leaf_values, gains;
  DeviceArray<NodeSums> sums;
  DeviceArray<unsigned long long> leaf_weights;
  DeviceArray<std::uint16_t> class_of;
  DeviceArray<std::uint32_t> ids[2];
  DeviceArray<HotNode> hot;
  DeviceArray<ColdNode> cold;
  DeviceArray<Task> queue[2][3];  // large, block, warp: this level and the next
  DeviceArray<Task> subtrees, mixed;
  DeviceArray<std::uint8_t> large_cuts;
};

struct GrowResult {
  std::uint32_t nodes = 0;
  std::uint32_t mixed = 0;
};

//! Lines as they were uploaded become codes, in place, and are transposed into columns: values
//! become OrderedBits, the missing ones the largest number.
template <class Code>
void PrepareCodes(Code* lines, Code* columns, std::uint32_t features, std::uint32_t rows);

//! Grows one batch; `draw_up_to`: sums of weights, for a bootstrap by weight, or null.
template <class Code>
GrowResult GrowBatch(const Problem<Code>& problem, Buffers& buffers, bool bootstrap,
                     const std::int64_t* draw_up_to, DeviceArray<NodeFacts>& facts);

}  // namespace retable::extratrees::frontier

#pragma once
//! @file
//! The order of the report's kernels, for both devices: what a fit holds, which rule follows which,
//! when growth ends. A device (cpu_trainer.cpp, cuda_trainer.cu) has
//!   view    the fit's View, whose pointers the device's rules may follow
//!   clock   Begin(), Mark(name): a part's end, End(); parts: their times so far
//!   Run(rule, position...)   the rule for all trees, or for all elements of all trees
//!   Longest()                the nodes of the largest tree
//!   GrowCapacity()           doubles M, as the report's trees array grows with the largest tree

#include "algorithms/extratrees/published/trainer.hpp"

namespace retable::extratrees::published {

//! The memory behind a View, in arrays of a device.
template <template <class> class Array>
struct Memory {
  Array<float> lines, columns, minimum, maximum, cut;
  Array<std::uint32_t> labels;
  Array<Cell> nodes;
  Array<std::int32_t> batch_pos, length, done, branch, valid, num_valid, feature, left, right, best,
      scratch;
};

//! Makes room for all but the data, and points the view to it. @param take makes room in an array
//! for so many entries and returns where they are
template <template <class> class Array, class Take>
void Reserve(Memory<Array>& m, const Take& take, View& v) {
  const std::size_t trees = v.shape.trees;
  v.nodes = take(m.nodes, trees * v.capacity * kFields);
  v.progress.batch_pos = take(m.batch_pos, trees * v.shape.rows);
  v.progress.length = take(m.length, trees);
  v.progress.done = take(m.done, trees);
  v.progress.branch = take(m.branch, trees);
  v.scan.minimum = take(m.minimum, trees * v.shape.features);
  v.scan.maximum = take(m.maximum, trees * v.shape.features);
  v.scan.valid = take(m.valid, trees * v.shape.features);
  v.scan.num_valid = take(m.num_valid, trees);
  v.draws.feature = take(m.feature, trees * v.shape.k);
  v.draws.cut = take(m.cut, trees * v.shape.k);
  v.draws.left_count = take(m.left, trees * v.shape.k * v.shape.classes);
  v.draws.right_count = take(m.right, trees * v.shape.k * v.shape.classes);
  v.draws.best = take(m.best, trees);
  v.draws.scratch = take(m.scratch, trees * v.shape.classes);
}

//! A function of step_rules.hpp, called with a view, a tree and, but for kTree, an element of it.
template <auto kFunction, Each kEach = Each::kTree>
struct Rule {};

//! Grows node `pos` of every tree.
template <class Device>
void TakeStep(Device& device, std::int32_t pos) {
  const auto run = [&device](const char* name, auto rule, auto... position) {
    device.Run(rule, position...);
    device.clock.Mark(name);
  };
  run("kernel_advance_trees", Rule<Advance, Each::kRow>());
  run("kernel_refresh_tree_is_done", Rule<RefreshDone>(), pos);
  run("kernel_check_node_termination", Rule<CheckTermination>(), pos);
  run("kernel_collect_min_max", Rule<CollectMinMax, Each::kFeature>(), pos);
  run("kernel_collect_num_valid_feat", Rule<CollectNumValid>());
  run("kernel_depopulate_valid_feat_idx", Rule<DepopulateValid, Each::kFeature>());
  run("kernel_populate_valid_feat_idx", Rule<PopulateValid>());
  // A part of populate_feat_cut: what is not marked is timed with what follows.
  if (device.view.sampling != Sampling::kUniform) device.Run(Rule<SampleInOrder>(), pos);
  run("kernel_populate_feat_cut", Rule<PopulateFeatCut, Each::kCandidate>(), pos);
  run("kernel_populate_class_counts", Rule<PopulateClassCounts, Each::kCandidate>(), pos);
  run("kernel_place_best_feat_cuts", Rule<PlaceBest>());
  run("kernel_update_trees", Rule<UpdateTree>(), pos);
}

//! Grows the trees whole, or for so many steps.
template <class Device>
void GrowTrees(Device& device, std::int64_t max_steps) {
  device.clock.Begin();
  device.Run(Rule<InitializeTree>());
  device.clock.Mark("kernel_initialize_trees");
  device.Run(Rule<InitializePosition, Each::kRow>());
  device.clock.Mark("kernel_initialize_batch_pos");
  device.clock.End();
  std::int32_t longest = 1;
  for (std::int32_t pos = 0; pos < longest; ++pos) {
    if (max_steps > 0 && pos >= max_steps) {
      device.clock.parts.push_back({"stopped", static_cast<std::uint64_t>(pos), 0});
      return;
    }
    device.clock.Begin();
    TakeStep(device, pos);
    longest = device.Longest();
    device.clock.End();
    if (static_cast<std::uint32_t>(longest) + 2 > device.view.capacity) device.GrowCapacity();
  }
}

}  // namespace retable::extratrees::published

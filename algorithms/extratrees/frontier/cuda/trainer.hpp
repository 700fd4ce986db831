#pragma once
//! @file
//! The exact frontier method on a GPU: all nodes of a level of all trees at once.
//!
//! Problem: the report grew one node of every tree a step and read all samples for each, O(nodes N
//! F); a GPU idles and scikit-learn wins. Approach: a frontier. Each node owns a contiguous,
//! ascending list of samples; a level costs O(N K) a tree. Node sizes span five decades, so four
//! kernels share the work (row limits are for codes of one byte, a quarter of it for values):
//!   large  (> 2048 samples; > 256 where K <= 8): a block tries 4 candidates of a node; lanes are
//!          samples, neighbours in the column, so that dense nodes read whole sectors;
//!   block  (257 .. 2048) and warp (33 .. 256): lanes are candidates. A sample's 28 features lie in
//!          one row, codes are read once and kept in shared memory; counts need no reduction;
//!   subtree (<= 32): a warp finishes the whole subtree; which samples go left is one 32-bit word a
//!          lane, a class count is one population count.
//! Samples are numbered by class, so class counts are runs, not histograms. Random bits are named
//! by the node's path (splits/split_rules.hpp): trees do not depend on batch, grid or device and
//! equal those of the CPU backend bit for bit. Queues are filled by atomics: the order of nodes in
//! device memory varies from run to run, the exported forest does not. Memory: codes twice
//! (columns, rows), 8 bytes a sample and tree, 40 bytes a node, 48 bytes a queued node; 56 bytes a
//! node more to put trees in preorder, 16 more where leaves are limited; trees are batched to fit.
//! Several GPUs hold the data each and share the trees.

#include "algorithms/extratrees/forest_trainer.hpp"
#include "algorithms/extratrees/frontier/steps.hpp"

namespace retable::extratrees {

#if defined(RETABLE_HAS_CUDA)
class FrontierCuda final : public ForestTrainer {
 public:
  //! @param batch_trees trees grown at once on a device; 0: what fits.
  //! @param devices GPUs that share the trees; 0: all there are.
  //! @param memory_mb MiB of each device's memory to plan for; 0: nine tenths of what is free.
  explicit FrontierCuda(FrontierSteps steps = {}, int batch_trees = 0, int devices = 1,
                        std::int64_t memory_mb = 0);
  ~FrontierCuda() override;
  //! The forest stays in device memory until host() is called. With max_leaf_nodes whole trees are
  //! brought to the host, cut back there (frontier/best_first.hpp), and predict on device 0. Device
  //! buffers are kept for the next fit. parts: "encode", "upload", "grow" (of the slowest device).
  std::unique_ptr<FittedForest> fit(const FeatureMatrix& data, const Targets& targets,
                                    const ForestOptions& options) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
  FrontierSteps steps_;
  int batch_trees_;
  int devices_;
  std::uint64_t memory_bytes_;
};

#endif

}  // namespace retable::extratrees

#pragma once
//! @file
//! A forest in device memory: prediction there, export to the host on demand.

#include <memory>
#include <vector>

#include "algorithms/extratrees/frontier/cuda/packed_nodes.hpp"
#include "algorithms/extratrees/frontier/cuda/problem.cuh"
#include "algorithms/extratrees/frontier/cuda/staging.cuh"

namespace retable::extratrees {

//! The nodes of one batch of trees. Node t is the root of tree t.
struct DeviceTrees {
  DeviceArray<frontier::HotNode> hot;
  DeviceArray<frontier::NodeFacts> facts;
  DeviceArray<double> leaf_values;
  std::shared_ptr<Staging> staging;
  int device = 0;
  std::uint32_t trees = 0;
  std::uint32_t nodes = 0;
  std::size_t leaf_value_count = 0;
};

//! What a batch's way to the host needs, in bytes a node.
inline constexpr std::size_t kExportBytes =
    sizeof(frontier::NodeFacts) + sizeof(frontier::NodeLink) + sizeof(TreeNode);

//! What cuts a batch's trees back to a number of leaves (frontier/best_first.hpp).
struct LeafLimit {
  int leaves;           //!< 0: none, and the rest is not read
  const double* gains;  //!< one a node, in device memory
  double units;         //!< a weight of 1 in the whole numbers of `leaf_values`
};

//! Copies a batch's trees to the host, behind those of `forest`.
void AppendTrees(const DeviceTrees& batch, const LeafLimit& limit, Forest& forest);

class DeviceForest final : public FittedForest {
 public:
  //! @param empty the forest without its trees, which are added.
  explicit DeviceForest(Forest empty) : empty_(std::move(empty)) {}
  //! A forest that is on the host already; it predicts on device 0.
  DeviceForest(Forest grown, std::shared_ptr<Staging> staging);
  void Add(DeviceTrees batch) { batches_.push_back(std::move(batch)); }

  Forest& host() override;
  void predict_proba(const float* rows, std::size_t n, double* proba) override;
  std::vector<std::uint32_t> predict(const float* rows, std::size_t n) override;

 private:
  //! Adds the votes of one device's trees for `count` rows to `sums`; `rows`: in host memory.
  void VoteOn(int device, const float* rows, std::uint32_t count, std::vector<std::int64_t>& sums);

  Forest empty_;
  std::vector<DeviceTrees> batches_;
  std::unique_ptr<Forest> host_;
};

}  // namespace retable::extratrees

#pragma once
//! @file
//! A forest in device memory: prediction there, export to the host on demand.

#include <memory>
#include <vector>

#include "algorithms/extratrees/frontier_device.cuh"

namespace retable::extratrees {

//! The nodes of one batch of trees. Root of tree t: node t.
struct DeviceTrees {
  DeviceArray<frontier::HotNode> hot;
  DeviceArray<frontier::ColdNode> cold;
  DeviceArray<std::uint32_t> leaf_counts;
  std::uint32_t trees = 0;
  std::uint32_t nodes = 0;
  std::uint32_t mixed = 0;
};

class DeviceForest final : public FittedForest {
 public:
  DeviceForest(std::uint32_t classes, std::size_t columns) : classes_(classes), columns_(columns) {}
  void Add(DeviceTrees batch) { batches_.push_back(std::move(batch)); }

  const Forest& host() override;
  void predict_proba(const float* rows, std::size_t n, double* proba) override;
  std::vector<std::uint32_t> predict(const float* rows, std::size_t n) override;
  //! Time of the last prediction's kernels alone, in seconds.
  double predict_seconds = 0;

 private:
  std::uint32_t classes_;
  std::size_t columns_;
  std::vector<DeviceTrees> batches_;
  std::unique_ptr<Forest> host_;
};

}  // namespace retable::extratrees

#pragma once
//! @file
//! Several explainers side by side, each with a shard of the rows: one per GPU of a host.
//!
//! Rows are independent, so the shards are even and contiguous and nothing is exchanged (Mitchell
//! et al. 2022, figure 5). Results do not depend on the number of shards.

#include <memory>
#include <vector>

#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

//! Takes explainers for different devices; one is returned as it is. @throws std::invalid_argument
//! for an empty list.
std::unique_ptr<TreeExplainer> ShardRows(std::vector<std::unique_ptr<TreeExplainer>> explainers);

}  // namespace retable::treeshap

#pragma once
//! @file
//! The work that growing a forest takes, whoever grows it.

#include <vector>

#include "algorithms/common/work.hpp"
#include "algorithms/extratrees/model/forest.hpp"

namespace retable::extratrees {

//! To split a node, K of its samples' features have to be looked at, for every sample, in a byte at
//! least (encoding/encoded_matrix.hpp): the bytes of all inner nodes of the grown trees, and the
//! float32 data once. Where `grown` has fewer trees than were asked for (`n_trees`), it stands for
//! all of them.
std::vector<Work> FitWork(const FeatureMatrix& data, const Forest& grown,
                          const ForestOptions& options);

}  // namespace retable::extratrees

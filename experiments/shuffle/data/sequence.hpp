#pragma once
//! @file
//! What shuffles are measured on: the items 0, 1, ..., n - 1. A permutation does not depend on the
//! values.

#include <string>
#include <vector>

#include "harness/protocol.hpp"

namespace retable::experiments {

//! "sequence" is the one data set. @throws harness::UnknownName
std::vector<harness::DatasetInfo> ResolveSequence(const std::string& name);

}  // namespace retable::experiments

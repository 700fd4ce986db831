#pragma once
//! @file
//! What shuffles are measured on: the items 0, 1, ..., n - 1. A permutation does not depend on the
//! values.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "harness/protocol.hpp"

namespace retable::experiments {

//! "sequence" is the one data set. @throws harness::UnknownName
std::vector<harness::DatasetInfo> ResolveSequence(const std::string& name);

//! Calls visit(begin, end) for parts of [0, n) on all threads: at 2^29 items making and checking
//! them takes longer than what is timed.
template <class Visit>
void ForParts(std::uint64_t n, const Visit& visit) {
  ParallelBlocks(n, 1 << 18, visit);
}

//! Item i starts with its index (as far as it fits).
void NumberItems(std::span<std::byte> items, std::uint64_t n, std::size_t item_bytes);

//! Items that are missing, or, when `repeats` may occur, that are not of the input.
std::uint64_t WrongItems(std::span<const std::byte> items, std::uint64_t n, std::size_t item_bytes,
                         bool repeats);

}  // namespace retable::experiments

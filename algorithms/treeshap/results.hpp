#pragma once
//! @file
//! Memory for what explainers return.

#include <cstddef>

#include "base/memory/large_memory.hpp"

namespace retable::treeshap {

//! `Results(n)` and resize() leave new values as the memory is: NewResults() makes zeros.
using Results = LargeArray<double>;

//! Zeros, written by all threads.
Results NewResults(std::size_t count);

}  // namespace retable::treeshap

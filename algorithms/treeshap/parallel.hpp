#pragma once
//! @file
//! One parallel loop, so that oneTBB's templates stay in one translation unit.

#include <cstddef>
#include <functional>

namespace retable::treeshap {

//! Calls body(i) for i in [0, n) on up to `threads` threads (0: all). Exceptions of the body pass
//! on.
void ParallelFor(std::size_t n, int threads, const std::function<void(std::size_t)>& body);

//! The number of threads ParallelFor uses for `threads` = 0.
int HardwareThreads();

}  // namespace retable::treeshap

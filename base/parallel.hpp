#pragma once
//! @file
//! The one threading runtime: oneTBB behind one parallel loop, so that its templates stay in one
//! translation unit. Results never depend on how a loop's bodies are spread over threads.

#include <algorithm>
#include <cstddef>
#include <functional>

namespace retable {

//! Calls body(i) for i in [0, n), in any order, on up to `threads` threads (0: all). Exceptions of
//! the body pass on.
void ParallelFor(std::size_t n, int threads, const std::function<void(std::size_t)>& body);
inline void ParallelFor(std::size_t n, const std::function<void(std::size_t)>& body) {
  ParallelFor(n, 0, body);
}

//! Calls body(begin, end) for blocks of [0, n), the last one shorter, as ParallelFor.
template <class Body>
void ParallelBlocks(std::size_t n, std::size_t block, int threads, const Body& body) {
  ParallelFor((n + block - 1) / block, threads,
              [&](std::size_t i) { body(i * block, std::min(n, (i + 1) * block)); });
}
template <class Body>
void ParallelBlocks(std::size_t n, std::size_t block, const Body& body) {
  ParallelBlocks(n, block, 0, body);
}

//! How many threads a ParallelFor on all threads may use here.
int AvailableThreads();

//! Calls body, and `check` between the bodies of its loops that this thread runs. What check throws
//! ends the loop and passes on.
void WithChecks(const std::function<void()>& check, const std::function<void()>& body);

//! Calls the check that WithChecks set for this thread, if any: for steps that no loop above runs.
void Check();

//! Calls body with every ParallelFor within it on at most that many threads; 0, or more than a
//! limit around it allows: on as many as that allows.
void WithThreads(int threads, const std::function<void()>& body);

}  // namespace retable

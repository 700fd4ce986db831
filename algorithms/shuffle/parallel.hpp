#pragma once
//! @file
//! The one threading runtime of the family: oneTBB, behind one function, so that its headers stay
//! in one file. Results never depend on how the blocks are spread over threads.

#include <cstdint>
#include <functional>

namespace retable::shuffle {

//! Calls body(b) for b in [0, blocks), in any order, on the process's threads.
void ParallelFor(std::uint64_t blocks, const std::function<void(std::uint64_t)>& body);

//! How many threads ParallelFor may use here.
int Threads();

//! Calls body with ParallelFor on at most that many threads within it; 0: on all there are.
void WithThreads(int threads, const std::function<void()>& body);

}  // namespace retable::shuffle

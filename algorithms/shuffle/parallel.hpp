#pragma once
//! @file
//! The one threading runtime of the family: oneTBB, behind one function, so that its headers stay
//! in one file. Results never depend on how the blocks are spread over threads.

#include <cstdint>
#include <functional>

namespace retable::shuffle {

//! Calls body(b) for b in [0, blocks), in any order, on the process's threads.
void ParallelFor(std::uint64_t blocks, const std::function<void(std::uint64_t)>& body);

}  // namespace retable::shuffle

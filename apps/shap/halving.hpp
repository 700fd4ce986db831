#pragma once
//! @file
//! A block of rows in as few pieces as memory allows.

#include <cstddef>
#include <functional>

namespace retable::experiments::treeshap {

//! Calls body(first, count) for consecutive pieces of [0, rows) of at most `piece` rows. Where the
//! body runs out of memory (std::bad_alloc, so OutOfDeviceMemory too) `piece` is halved and the
//! piece done again; the smaller size stays for the next call.
//! @throws what the body throws otherwise, and out of memory on a single row
void InPieces(std::size_t rows, std::size_t& piece,
              const std::function<void(std::size_t first, std::size_t count)>& body);

}  // namespace retable::experiments::treeshap

#pragma once
//! @file
//! Splits rows into as few batches as memory allows.

#include <cstddef>
#include <functional>

namespace retable::experiments::treeshap {

//! Calls body(first, count) for consecutive batches of [0, rows) of at most `batch_rows` rows.
//! Where the body runs out of memory (std::bad_alloc, so OutOfDeviceMemory too) `batch_rows` is
//! halved and the batch repeated; the smaller size stays for the next call.
//! @throws what the body throws otherwise, and out of memory on a single row
void ForEachBatch(std::size_t rows, std::size_t& batch_rows,
                  const std::function<void(std::size_t first, std::size_t count)>& body);

}  // namespace retable::experiments::treeshap

#pragma once
//! @file
//! Splits rows into as few batches as memory allows.

#include <algorithm>
#include <cstddef>
#include <new>

namespace retable::experiments::treeshap {

//! Calls body(first, count) for consecutive batches of [0, rows) of at most `batch_rows` rows.
//! Where the body runs out of memory (std::bad_alloc, so OutOfDeviceMemory too) `batch_rows` is
//! halved and the batch repeated; the smaller size stays for the next call.
//! @throws what the body throws otherwise, and out of memory on a single row
void ForEachBatch(std::size_t rows, std::size_t& batch_rows, const auto& body) {
  for (std::size_t at = 0; at < rows;) {
    const std::size_t count = std::min(batch_rows, rows - at);
    try {
      body(at, count);
      at += count;
    } catch (const std::bad_alloc&) {  // host memory, or OutOfDeviceMemory
      if (count == 1) throw;
      batch_rows = (count + 1) / 2;
    }
  }
}

}  // namespace retable::experiments::treeshap

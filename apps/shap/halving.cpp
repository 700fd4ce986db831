#include "apps/shap/halving.hpp"

#include <algorithm>
#include <new>

namespace retable::experiments::treeshap {

void ForEachBatch(std::size_t rows, std::size_t& batch_rows,
                  const std::function<void(std::size_t first, std::size_t count)>& body) {
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

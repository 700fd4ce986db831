#include "apps/shap/halving.hpp"

#include <algorithm>
#include <new>

namespace retable::experiments::treeshap {

void InPieces(std::size_t rows, std::size_t& piece,
              const std::function<void(std::size_t first, std::size_t count)>& body) {
  for (std::size_t at = 0; at < rows;) {
    const std::size_t count = std::min(piece, rows - at);
    try {
      body(at, count);
      at += count;
    } catch (const std::bad_alloc&) {  // of the host, or OutOfDeviceMemory
      if (count == 1) throw;
      piece = (count + 1) / 2;
    }
  }
}

}  // namespace retable::experiments::treeshap

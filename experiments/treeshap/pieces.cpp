#include "experiments/treeshap/pieces.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

namespace retable::experiments::treeshap {
namespace {

// CUDA says "out of memory", DeviceArray how many "MiB more are needed".
bool OutOfMemory(const std::exception& error) {
  const std::string what = error.what();
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         what.find("out of memory") != std::string::npos ||
         what.find("MiB more are needed") != std::string::npos;
}

}  // namespace

void InPieces(std::size_t rows, std::size_t& piece,
              const std::function<void(std::size_t first, std::size_t count)>& body) {
  for (std::size_t at = 0; at < rows;) {
    const std::size_t count = std::min(piece, rows - at);
    try {
      body(at, count);
      at += count;
    } catch (const std::exception& error) {
      if (!OutOfMemory(error) || count == 1) throw;
      piece = (count + 1) / 2;
    }
  }
}

}  // namespace retable::experiments::treeshap

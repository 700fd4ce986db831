#include "base/memory/large_memory.hpp"

#include <algorithm>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace retable {

void* AllocateLarge(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  // Smaller ones come from memory that the program has used before.
  if (bytes < 4 * kPage) {
    if (void* memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
    throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  if (rounded < bytes) throw std::bad_alloc();
  void* memory = std::aligned_alloc(kPage, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  // Advice alone: where it is refused the pages are small.
  madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return memory;
}

void FreeLarge(void* memory) noexcept {
  std::free(memory);
}

}  // namespace retable

#include "base/memory/large_memory.hpp"

#include <algorithm>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/parallel.hpp"

namespace retable {

namespace {

constexpr std::size_t kPage = std::size_t{2} << 20, kSmallPage = 4096;

// Room for `bytes` in pages of that size.
void* Allocate(std::size_t bytes, std::size_t page) {
  const std::size_t rounded = (bytes + page - 1) / page * page;
  if (rounded < bytes) throw std::bad_alloc();
  void* memory = std::aligned_alloc(page, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  // Advice alone: where it is refused the pages are small.
  if (page == kPage) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace

void* AllocateLarge(std::size_t bytes) {
  if (bytes >= 4 * kPage) return Allocate(bytes, kPage);
  // Smaller ones come from memory that the program has used before.
  if (void* memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
  throw std::bad_alloc();
}

void* AllocatePages(std::size_t bytes) {
  if (bytes < kPage) return Allocate(std::max<std::size_t>(bytes, 1), kSmallPage);
  auto* memory = static_cast<char*>(Allocate(bytes, kPage));
  ParallelFor((bytes + kPage - 1) / kPage, [&](std::size_t i) {
    for (std::size_t at = 0; at < kPage; at += kSmallPage) memory[i * kPage + at] = 0;
  });
  return memory;
}

void FreeLarge(void* memory) noexcept {
  std::free(memory);
}

}  // namespace retable

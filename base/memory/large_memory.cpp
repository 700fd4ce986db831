#include "base/memory/large_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "base/parallel.hpp"

namespace retable {

namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;

// Advice alone: where it is refused the pages are small.
void AskForLargePages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace

void* AllocateLarge(std::size_t bytes) {
  // Smaller ones come from memory that the program has used before.
  if (bytes < 4 * kPage) {
    if (void* memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
    throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  if (rounded < bytes) throw std::bad_alloc();
  void* memory = std::aligned_alloc(kPage, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  AskForLargePages(memory, rounded);
  return memory;
}

void* AllocatePages(std::size_t bytes) {
  constexpr std::size_t kSmallPage = 4096;
  if (bytes == 0) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  AskForLargePages(memory, bytes);
#if defined(__linux__)
  madvise(memory, bytes, MADV_DONTFORK);
#endif
  ParallelBlocks(bytes, kPage, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += kSmallPage) static_cast<char*>(memory)[at] = 0;
  });
  return memory;
}

void FreePages(void* memory, std::size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, bytes);
}

void FreeLarge(void* memory) noexcept {
  std::free(memory);
}

}  // namespace retable

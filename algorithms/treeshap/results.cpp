#include "algorithms/treeshap/results.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/parallel.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace retable::treeshap {

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

}  // namespace

void* AllocateResults(std::size_t bytes) {
  // Smaller ones come from memory that the program has used before.
  if (bytes < 4 * kLargePage) {
    if (void* memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
    throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  if (rounded < bytes) throw std::bad_alloc();
  void* memory = std::aligned_alloc(kLargePage, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  // Advice alone: where it is refused the pages are small.
  madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return memory;
}

void FreeResults(void* memory) noexcept {
  std::free(memory);
}

Results NewResults(std::size_t count) {
  constexpr std::size_t kPart = kLargePage / sizeof(double);
  Results results(count);
  ParallelFor((count + kPart - 1) / kPart, 0, [&](std::size_t part) {
    const std::size_t begin = part * kPart;
    std::fill_n(results.begin() + static_cast<std::ptrdiff_t>(begin),
                std::min(kPart, count - begin), 0.0);
  });
  return results;
}

}  // namespace retable::treeshap

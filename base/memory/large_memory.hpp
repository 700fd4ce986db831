#pragma once
//! @file
//! Memory for arrays of hundreds of megabytes that many threads write once.
//!
//! 10,000 rows of ten outputs and 784 features are 630 MB. A vector that writes zeros first lets
//! every page appear in the one thread that clears it (0.3 s by pages of 4 KB); here memory is not
//! written until someone has something to write, and comes in large pages where the system has
//! them.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace retable {

//! Aligned to large pages and asked for in them where that is worth it. @throws std::bad_alloc
void* AllocateLarge(std::size_t bytes);
void FreeLarge(void* memory) noexcept;

//! Whole pages that hold nothing else, for memory that is locked for a device; large ones where the
//! system has them. All threads write to them once, so that they are there. A forked process has
//! none of them: else its parent's next write to a page might go to a copy, while the device reads
//! the page (Linux before 5.12). No bytes: null. O(bytes) @throws std::bad_alloc
void* AllocatePages(std::size_t bytes);
//! `bytes` as they were asked for.
void FreePages(void* memory, std::size_t bytes) noexcept;

//! An allocator whose values are not initialised where nothing is given to initialise them with.
template <class T>
class LargeAllocator {
 public:
  using value_type = T;
  using is_always_equal = std::true_type;

  LargeAllocator() = default;
  template <class U>
  explicit(false) LargeAllocator(const LargeAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    if (count > std::size_t(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(AllocateLarge(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept { FreeLarge(memory); }

  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0) {
      ::new (static_cast<void*>(place)) U;
    } else {
      ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
    }
  }

  template <class U>
  bool operator==(const LargeAllocator<U>& /*other*/) const {
    return true;
  }
};

//! A vector of it: `LargeArray<T>(n)` and resize() leave new values as the memory is.
template <class T>
using LargeArray = std::vector<T, LargeAllocator<T>>;

}  // namespace retable

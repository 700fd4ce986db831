#pragma once
//! @file
//! Memory for results: hundreds of megabytes that are written once, by many threads.
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

namespace retable::treeshap {

//! Aligned to large pages and asked for in them where that is worth it. @throws std::bad_alloc
void* AllocateResults(std::size_t bytes);
void FreeResults(void* memory) noexcept;

//! An allocator whose values are not initialised where nothing is given to initialise them with.
template <class T>
class ResultAllocator {
 public:
  using value_type = T;
  using is_always_equal = std::true_type;

  ResultAllocator() = default;
  template <class U>
  explicit(false) ResultAllocator(const ResultAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    if (count > std::size_t(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(AllocateResults(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept { FreeResults(memory); }

  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0) {
      ::new (static_cast<void*>(place)) U;
    } else {
      ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
    }
  }

  template <class U>
  bool operator==(const ResultAllocator<U>& /*other*/) const {
    return true;
  }
};

//! What explainers return. `Results(n)` and resize() leave new values as the memory is:
//! NewResults() makes zeros.
using Results = std::vector<double, ResultAllocator<double>>;

//! Zeros, written by all threads.
Results NewResults(std::size_t count);

}  // namespace retable::treeshap

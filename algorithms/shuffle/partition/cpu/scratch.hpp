#pragma once
//! @file
//! Memory a thread keeps from one task to the next, so that its pages are touched once.

#include <cstddef>
#include <memory>

namespace retable::shuffle {

//! At least `count` items, uninitialised, the thread's own until it asks for more of the same T and
//! Use. Starts on a cache line.
template <class T, class Use = void>
T* Scratch(std::size_t count) {
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  thread_local std::unique_ptr<Line[]> memory;
  thread_local std::size_t lines = 0;
  const std::size_t needed = (count * sizeof(T) + sizeof(Line) - 1) / sizeof(Line);
  if (needed > lines) {
    memory.reset();
    lines = needed + needed / 8;
    memory.reset(new Line[lines]);
  }
  return reinterpret_cast<T*>(memory.get());
}

}  // namespace retable::shuffle

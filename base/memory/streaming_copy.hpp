#pragma once
//! @file
//! Results that are larger than the processor's caches are written past them: a usual store reads
//! the line that it overwrites from memory first.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace retable {

//! Whether memory of this size is better written past the caches: more than three quarters of the
//! largest cache.
bool OutgrowsCaches(std::size_t bytes);

//! Copies past the caches where the processor has stores for it. Before another thread reads the
//! copy, the thread that made it calls FinishStreaming.
inline void StreamingCopy(const double* from, std::size_t count, double* to) {
#if defined(__SSE2__)
  if (count > 0 && reinterpret_cast<std::uintptr_t>(to) % 16 != 0) {
    *to++ = *from++;
    --count;
  }
  for (; count >= 2; count -= 2, from += 2, to += 2) _mm_stream_pd(to, _mm_loadu_pd(from));
#endif
  std::copy_n(from, count, to);
}
inline void FinishStreaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace retable

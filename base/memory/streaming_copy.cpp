#include "base/memory/streaming_copy.hpp"

#include <unistd.h>

namespace retable {

bool OutgrowsCaches(std::size_t bytes) {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  static const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
  constexpr long cache = 0;
#endif
  constexpr std::size_t unknown = std::size_t{128} << 20;
  return bytes > (cache > 0 ? static_cast<std::size_t>(cache) : unknown) / 4 * 3;
}

}  // namespace retable

#include "algorithms/treeshap/results.hpp"

#include <algorithm>

#include "base/parallel.hpp"

namespace retable::treeshap {

Results NewResults(std::size_t count) {
  constexpr std::size_t kPart = (std::size_t{2} << 20) / sizeof(double);  // a large page
  Results results(count);
  ParallelFor((count + kPart - 1) / kPart, 0, [&](std::size_t part) {
    const std::size_t begin = part * kPart;
    std::fill_n(results.begin() + static_cast<std::ptrdiff_t>(begin),
                std::min(kPart, count - begin), 0.0);
  });
  return results;
}

}  // namespace retable::treeshap

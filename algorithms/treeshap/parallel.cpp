#include "algorithms/treeshap/parallel.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace retable::treeshap {

void ParallelFor(std::size_t n, int threads, const std::function<void(std::size_t)>& body) {
  if (threads == 1 || n < 2) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  if (threads <= 0) {
    tbb::parallel_for(std::size_t{0}, n, body);
    return;
  }
  // More than there are would be refused with a warning.
  tbb::task_arena arena(std::min(threads, tbb::info::default_concurrency()));
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, n, body); });
}

int HardwareThreads() {
  return tbb::this_task_arena::max_concurrency();
}

}  // namespace retable::treeshap

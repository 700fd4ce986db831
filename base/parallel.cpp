#include "base/parallel.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace retable {

void ParallelFor(std::size_t n, int threads, const std::function<void(std::size_t)>& body) {
  if (threads > 1 && n > 1) return WithThreads(threads, [&] { ParallelFor(n, 0, body); });
  if (threads == 1 || n < 2 || AvailableThreads() == 1) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  // Isolated: a thread that waits here takes no other work, which might want its scratch memory.
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, n, body); });
}

int AvailableThreads() {
  return tbb::this_task_arena::max_concurrency();
}

void WithThreads(int threads, const std::function<void()>& body) {
  if (threads <= 0) return body();
  // More than there are would be refused with a warning.
  tbb::task_arena arena(std::min(threads, tbb::info::default_concurrency()));
  arena.execute(body);
}

}  // namespace retable

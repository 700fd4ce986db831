#include "algorithms/shuffle/parallel.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace retable::shuffle {

int Threads() {
  return tbb::this_task_arena::max_concurrency();
}

void ParallelFor(std::uint64_t blocks, const std::function<void(std::uint64_t)>& body) {
  if (blocks == 1 || Threads() == 1) {
    for (std::uint64_t b = 0; b < blocks; ++b) body(b);
    return;
  }
  // Isolated: a thread that waits here takes no other work, which might want its scratch memory.
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::uint64_t{0}, blocks, body); });
}

void WithThreads(int threads, const std::function<void()>& body) {
  if (threads <= 0) return body();
  tbb::task_arena arena(threads);
  arena.execute(body);
}

}  // namespace retable::shuffle

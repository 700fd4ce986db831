#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>

#if defined(RETABLE_TSAN)
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace retable {

#if defined(RETABLE_TSAN)

// ThreadSanitizer sees no synchronisation of a library that is not instrumented, and oneTBB is not:
// each loop would be a false alarm. So loops run on threads of their own here. Inner loops do too,
// two each on the second level. Thread t takes every index that is t modulo the threads, so that
// each has its share however they are scheduled, and nothing between bodies orders them.
namespace {

constexpr int kThreads = 4;  // of an outer loop, whatever the machine has
thread_local int thread_limit = kThreads;

void RunOnThreads(std::size_t n, int threads, const std::function<void(std::size_t)>& body) {
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const int outer_limit = thread_limit;
  const auto work = [&](int thread) {
    if (threads > 1) thread_limit = threads / 2;
    try {
      const auto step = static_cast<std::size_t>(threads);
      for (std::size_t i = static_cast<std::size_t>(thread); i < n; i += step) body(i);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  thread_limit = outer_limit;
  for (std::thread& other : others) other.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void Loop(std::size_t n, int threads, const std::function<void(std::size_t)>& body) {
  threads = threads <= 0 ? thread_limit : std::min(threads, thread_limit);
  RunOnThreads(n, static_cast<int>(std::min<std::size_t>(n, static_cast<std::size_t>(threads))),
               body);
}

}  // namespace

int AvailableThreads() {
  return thread_limit;
}

void WithThreads(int threads, const std::function<void()>& body) {
  if (threads <= 0 || threads >= thread_limit) return body();
  struct Limit {
    int outer = thread_limit;
    ~Limit() { thread_limit = outer; }
  } limit;
  thread_limit = threads;
  body();
}

#else

namespace {

void Loop(std::size_t n, int threads, const std::function<void(std::size_t)>& body) {
  if (threads > 1 && n > 1) return WithThreads(threads, [&] { Loop(n, 0, body); });
  if (threads == 1 || n < 2 || AvailableThreads() == 1) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  // A loop that is not bound to the one around it runs to its end when another body of that fails.
  tbb::task_group_context unbound(tbb::task_group_context::isolated);
  // Isolated: a thread that waits here takes no other work, which might want its scratch memory.
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, n, body, unbound); });
}

}  // namespace

int AvailableThreads() {
  return tbb::this_task_arena::max_concurrency();
}

void WithThreads(int threads, const std::function<void()>& body) {
  // An arena of its own costs a short loop more than its work.
  if (threads <= 0 || threads >= AvailableThreads()) return body();
  tbb::task_arena arena(threads);
  arena.execute(body);
}

#endif

namespace {
thread_local const std::function<void()>* between_bodies = nullptr;
}

void Check() {
  if (between_bodies != nullptr) (*between_bodies)();
}

void ParallelFor(std::size_t n, int threads, const std::function<void(std::size_t)>& body) {
  if (between_bodies == nullptr) return Loop(n, threads, body);
  // A thread may have many bodies left of its share when another one's fails.
  std::atomic<bool> failed = false;
  Loop(n, threads, [&](std::size_t i) {
    if (failed.load(std::memory_order_relaxed)) return;
    try {
      Check();
      body(i);
    } catch (...) {
      failed.store(true, std::memory_order_relaxed);
      throw;
    }
  });
}

void WithChecks(const std::function<void()>& check, const std::function<void()>& body) {
  struct Restored {
    const std::function<void()>* outer = between_bodies;
    ~Restored() { between_bodies = outer; }
  } restored;
  between_bodies = &check;
  body();
}

}  // namespace retable

#include "datasets/openml/fetch.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace retable::datasets {
namespace {

FetchOutcome FetchOne(Cache& cache, OpenMlServer& server, int id, const FetchManyOptions& options,
                      std::mutex& mutex) {
  FetchOutcome outcome;
  outcome.id = id;
  try {
    if (!options.refresh) {
      if (auto record = cache.Find(id)) {
        outcome.record = *record;
        outcome.present = outcome.was_cached = true;
        return outcome;
      }
    }
    CacheFetchOptions one;
    one.max_bytes = options.max_bytes;
    one.refresh = options.refresh;
    if (options.progress) {
      one.progress = [&, id](std::int64_t now, std::int64_t all) {
        const std::lock_guard lock(mutex);
        options.progress(id, now, all);
      };
    }
    outcome.record = cache.Fetch(server, id, one);
    outcome.present = true;
  } catch (const FetchError& error) {
    outcome.kind = error.kind;
    outcome.error = error.what();
  } catch (const std::exception& error) {
    outcome.error = "data set " + std::to_string(id) + ": " + error.what();
  }
  return outcome;
}

}  // namespace

std::vector<FetchOutcome> FetchMany(Cache& cache, OpenMlServer& server, const std::vector<int>& ids,
                                    const FetchManyOptions& options) {
  std::vector<FetchOutcome> outcomes(ids.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < ids.size(); i = next++) {
      outcomes[i] = FetchOne(cache, server, ids[i], options, mutex);
      const std::lock_guard lock(mutex);
      if (options.done) options.done(outcomes[i]);
    }
  };
  if (ids.size() > 1) {
    std::jthread second(work);
    work();
  } else {
    work();
  }
  return outcomes;
}

}  // namespace retable::datasets

#pragma once
//! @file
//! Many data sets into the cache, two at a time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "datasets/openml/cache.hpp"

namespace retable::datasets {

//! How it went for one data set.
struct FetchOutcome {
  int id = 0;
  bool present = false;
  bool was_cached = false;
  CacheRecord record;                                 //!< when present
  FetchError::Kind kind = FetchError::Kind::kServer;  //!< when not
  std::string error;                                  //!< when not
};

struct FetchManyOptions {
  std::int64_t max_bytes = 0;
  bool refresh = false;
  //! Called as each is done, and while one downloads (id, bytes so far, in all or 0); one call at a
  //! time.
  std::function<void(const FetchOutcome&)> done;
  std::function<void(int, std::int64_t, std::int64_t)> progress;
};

//! Outcomes in the order of `ids`. Never throws for what one data set does.
std::vector<FetchOutcome> FetchMany(Cache& cache, OpenMlServer& server, const std::vector<int>& ids,
                                    const FetchManyOptions& options);

}  // namespace retable::datasets

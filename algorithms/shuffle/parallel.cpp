#include "algorithms/shuffle/parallel.hpp"

#include <tbb/parallel_for.h>

namespace retable::shuffle {

void ParallelFor(std::uint64_t blocks, const std::function<void(std::uint64_t)>& body) {
  if (blocks == 1) return body(0);
  tbb::parallel_for(std::uint64_t{0}, blocks, body);
}

}  // namespace retable::shuffle

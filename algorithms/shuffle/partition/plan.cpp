#include <stdexcept>
#include <string>

#include "algorithms/shuffle/partition/partition.hpp"

namespace retable::shuffle {

PartitionPlan MakePartitionPlan(std::uint64_t n) {
  if (n > kMaxPartition) {
    throw std::invalid_argument("the partition shuffle takes up to " +
                                std::to_string(kMaxPartition) + " items, not " + std::to_string(n));
  }
  if (n <= kInMemoryCapacity) return {n, 1, 1};
  const std::uint64_t in_memory = (n + kInMemoryMean - 1) / kInMemoryMean;
  if (in_memory <= kMaxDigits) return {n, static_cast<std::uint32_t>(in_memory), 1};
  std::uint64_t buckets = 1;
  while (buckets * buckets < in_memory) ++buckets;
  return {n, static_cast<std::uint32_t>(buckets),
          static_cast<std::uint32_t>((in_memory + buckets - 1) / buckets)};
}

}  // namespace retable::shuffle

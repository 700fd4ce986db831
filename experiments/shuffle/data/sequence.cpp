#include "experiments/shuffle/data/sequence.hpp"

#include <atomic>
#include <cstring>

#include "base/sha256.hpp"
#include "experiments/common/adapters.hpp"

namespace retable::experiments {

std::vector<harness::DatasetInfo> ResolveSequence(const std::string& name) {
  auto made = ResolveMade(name, {"sequence"});
  made[0].sha256 = Sha256("items 0, 1, ..., n - 1");
  return made;
}

void NumberItems(std::span<std::byte> items, std::uint64_t n, std::size_t item_bytes) {
  ForParts(n, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::memcpy(items.data() + i * item_bytes, &i, std::min<std::size_t>(8, item_bytes));
    }
  });
}

std::uint64_t WrongItems(std::span<const std::byte> items, std::uint64_t n, std::size_t item_bytes,
                         bool repeats) {
  std::vector<std::atomic<std::uint64_t>> seen(n / 64 + 1);
  std::atomic<std::uint64_t> wrong = 0;
  ForParts(n, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t here = 0;
    for (std::uint64_t j = begin; j < end; ++j) {
      std::uint64_t i = 0;
      std::memcpy(&i, items.data() + j * item_bytes, std::min<std::size_t>(8, item_bytes));
      const std::uint64_t bit = std::uint64_t{1} << (i % 64);
      here += i >= n ||
              ((seen[i / 64].fetch_or(bit, std::memory_order_relaxed) & bit) != 0 && !repeats);
    }
    wrong += here;
  });
  return wrong;
}

}  // namespace retable::experiments

#include "algorithms/shapley/kernels/discordance.hpp"

#include <algorithm>
#include <vector>

#include "base/bit_count.hpp"

namespace retable::shapley {
namespace {

// Ors the `count` low bits of `bits` (words, low first; nothing above them) in at bit `at`.
void AppendBits(std::span<std::uint64_t> out, std::int64_t at, std::span<const std::uint64_t> bits,
                std::int64_t count) {
  const auto shift = static_cast<unsigned>(at % 64);
  auto word = static_cast<std::size_t>(at / 64);
  for (std::size_t w = 0; static_cast<std::int64_t>(w) * 64 < count; ++w, ++word) {
    out[word] |= bits[w] << shift;
    if (shift != 0 && (bits[w] >> (64 - shift)) != 0) out[word + 1] |= bits[w] >> (64 - shift);
  }
}

}  // namespace

void EncodePairs(std::span<const std::int32_t> order, std::span<std::uint64_t> words) {
  const int d = static_cast<int>(order.size());
  const std::size_t side = (order.size() + 63) / 64;
  std::fill(words.begin(), words.end(), 0);
  // From the last to the first: `after` holds the players who join later. Player i keeps the bits
  // above i, shifted to start at bit 0.
  std::vector<std::uint64_t> after(side, 0), row(side);
  for (int k = d - 1; k >= 0; --k) {
    const int i = order[static_cast<std::size_t>(k)];
    const auto from = static_cast<std::size_t>(i + 1) / 64;
    const auto shift = static_cast<unsigned>((i + 1) % 64);
    for (std::size_t w = from; w < side; ++w) {
      const std::uint64_t high = w + 1 < side && shift != 0 ? after[w + 1] << (64 - shift) : 0;
      row[w - from] = (after[w] >> shift) | high;
    }
    AppendBits(words, PairIndex(i, i + 1, d), row, d - 1 - i);
    after[static_cast<std::size_t>(i) / 64] |= std::uint64_t{1} << (i % 64);
  }
}

std::int64_t Discordant(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  static const auto count = BestBitCounter().count;
  return count(a, b, words);
}

}  // namespace retable::shapley

#include "algorithms/treeshap/interactions/matrices.hpp"

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// Rows of a task share a cache line of the sums; the cache holds their matrices.
constexpr std::size_t kMostRows = 8;
constexpr std::size_t kNumbers = std::size_t{1} << 16;
// Numbers that one thread writes before a second has woken.
constexpr std::size_t kOneThreadWrites = std::size_t{1} << 15;

}  // namespace

InteractionMatrices::InteractionMatrices(std::vector<InteractionSum> names, std::size_t features,
                                         std::size_t outputs)
    : side_(features + 1), outputs_(outputs), names_(std::move(names)) {
  for (std::size_t output = 0; output <= outputs; ++output) {
    const auto first =
        std::partition_point(names_.begin(), names_.end(),
                             [&](const InteractionSum& name) { return name.group < output; });
    begin_.push_back(static_cast<std::size_t>(first - names_.begin()));
  }
}

void InteractionMatrices::Write(const InteractionSumsOfRows& from, std::span<const double> expected,
                                std::span<double> matrices) const {
  const std::size_t size = side_ * side_;
  const std::size_t own = std::clamp<std::size_t>(kNumbers / size, 1, kMostRows);
  const std::size_t blocks = (from.rows + own - 1) / own;
  const double unit = 1 / from.scale;
  const auto write = [&](std::size_t task) {
    const std::size_t output = task % outputs_;
    const std::size_t first = task / outputs_ * own;
    const std::size_t count = std::min(own, from.rows - first);
    const auto matrix = [&](std::size_t r) {
      return matrices.data() + ((first + r) * outputs_ + output) * size;
    };
    for (std::size_t r = 0; r < count; ++r) {
      std::fill_n(matrix(r), size, 0.0);
      matrix(r)[size - 1] = expected[output];
    }
    for (std::size_t n = begin_[output]; n < begin_[output + 1]; ++n) {
      const std::size_t high = names_[n].high;
      const std::size_t low = names_[n].low;
      const std::uint64_t* sums = from.sums + n * from.stride + first;
      for (std::size_t r = 0; r < count; ++r) {
        const double sum = static_cast<double>(static_cast<std::int64_t>(sums[r])) * unit;
        double* to = matrix(r);
        if (high == low) {
          to[high * (side_ + 1)] += sum;
          continue;
        }
        to[high * side_ + low] = to[low * side_ + high] = sum / 2;
        to[high * (side_ + 1)] -= sum / 2;
        to[low * (side_ + 1)] -= sum / 2;
      }
    }
  };
  ParallelFor(blocks * outputs_, matrices.size() <= kOneThreadWrites ? 1 : 0, write);
}

}  // namespace retable::treeshap

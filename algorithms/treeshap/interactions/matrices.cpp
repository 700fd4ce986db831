#include "algorithms/treeshap/interactions/matrices.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// Rows of a task share a cache line of the sums, which are the caller's to read up to a whole one.
constexpr std::size_t kRows = 8;
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
  const std::size_t blocks = (from.rows + kRows - 1) / kRows;
  const double unit = 1 / from.scale;
  const auto write = [&](std::size_t task) {
    const std::size_t output = task % outputs_;
    const std::size_t first = task / outputs_ * kRows;
    const std::size_t count = std::min(kRows, from.rows - first);
    const std::span<const InteractionSum> names =
        std::span(names_).subspan(begin_[output], begin_[output + 1] - begin_[output]);
    // Halves of the sums, row by row, since a row's are read together.
    const auto sums = std::make_unique_for_overwrite<double[]>(kRows * names.size());
    // Of each feature the value less its interactions.
    std::vector<std::array<double, kRows>> diagonal(side_);
    for (std::size_t n = 0; n < names.size(); ++n) {
      const std::uint64_t* const sum = from.sums + (begin_[output] + n) * from.stride + first;
      const bool value = names[n].high == names[n].low;
      auto& high = diagonal[names[n].high];
      auto& low = diagonal[names[n].low];
      for (std::size_t r = 0; r < kRows; ++r) {
        const double whole = static_cast<double>(static_cast<std::int64_t>(sum[r])) * unit;
        sums[r * names.size() + n] = whole / 2;
        high[r] += value ? whole : -whole / 2;
        if (!value) low[r] -= whole / 2;
      }
    }
    for (std::size_t r = 0; r < count; ++r) {
      double* const to = matrices.data() + ((first + r) * outputs_ + output) * size;
      const double* const sum = sums.get() + r * names.size();
      std::fill_n(to, size, 0.0);
      for (std::size_t n = 0; n < names.size(); ++n) {
        to[names[n].high * side_ + names[n].low] = sum[n];
        to[names[n].low * side_ + names[n].high] = sum[n];
      }
      for (std::size_t f = 0; f + 1 < side_; ++f) to[f * (side_ + 1)] = diagonal[f][r];
      to[size - 1] = expected[output];
    }
  };
  ParallelFor(blocks * outputs_, matrices.size() <= kOneThreadWrites ? 1 : 0, write);
}

}  // namespace retable::treeshap

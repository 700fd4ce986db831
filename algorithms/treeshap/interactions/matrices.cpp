#include "algorithms/treeshap/interactions/matrices.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/treeshap/interactions/common/write_matrices.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

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
  const std::size_t blocks = (from.rows + kMatrixRows - 1) / kMatrixRows;
  const double unit = 1 / from.scale;
  const auto write = [&](std::size_t task) {
    const std::size_t output = task % outputs_;
    const std::size_t first = task / outputs_ * kMatrixRows;
    const InteractionSum* const names = names_.data() + begin_[output];
    const std::uint64_t* const sums = from.sums + begin_[output] * from.stride + first;
    WriteMatrices(
        begin_[output + 1] - begin_[output], side_, std::min(kMatrixRows, from.rows - first),
        expected[output], [&](std::size_t n) { return std::pair(names[n].high, names[n].low); },
        [&](std::size_t n, std::size_t r) {
          return static_cast<double>(static_cast<std::int64_t>(sums[n * from.stride + r])) * unit;
        },
        [&](std::size_t r) {
          return matrices.data() + ((first + r) * outputs_ + output) * side_ * side_;
        });
  };
  ParallelFor(blocks * outputs_, matrices.size() <= kOneThreadWrites ? 1 : 0, write);
}

}  // namespace retable::treeshap

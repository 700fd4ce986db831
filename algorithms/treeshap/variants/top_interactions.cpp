#include "algorithms/treeshap/variants/top_interactions.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/common/require.hpp"

namespace retable::treeshap {

namespace {

bool Stronger(const InteractionPair& a, const InteractionPair& b) {
  const double x = std::abs(a.value);
  const double y = std::abs(b.value);
  if (x != y) return x > y;
  return a.first != b.first ? a.first < b.first : a.second < b.second;
}

using LaneSums = QuadratureEngine<float>::Sums;
using Heaps = std::array<std::vector<InteractionPair>, kLanes<float>>;

void Offer(std::vector<InteractionPair>& heap, const InteractionPair& pair, std::size_t k,
           double& bar) {
  Require(std::isfinite(pair.value),
          "an interaction is beyond 32 bits: take all pairs, with precision double");
  heap.push_back(pair);
  std::push_heap(heap.begin(), heap.end(), Stronger);
  if (heap.size() > k) {
    std::pop_heap(heap.begin(), heap.end(), Stronger);
    heap.pop_back();
  }
  if (heap.size() == k) bar = std::abs(heap.front().value);
}

// One scan of the sums: a heap for each row, whose weakest is the bar for the next.
Heaps Select(const OutputColumns& columns, const LaneSums* sums, std::size_t rows, std::size_t k) {
  Heaps heaps;
  std::array<double, kLanes<float>> bar{};
  sums += columns.features.size();
  for (std::size_t p = 0; p < columns.pairs.size(); ++p) {
    for (std::size_t lane = 0; lane < rows; ++lane) {
      const double value = sums[p].lane[lane] / 2;
      // A pair as strong as the weakest passes: the order of features decides.
      if (value == 0 || std::abs(value) < bar[lane]) continue;
      Offer(heaps[lane], {columns.pairs[p].first, columns.pairs[p].second, value}, k, bar[lane]);
    }
  }
  return heaps;
}

}  // namespace

TopInteractions::TopInteractions(const TreeEnsemble& model, TopInteractionsOptions options)
    : k_(options.k), engine_(QuadratureEngine<float>::Make({.threads = options.threads})) {
  Require(k_ > 0, "the number of pairs must be at least 1");
  engine_->Prepare(model);
}

std::vector<std::vector<InteractionPair>> TopInteractions::find(const RowBlock& rows) {
  const std::size_t outputs = engine_->outputs.size();
  ValidateRows(engine_->shape, rows);
  std::vector<std::vector<InteractionPair>> found(rows.rows * outputs);
  engine_->Run(rows, true,
               [&](std::size_t output, std::size_t first, std::size_t count, const LaneSums* sums) {
                 Heaps heaps = Select(engine_->outputs[output], sums, count, k_);
                 for (std::size_t lane = 0; lane < count; ++lane) {
                   auto& pairs = found[(first + lane) * outputs + output];
                   pairs = std::move(heaps[lane]);
                   std::sort(pairs.begin(), pairs.end(), Stronger);
                 }
               });
  return found;
}

double TopInteractions::pairs() const {
  double sum = 0;
  for (const OutputColumns& output : engine_->outputs) {
    sum += static_cast<double>(output.pairs.size());
  }
  return sum / static_cast<double>(engine_->outputs.size());
}

std::vector<InteractionPair> TopOfMatrix(std::span<const double> matrix, std::size_t features,
                                         std::size_t k) {
  std::vector<InteractionPair> pairs;
  for (std::size_t i = 0; i < features; ++i) {
    for (std::size_t j = i + 1; j < features; ++j) {
      const double value = matrix[i * (features + 1) + j];
      if (value != 0) {
        pairs.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
      }
    }
  }
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(std::min(k, pairs.size()));
  std::partial_sort(pairs.begin(), middle, pairs.end(), Stronger);
  pairs.erase(middle, pairs.end());
  return pairs;
}

}  // namespace retable::treeshap

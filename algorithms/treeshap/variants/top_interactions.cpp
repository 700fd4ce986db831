#include "algorithms/treeshap/variants/top_interactions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "algorithms/treeshap/quadrature/cpu/engine.hpp"

namespace retable::treeshap {

namespace {

bool Stronger(const InteractionPair& a, const InteractionPair& b) {
  const double x = std::abs(a.value);
  const double y = std::abs(b.value);
  if (x != y) return x > y;
  return a.first != b.first ? a.first < b.first : a.second < b.second;
}

void KeepStrongest(std::vector<InteractionPair>& pairs, std::size_t k) {
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(std::min(k, pairs.size()));
  std::partial_sort(pairs.begin(), middle, pairs.end(), Stronger);
  pairs.erase(middle, pairs.end());
}

}  // namespace

class TopInteractions::Search {
 public:
  Search(const TreeEnsemble& model, TopInteractionsOptions options)
      : k_(options.k), engine_({.threads = options.threads}) {
    if (k_ == 0) throw std::invalid_argument("the number of pairs must be at least 1");
    engine_.Prepare(model);
  }

  std::vector<std::vector<InteractionPair>> Find(const RowBlock& rows) {
    const auto outputs = static_cast<std::size_t>(engine_.shape().groups);
    ValidateRows(engine_.shape(), rows);
    std::vector<std::vector<InteractionPair>> found(rows.rows * outputs);
    engine_.Run(rows, true,
                [&](std::size_t output, std::size_t first, std::size_t count, const Sums* sums) {
                  Heaps heaps = Select(engine_.columns(output), sums, count);
                  for (std::size_t lane = 0; lane < count; ++lane) {
                    auto& pairs = found[(first + lane) * outputs + output];
                    pairs = std::move(heaps[lane]);
                    std::sort(pairs.begin(), pairs.end(), Stronger);
                  }
                });
    return found;
  }

  double pairs() const {
    const std::int32_t outputs = engine_.shape().groups;
    double sum = 0;
    for (std::int32_t g = 0; g < outputs; ++g) {
      sum += static_cast<double>(engine_.columns(static_cast<std::size_t>(g)).pairs.size());
    }
    return sum / outputs;
  }

 private:
  using Sums = QuadratureEngine<float>::Sums;
  static constexpr std::size_t kL = kLanes<float>;
  using Heaps = std::array<std::vector<InteractionPair>, kL>;

  // One scan of the sums: a heap for each row, whose weakest is the bar for the next.
  Heaps Select(const OutputColumns& columns, const Sums* sums, std::size_t rows) const {
    Heaps heaps;
    std::array<double, kL> bar{};
    sums += columns.features.size();
    for (std::size_t p = 0; p < columns.pairs.size(); ++p) {
      for (std::size_t lane = 0; lane < rows; ++lane) {
        const double value = sums[p].lane[lane] / 2;
        // A pair as strong as the weakest passes: the order of features decides.
        if (value == 0 || std::abs(value) < bar[lane]) continue;
        Offer(heaps[lane], {columns.pairs[p].first, columns.pairs[p].second, value}, bar[lane]);
      }
    }
    return heaps;
  }

  void Offer(std::vector<InteractionPair>& heap, const InteractionPair& pair, double& bar) const {
    if (!std::isfinite(pair.value)) {
      throw std::invalid_argument(
          "an interaction is beyond 32 bits: take all pairs, with precision double");
    }
    heap.push_back(pair);
    std::push_heap(heap.begin(), heap.end(), Stronger);
    if (heap.size() > k_) {
      std::pop_heap(heap.begin(), heap.end(), Stronger);
      heap.pop_back();
    }
    if (heap.size() == k_) bar = std::abs(heap.front().value);
  }

  std::size_t k_;
  QuadratureEngine<float> engine_;
};

TopInteractions::TopInteractions(const TreeEnsemble& model, TopInteractionsOptions options)
    : search_(std::make_unique<Search>(model, options)) {}
TopInteractions::~TopInteractions() = default;

std::vector<std::vector<InteractionPair>> TopInteractions::find(const RowBlock& rows) {
  return search_->Find(rows);
}

double TopInteractions::pairs() const {
  return search_->pairs();
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
  KeepStrongest(pairs, k);
  return pairs;
}

}  // namespace retable::treeshap

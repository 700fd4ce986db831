#include "algorithms/quantiles/splits/absolute_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/common/require.hpp"
#include "algorithms/quantiles/estimators/chebyshev_fit.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"

namespace retable::quantiles {
namespace {

void CheckInput(std::span<const double> x, std::span<const double> y, std::size_t bins) {
  Require(x.size() == y.size(), "a label for each value, please");
  Require(x.size() >= 2 && bins >= 2, "a split needs two values and bins");
  const auto finite = [](double v) { return std::isfinite(v); };
  Require(std::ranges::all_of(x, finite) && std::ranges::all_of(y, finite),
          "a split needs finite values and labels");
}

//! Upper edges of bins of equal counts, distinct, ascending, without the largest value.
std::vector<double> Edges(std::span<const double> x, std::size_t bins) {
  std::vector<double> sorted(x.begin(), x.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> edges;
  for (std::size_t b = 1; b < bins; ++b) {
    const double edge = sorted[std::min(sorted.size() - 1, b * sorted.size() / bins)];
    if (edge < sorted.back() && (edges.empty() || edge > edges.back())) edges.push_back(edge);
  }
  return edges;
}

double SumOfDistances(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double median = *middle;
  double sum = 0;
  for (const double v : values) sum += std::abs(v - median);
  return sum;
}

//! sum |y - median| from a fit, by the midpoint rule with an even number of points.
double SumOfDistances(const ChebyshevFit& fit, double count) {
  constexpr std::size_t kPoints = 512;
  static const std::vector<double> phis = [] {
    std::vector<double> out;
    for (std::size_t i = 0; i < kPoints; ++i) {
      out.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(kPoints));
    }
    return out;
  }();
  const std::vector<double> q = fit.Quantiles(phis);
  // Quantiles above the median less those below: the median itself cancels.
  double sum = 0;
  for (std::size_t i = 0; i < kPoints / 2; ++i) sum += q[kPoints - 1 - i] - q[i];
  return count * sum / static_cast<double>(kPoints);
}

}  // namespace

std::vector<AbsoluteSplit> SplitsBySketch(std::span<const double> x, std::span<const double> y,
                                          std::size_t bins, int order, const DualSolver& solve) {
  CheckInput(x, y, bins);
  const std::vector<double> edges = Edges(x, bins);
  std::vector<std::vector<double>> labels(edges.size() + 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto bin = std::lower_bound(edges.begin(), edges.end(), x[i]) - edges.begin();
    labels[static_cast<std::size_t>(bin)].push_back(y[i]);
  }
  std::vector<ChebyshevAccumulator> sketches;
  for (const auto& bin : labels) {
    sketches.emplace_back(order);
    sketches.back().Update(std::span<const double>(bin));
  }
  // Two inclusive scans with the merge as operator.
  std::vector<FitInput> inputs;
  ChebyshevAccumulator left(order);
  for (std::size_t b = 0; b < edges.size(); ++b) {
    left.Merge(sketches[b]);
    inputs.push_back({left.sums(), {}, order, left.digits()});
  }
  ChebyshevAccumulator right(order);
  for (std::size_t b = edges.size(); b > 0; --b) {
    right.Merge(sketches[b]);
    inputs.push_back({right.sums(), {}, order, right.digits()});
  }
  const std::vector<ChebyshevFit> fits = FitColumns(inputs, solve);
  std::vector<AbsoluteSplit> splits;
  for (std::size_t b = 0; b < edges.size(); ++b) {
    const std::size_t mirror = inputs.size() - 1 - b;
    splits.push_back({edges[b], SumOfDistances(fits[b], inputs[b].sums.sum[0]) +
                                    SumOfDistances(fits[mirror], inputs[mirror].sums.sum[0])});
  }
  return splits;
}

double AbsoluteImpurity(std::span<const double> x, std::span<const double> y, double threshold) {
  CheckInput(x, y, 2);
  std::vector<double> left;
  std::vector<double> right;
  for (std::size_t i = 0; i < x.size(); ++i) (x[i] <= threshold ? left : right).push_back(y[i]);
  if (left.empty() || right.empty()) return std::numeric_limits<double>::infinity();
  return SumOfDistances(left) + SumOfDistances(right);
}

std::vector<AbsoluteSplit> SplitsExactly(std::span<const double> x, std::span<const double> y,
                                         std::size_t bins) {
  CheckInput(x, y, bins);
  std::vector<AbsoluteSplit> splits;
  for (const double edge : Edges(x, bins)) splits.push_back({edge, AbsoluteImpurity(x, y, edge)});
  return splits;
}

AbsoluteSplit BestSplit(std::span<const AbsoluteSplit> splits) {
  Require(!splits.empty(), "no threshold divides these values");
  return *std::min_element(splits.begin(), splits.end(),
                           [](const auto& a, const auto& b) { return a.impurity < b.impurity; });
}

}  // namespace retable::quantiles

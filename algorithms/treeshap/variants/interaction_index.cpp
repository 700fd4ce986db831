#include "algorithms/treeshap/variants/interaction_index.hpp"

#include <algorithm>
#include <map>

#include "algorithms/common/require.hpp"
#include "algorithms/treeshap/precision.hpp"
#include "base/parallel.hpp"

namespace retable::treeshap {

namespace {

// C(n, k), no more than kMostPathSets + 1.
std::size_t Binomial(std::int32_t n, std::int32_t k) {
  if (k < 0 || k > n) return 0;
  double value = 1;
  for (std::int32_t i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return static_cast<std::size_t>(std::min(value + 0.5, static_cast<double>(kMostPathSets) + 1));
}

// All sets of `order` features of a path, in the order in which Visitor meets them.
template <class Body>
void ForEachSet(std::span<const PathElement> elements, std::int32_t order,
                std::vector<std::int32_t>& chosen, const Body& body) {
  if (order == 0) {
    body(chosen);
    return;
  }
  for (std::size_t k = 0; k + static_cast<std::size_t>(order) <= elements.size(); ++k) {
    chosen.push_back(elements[k].feature);
    ForEachSet(elements.subspan(k + 1), order - 1, chosen, body);
    chosen.pop_back();
  }
}

}  // namespace

InteractionIndex::InteractionIndex(const TreeEnsemble& model, InteractionIndexOptions options)
    : options_(options) {
  Require(options.order >= 1, "the order of interactions is at least 1");
  Validate(model);
  shape_ = {.features = model.features, .groups = model.groups};
  paths_ = ExtractPaths(model);
  std::size_t count = 0;
  std::int32_t longest = 0;
  for (const Path& path : paths_.paths) {
    const auto begin = paths_.elements.begin() + static_cast<std::ptrdiff_t>(path.begin);
    std::ranges::sort(begin + 1, begin + path.length, {}, &PathElement::feature);
    first_.push_back(count);
    count += Binomial(path.length - 1, options.order);
    longest = std::max(longest, path.length - 1);
    Require(count <= kMostPathSets, "the model's paths have too many sets of ", options.order,
            " features; ask for a lower order");
  }
  for (std::int32_t d = 0; d <= longest; ++d) {
    const std::int32_t degree = std::max(0, d - options.order);
    rules_.push_back(options.banzhaf ? QuadratureRule{{0.5}, {1.0}}
                                     : GaussLegendre(degree / 2 + 1));
  }
  const auto groups = static_cast<std::size_t>(model.groups);
  sets_.resize(groups);
  numbers_.reserve(count);
  std::vector<std::map<std::vector<std::int32_t>, std::uint32_t>> known(groups);
  std::vector<std::int32_t> chosen;
  for (const Path& path : paths_.paths) {
    const auto g = static_cast<std::size_t>(path.group);
    ForEachSet(paths_.of(path).subspan(1), options.order, chosen, [&](const auto& set) {
      const auto next = static_cast<std::uint32_t>(sets_[g].size());
      const auto [it, added] = known[g].try_emplace(set, next);
      if (added) sets_[g].push_back(set);
      numbers_.push_back(it->second);
    });
  }
  for (const auto& sorted : known) {
    order_.emplace_back();
    for (const auto& [set, number] : sorted) order_.back().push_back(number);
  }
}

// One path and one row: chooses features from the first to the last.
struct InteractionIndex::Visitor {
  const QuadratureRule& rule;
  std::size_t features, points;
  const std::uint32_t* number;  // number of the next set
  std::vector<double>& sums;
  std::vector<double> difference = {};  // h - c of each feature
  std::vector<double> u = {};           // features x points
  std::vector<double> rest = {};        // (features + 1) x points: products of u from each on
  std::vector<double> product = {};     // (features + 1) x points, over those left out so far

  // `left` more features are to be chosen from k on; `factor` is the product of the chosen ones'.
  void Choose(std::size_t k, std::size_t left, double factor) {
    if (left == 0) {
      double integral = 0;
      for (std::size_t q = 0; q < points; ++q) {
        integral += rule.weight[q] * product[k * points + q] * rest[k * points + q];
      }
      sums[*number++] += factor * integral;
      return;
    }
    if (features - k < left) return;
    for (std::size_t q = 0; q < points; ++q) {
      product[(k + 1) * points + q] = product[k * points + q];
    }
    Choose(k + 1, left - 1, factor * difference[k]);
    for (std::size_t q = 0; q < points; ++q) {
      product[(k + 1) * points + q] = product[k * points + q] * u[k * points + q];
    }
    Choose(k + 1, left, factor);
  }
};

void InteractionIndex::Explain(std::span<const float> row,
                               std::vector<std::vector<double>>& sums) const {
  for (std::size_t p = 0; p < paths_.paths.size(); ++p) {
    const Path& path = paths_.paths[p];
    const auto elements = paths_.of(path).subspan(1);
    const std::size_t d = elements.size();
    const auto order = static_cast<std::size_t>(options_.order);
    if (d < order) continue;
    const QuadratureRule& rule = rules_[d];
    const std::size_t points = rule.size();
    Visitor visit{rule, d, points, numbers_.data() + first_[p],
                  sums[static_cast<std::size_t>(path.group)]};
    visit.u.resize(d * points);
    visit.rest.assign((d + 1) * points, 1.0);
    visit.product.assign((d + 1) * points, 1.0);
    for (std::size_t k = d; k-- > 0;) {
      const PathElement& e = elements[k];
      const double h = Follows(paths_, e, row[static_cast<std::size_t>(e.feature)]) ? 1.0 : 0.0;
      visit.difference.push_back(h - e.zero_fraction);
      for (std::size_t q = 0; q < points; ++q) {
        const double t = rule.node[q];
        visit.u[k * points + q] = h * t + e.zero_fraction * (1 - t);
        visit.rest[k * points + q] = visit.rest[(k + 1) * points + q] * visit.u[k * points + q];
      }
    }
    std::reverse(visit.difference.begin(), visit.difference.end());
    visit.Choose(0, order, path.value);
  }
}

std::size_t InteractionIndex::sets() const {
  std::size_t count = 0;
  for (const auto& sets : sets_) count += sets.size();
  return count;
}

std::vector<std::vector<SetValue>> InteractionIndex::find(const RowBlock& rows) const {
  ValidateRows(shape_, rows);
  const std::size_t groups = sets_.size();
  std::vector<std::vector<SetValue>> found(rows.rows * groups);
  ParallelFor(rows.rows, options_.threads, [&](std::size_t r) {
    std::vector<std::vector<double>> sums;
    for (const auto& sets : sets_) sums.emplace_back(sets.size(), 0.0);
    Explain(rows.row(r), sums);
    for (const auto& of_output : sums) RequireFinite(of_output, true);
    for (std::size_t g = 0; g < groups; ++g) {
      for (const std::uint32_t number : order_[g]) {
        if (sums[g][number] != 0) {
          found[r * groups + g].push_back({sets_[g][number], sums[g][number]});
        }
      }
    }
  });
  return found;
}

}  // namespace retable::treeshap

//! @file
//! Time to find the k strongest interactions of each row (beyond_topk): the search of
//! algorithms/treeshap/variants/top_interactions.hpp against the whole matrix and a selection from
//! it, both on the processor. What is timed: from rows in host memory to the pairs, the model
//! prepared.
//!
//! Before anything is timed the search's pairs are compared with those of the matrix, value by
//! value. Two counts show the complexity: the pairs of features that meet on a path ("pairs", the
//! mean over outputs), and all that a matrix has.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/treeshap/tree_explainer.hpp"
#include "algorithms/treeshap/variants/top_interactions.hpp"
#include "base/parallel.hpp"
#include "experiments/common/adapters.hpp"
#include "experiments/treeshap/data/paper_models.hpp"
#include "experiments/treeshap/protocols/portion.hpp"
#include "harness/protocol.hpp"
#include "harness/timing/timed_outcome.hpp"

namespace retable::experiments::treeshap {
namespace {

using namespace retable::treeshap;

using Pairs = std::vector<std::vector<InteractionPair>>;
constexpr const char* kSearch = "Top-k search";
constexpr const char* kMatrix = "Full matrix";

Pairs FromMatrices(const TreeEnsemble& model, std::span<const double> matrices, std::size_t k,
                   int threads) {
  const auto features = static_cast<std::size_t>(model.features);
  const std::size_t size = (features + 1) * (features + 1);
  Pairs pairs(matrices.size() / size);
  ParallelFor(pairs.size(), threads, [&](std::size_t m) {
    pairs[m] = TopOfMatrix(matrices.subspan(m * size, size), features, k);
  });
  return pairs;
}

// The largest difference of |value| at any rank, over the strongest pair; infinite where pairs are
// missing.
double Difference(const Pairs& got, const Pairs& want) {
  double worst = got.size() == want.size() ? 0 : INFINITY;
  for (std::size_t m = 0; m < std::min(got.size(), want.size()); ++m) {
    for (std::size_t p = 0; p < std::max(got[m].size(), want[m].size()); ++p) {
      const double scale = std::abs(want[m].empty() ? got[m][0].value : want[m][0].value);
      const double a = p < got[m].size() ? std::abs(got[m][p].value) : 0;
      const double b = p < want[m].size() ? std::abs(want[m][p].value) : 0;
      worst = std::max(worst, std::abs(a - b) / std::max(scale, 1e-300));
    }
  }
  return worst;
}

class TopKProtocol final : public harness::Protocol {
 public:
  std::string name() const override { return "treeshap/topk"; }
  std::string summary() const override { return "the strongest interactions of each row"; }
  Names metrics() const override { return {"time", "pairs", "all_pairs"}; }
  Algorithms algorithms() const override {
    return {{kSearch,
             {"cpu"},
             {},
             "sums for the pairs that meet on a path, then a heap",
             "top_interactions.hpp"},
            {kMatrix, {"cpu"}, {}, "all pairs by quadrature, then a selection", ""}};
  }
  Specs axes() const override {
    return {{"rows", std::int64_t{1000}, "rows to explain"},
            {"k", std::int64_t{10}, "pairs of each row and output"},
            {"threads", std::int64_t{0}, "processor threads; 0: all", true}};
  }
  Specs settings() const override {
    return {{"budget", 3.0, "seconds of timing a cell; slower methods are scaled up"}};
  }
  Datasets resolve(const std::string& dataset) const override { return ResolveModels(dataset); }

  Outcome measure(const Cell& cell) override {
    const auto wanted = static_cast<std::size_t>(IntegerOr(cell.axes, "rows", 1000));
    const auto k = static_cast<std::size_t>(IntegerOr(cell.axes, "k", 10));
    const auto threads = IntegerOr(cell.axes, "threads", 0);
    const double budget = RealOf(cell.settings, "budget");
    const ModelProblem problem = LoadModel(cell.dataset, wanted);
    const auto matrix = Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu,
                                                                 {{"threads", threads}});
    matrix->prepare(problem.model);
    TopInteractions search(problem.model, {.k = k, .threads = static_cast<int>(threads)});
    const bool searches = cell.algorithm == kSearch;
    Results matrices;  // kept: new memory for each call would slow the matrix
    const auto all_pairs = [&](const RowBlock& rows) {
      Pairs pairs;
      const std::size_t most = MatrixRows(problem);
      for (std::size_t first = 0; first < rows.rows; first += most) {
        const RowBlock some = rows.slice(first, std::min(most, rows.rows - first));
        matrices.resize(some.rows * InteractionsPerRow(problem.model));
        matrix->interactions_to(some, matrices);
        for (auto& found : FromMatrices(problem.model, matrices, k, static_cast<int>(threads))) {
          pairs.push_back(std::move(found));
        }
      }
      return pairs;
    };
    const auto call = [&](const RowBlock& rows) {
      return searches ? search.find(rows) : all_pairs(rows);
    };

    harness::Outcome outcome;
    outcome.facts["model"] = problem.origin;
    const std::int64_t used = threads > 0 ? threads : AvailableThreads();
    outcome.facts["threads"] = used;
    const std::size_t few = std::clamp<std::size_t>(MatrixRows(problem) / 8, 2, 17);
    const RowBlock head = problem.Rows().slice(0, std::min(wanted, few));
    const double difference = Difference(search.find(head), all_pairs(head));
    outcome.verification = AtMost("difference over the strongest pair", difference, 1e-5,
                                  "selection from the whole matrix");
    if (!outcome.verification.ok) return outcome;

    const auto [count, seconds] = Affordable(
        wanted,
        WholeRounds(std::max<std::size_t>(16, LeastRows(wanted)), static_cast<std::size_t>(used)),
        budget / 3, [&](std::size_t rows) {
          return harness::TimeOnce([&] { call(problem.Rows().slice(0, rows)); });
        });
    const RowBlock some = problem.Rows().slice(0, count);
    const auto timing =
        harness::TimeAfterFirstCall([&] { call(some); }, seconds, RepeatsOfCalls(cell, seconds));
    const double scale = static_cast<double>(wanted) / static_cast<double>(count);
    harness::Metric time{"time", "s"};
    for (const double s : timing.seconds) time.samples.push_back(s * scale);
    const auto features = static_cast<double>(problem.model.features);
    outcome.metrics = {time,
                       {"pairs", "1", {search.pairs()}},
                       {"all_pairs", "1", {features * (features - 1) / 2}}};
    harness::DescribeTiming(outcome, timing);
    // All pairs of features: at least the values' arithmetic. The search: rows in, pairs out.
    std::vector<Work> work = {
        {"copy", static_cast<double>(wanted) *
                     (4 * features + 16.0 * static_cast<double>(k) * problem.model.groups)}};
    if (!searches) work.push_back(matrix->work(problem.model, wanted, true).front());
    outcome.costs = CostsOf(work, timing.cores_used);
    outcome.facts["method"] = fmt::format(
        "{} threads{}", used, count < wanted ? fmt::format(", from {} rows", count) : "");
    if (count < wanted) {
      outcome.facts["scaled"] = fmt::format("measured on {} rows, times {:f}", count, scale);
    }
    return outcome;
  }

 private:
  // Rows whose matrices take 256 MB: more are made piece by piece.
  static std::size_t MatrixRows(const ModelProblem& problem) {
    return std::max<std::size_t>(1, (std::size_t{1} << 25) / InteractionsPerRow(problem.model));
  }
};

RETABLE_PROTOCOL(TopKProtocol);

}  // namespace
}  // namespace retable::experiments::treeshap

// Every exact CPU method on the adversarial models, against the definition: brute force over all
// subsets of the features. Additivity on every row.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "algorithms/treeshap/published/path_steps.hpp"
#include "algorithms/treeshap/published/paths.hpp"
#include "algorithms/treeshap/testing/adversarial_trees.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "algorithms/treeshap/variants/top_interactions.hpp"

namespace retable::treeshap {
namespace {

double Largest(std::span<const double> values) {
  double most = 1e-300;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

double Error(std::span<const double> got, std::span<const double> want) {
  if (got.size() != want.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double e = std::abs(got[i] - want[i]);
    most = std::isnan(e) ? INFINITY : std::max(most, e);
  }
  return most / Largest(want);
}

std::unique_ptr<TreeExplainer> Make(const char* method, const TreeEnsemble& model,
                                    const Parameters& parameters) {
  auto explainer = Registry<TreeExplainer>::Instance().Make(method, Device::kCpu, parameters);
  explainer->prepare(model);
  return explainer;
}

const Parameters kDouble = {{"precision", std::string("double")}};
const Parameters kFloat = {{"precision", std::string("float")}};

bool IsChain(const AdversarialCase& c) {
  return c.name.rfind("chain", 0) == 0;
}

void ExpectAdditive(const AdversarialCase& c, std::span<const double> phi, double tolerance) {
  const auto side = static_cast<std::size_t>(c.model.features) + 1;
  const RowBlock rows = c.Rows();
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const auto margin = Predict(c.model, rows.row(r));
    for (std::size_t g = 0; g < margin.size(); ++g) {
      double sum = 0;
      double total = std::abs(margin[g]);
      for (std::size_t i = 0; i < side; ++i) {
        sum += phi[(r * margin.size() + g) * side + i];
        total += std::abs(phi[(r * margin.size() + g) * side + i]);
      }
      EXPECT_NEAR(sum, margin[g], tolerance * total) << c.name << ", row " << r;
    }
  }
}

TEST(Adversarial, ValuesAreExact) {
  for (const AdversarialCase& c : AdversarialCases()) {
    const auto want = BruteForceValues(c.model, c.Rows());
    const auto quadrature = Make("Quadrature", c.model, kDouble)->values(c.Rows());
    EXPECT_LE(Error(quadrature, want), 1e-12) << c.name;
    ExpectAdditive(c, quadrature, 1e-12);
    const bool deep = c.model.trees.size() == 1 && Depth(c.model.trees[0]) > 64;
    const auto single = Make("Quadrature", c.model, kFloat)->values(c.Rows());
    EXPECT_LE(Error(single, want), deep ? 1e-6 : 5e-7) << c.name;
    ExpectAdditive(c, single, 1e-6);
    EXPECT_LE(Error(PathReferenceValues(c.model, c.Rows()), want), 1e-12) << c.name;
    // EXTEND and UNWIND subtract: they lose digits with each small cover on the path.
    for (const char* method : {"TreeShap", "GPUTreeShap"}) {
      const auto phi = Make(method, c.model, kDouble)->values(c.Rows());
      EXPECT_LE(Error(phi, want), IsChain(c) ? 1e-5 : 1e-12) << method << ", " << c.name;
    }
  }
}

TEST(Adversarial, InteractionsAreExact) {
  for (const AdversarialCase& c : AdversarialCases()) {
    if (c.model.features > 7) continue;  // brute force over pairs of 12 takes its time
    const auto want = BruteForceInteractions(c.model, c.Rows());
    EXPECT_LE(Error(Make("Quadrature", c.model, kDouble)->interactions(c.Rows()), want), 1e-12)
        << c.name;
    EXPECT_LE(Error(Make("Quadrature", c.model, kFloat)->interactions(c.Rows()), want), 4e-6)
        << c.name;
    const std::size_t features = static_cast<std::size_t>(c.model.features);
    const std::size_t size = (features + 1) * (features + 1);
    const auto top = TopInteractions(c.model, {.k = 1}).find(c.Rows());
    for (std::size_t m = 0; m < top.size(); ++m) {
      const auto best = TopOfMatrix({want.data() + m * size, size}, features, 1);
      const double strongest = best.empty() ? 0 : std::abs(best[0].value);
      const double found = top[m].empty() ? 0 : std::abs(top[m][0].value);
      EXPECT_NEAR(found, strongest, 4e-6 * Largest(want)) << c.name;
    }
  }
}

TEST(Adversarial, BanzhafValuesAreExact) {
  Parameters banzhaf = kDouble;
  banzhaf["index"] = std::string("banzhaf");
  for (const AdversarialCase& c : AdversarialCases()) {
    if (c.model.features > 7) continue;
    EXPECT_LE(Error(Make("Quadrature", c.model, banzhaf)->values(c.Rows()),
                    BruteForceBanzhaf(c.model, c.Rows())),
              1e-12)
        << c.name;
  }
}

TEST(Adversarial, InterventionalValuesAreExact) {
  for (const AdversarialCase& c : AdversarialCases()) {
    if (c.model.features > 7) continue;
    const RowBlock background = c.Rows().slice(0, 2);
    const auto explainer = Make("Interventional", c.model, {});
    explainer->set_background(background);
    EXPECT_LE(
        Error(explainer->values(c.Rows()), BruteForceInterventional(c.model, c.Rows(), background)),
        1e-12)
        << c.name;
  }
}

// The steps that the published kernel's lanes share with the CPU (published/path_steps.hpp), path
// by path.
TEST(Adversarial, PathStepsAgreeWithTheReference) {
  for (const AdversarialCase& c : AdversarialCases()) {
    if (IsChain(c)) continue;
    const PathList list = ExtractPaths(c.model);
    const auto side = static_cast<std::size_t>(c.model.features) + 1;
    const RowBlock rows = c.Rows();
    std::vector<double> phi(rows.rows * ValuesPerRow(c.model), 0.0);
    const auto expected = ExpectedMargins(c.model);
    for (std::size_t r = 0; r < rows.rows; ++r) {
      double* out = phi.data() + r * ValuesPerRow(c.model);
      for (std::size_t g = 0; g < expected.size(); ++g) out[(g + 1) * side - 1] = expected[g];
      for (const Path& path : list.paths) {
        std::vector<double> weights(static_cast<std::size_t>(path.length) + 1, 0.0);
        const auto elements = list.of(path);
        const auto one = [&](const PathElement& e) {
          return e.feature < 0 || Follows(list, e, rows.row(r)[static_cast<std::size_t>(e.feature)])
                     ? 1.0
                     : 0.0;
        };
        for (int i = 0; i < path.length; ++i) {
          const PathElement& e = elements[static_cast<std::size_t>(i)];
          Extend(weights.data(), i, e.zero_fraction, one(e));
        }
        for (const PathElement& e : elements) {
          if (e.feature < 0) continue;
          const double sum = UnwoundSum(weights.data(), path.length, e.zero_fraction, one(e));
          out[static_cast<std::size_t>(path.group) * side + static_cast<std::size_t>(e.feature)] +=
              sum * (one(e) - e.zero_fraction) * path.value;
        }
      }
    }
    EXPECT_LE(Error(phi, BruteForceValues(c.model, rows)), 1e-12) << c.name;
  }
}

}  // namespace
}  // namespace retable::treeshap

#pragma once
//! @file
//! Common to the tests of both tapes of interaction values: matrices of what tiles add up, and what
//! they are compared with.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "algorithms/treeshap/interactions/common/sums.hpp"
#include "algorithms/treeshap/quadrature/tape/interpreter.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {

//! Number i of a list that is packed into groups of four.
inline std::uint32_t ListedIn(const Float4* list, std::uint32_t i) {
  const Float4 four = list[i / 4];
  const float words[4] = {four.x, four.y, four.z, four.w};
  return tape::Bits(words[i % 4]);
}

//! run(tape, add) evaluates a tape for all rows and calls add(row, tile, number, value) for each of
//! its sums.
template <class TapeSet, class Run>
std::vector<double> MatricesOf(const TapeSet& set, const TreeEnsemble& model, const RowBlock& rows,
                               const Run& run) {
  const auto side = static_cast<std::size_t>(model.features) + 1;
  std::vector<double> out(rows.rows * InteractionsPerRow(model), 0.0);
  std::vector<double> phi(rows.rows * ValuesPerRow(model));
  WriteExpected({phi, side, ExpectedMargins(model)});
  const auto add = [&](std::size_t r, const TapeTile& tile, std::uint32_t number, float value) {
    const InteractionSum& of = set.sums.at(number);
    EXPECT_EQ(of.group, tile.group);
    const std::size_t output = r * static_cast<std::size_t>(model.groups) + tile.group;
    const auto sum = static_cast<double>(value);
    if (of.high == of.low) {
      phi[output * side + of.high] += sum;
    } else {
      double* matrix = out.data() + output * side * side;
      matrix[of.high * side + of.low] += sum / 2;
      matrix[of.low * side + of.high] += sum / 2;
    }
  };
  for (const auto& tape : set.tapes) run(tape, add);
  FillInteractionDiagonal(side - 1, phi, out);
  return out;
}

inline void ExpectNear(const std::vector<double>& got, const std::vector<double>& want,
                       const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  double most = 0;
  for (const double w : want) most = std::max(most, std::abs(w));
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 2e-6 * most) << what << " entry " << i;
  }
}

//! Compares interactions(model, rows, options) with the definition on so many random models.
template <class Options, class Interactions>
void ExpectAllSubsets(std::uint64_t models, std::initializer_list<Options> all,
                      const Interactions& interactions) {
  for (std::uint64_t seed = 0; seed < models; ++seed) {
    RandomEnsembleOptions shape;
    shape.features = 2 + static_cast<int>(seed % 8);
    shape.depth = 1 + static_cast<int>(seed % 7);
    shape.groups = 1 + static_cast<int>(seed % 2);
    shape.zero_cover_probability = seed % 5 == 0 ? 0.2 : 0;
    shape.categorical_probability = seed % 4 == 1 ? 0.3 : 0;
    const TreeEnsemble model = RandomEnsemble(shape, seed);
    const auto values = RandomRows(model, 3, seed % 3 == 0 ? 0 : 0.2, seed);
    const RowBlock rows{values, 3, static_cast<std::size_t>(model.features)};
    const auto want = BruteForceInteractions(model, rows);
    for (const Options& options : all) {
      ExpectNear(interactions(model, rows, options), want, "seed " + std::to_string(seed));
    }
  }
}

//! The same with the processor's matrices, in double, on a chain that is too deep for that.
template <class Interactions>
void ExpectProcessors(const TreeEnsemble& model, std::size_t count,
                      const Interactions& interactions) {
  const auto values = RandomRows(model, count, 0.1, 5);
  const RowBlock rows{values, count, static_cast<std::size_t>(model.features)};
  const auto cpu = Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu,
                                                            {{"precision", std::string("double")}});
  cpu->prepare(model);
  const Results want = cpu->interactions(rows);
  ExpectNear(interactions(rows), {want.begin(), want.end()}, "chain");
}

}  // namespace retable::treeshap

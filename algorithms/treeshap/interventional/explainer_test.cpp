// Interventional values against all subsets, by tables and pair by pair.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/treeshap/interventional/deep_trees.hpp"
#include "algorithms/treeshap/interventional/pattern_model.hpp"
#include "algorithms/treeshap/interventional/row_tiles.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/explainer_testing.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"
#include "base/seed_testing.hpp"

namespace retable::treeshap {
namespace {

std::unique_ptr<TreeExplainer> Prepared(const TreeEnsemble& model, const RowBlock& background,
                                        std::int64_t threads = 0) {
  auto explainer = Registry<TreeExplainer>::Instance().Make("Interventional", Device::kCpu,
                                                            {{"threads", threads}});
  explainer->prepare(model);
  explainer->set_background(background);
  return explainer;
}

TEST(Interventional, MatchesAllSubsets) {
  const std::uint64_t fresh = FreshSeed();
  for (std::uint64_t i = 0; i < 120; ++i) {
    SCOPED_TRACE(i);
    RandomEnsembleOptions options;
    options.features = 1 + static_cast<int>(i % 9);
    options.depth = static_cast<int>(i % 11);
    options.groups = 1 + static_cast<int>(i % 3);
    options.zero_cover_probability = 0.1;
    options.categorical_probability = i % 2 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, fresh + i);
    const auto values = RandomRows(model, 4, 0.2, fresh + i);
    const auto background = RandomRows(model, 1 + i % 5 * 17, 0.2, fresh + i + 1000);
    const RowBlock rows = Block(model, values);
    const RowBlock others = Block(model, background);
    EXPECT_LE(RelativeError(Prepared(model, others)->values(rows),
                            BruteForceInterventional(model, rows, others)),
              1e-12);
  }
}

// Values by the tables of a model cut with such limits, made by the functions that the device runs.
std::vector<double> ByTables(const PatternModel& model, const RowBlock& rows,
                             const RowBlock& background) {
  const TileReader reader(model);
  RowTile tile, others;
  reader.Read(rows, 0, rows.rows, tile);
  reader.Read(background, 0, background.rows, others);
  const auto side = static_cast<std::size_t>(model.deep.features) + 1;
  std::vector<double> phi(rows.rows * ValuesPerRow(model.deep), 0.0);
  std::vector<std::uint32_t> pattern(std::max(rows.rows, background.rows));
  std::vector<std::uint32_t> reached(model.leaves.size());
  for (std::size_t t = 0; t < model.treelets.size(); ++t) {
    const Treelet& treelet = model.treelets[t];
    const std::size_t size = std::size_t{1} << treelet.bits;
    std::vector<std::uint32_t> counts(size, 0);
    std::vector<double> table(treelet.columns * size);
    reader.FindPatterns(treelet, others, pattern.data());
    for (std::size_t b = 0; b < background.rows; ++b) ++counts[pattern[b]];
    MakeTreeletTable(treelet,
                     {model.leaves.data(), model.leaf_features.data(), counts.data(),
                      static_cast<double>(background.rows)},
                     table.data(), reached.data());
    reader.FindPatterns(treelet, tile, pattern.data());
    for (std::size_t r = 0; r < rows.rows; ++r) {
      for (std::size_t c = 0; c < treelet.columns; ++c) {
        const auto feature = static_cast<std::size_t>(model.columns[treelet.first_column + c]);
        const auto group = static_cast<std::size_t>(model.groups[t]);
        phi[r * ValuesPerRow(model.deep) + group * side + feature] += table[c * size + pattern[r]];
      }
    }
  }
  const auto expected = BackgroundMargins(model, reached, background);
  DeepTrees deep;
  deep.Prepare(model.deep);
  deep.SetBackground(background);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    double* to = phi.data() + r * ValuesPerRow(model.deep);
    for (std::size_t g = 0; g < expected.size(); ++g) to[(g + 1) * side - 1] = expected[g];
    deep.Add(rows.row(r), to);
  }
  return phi;
}

// Every bound of bits and bytes divides the leaves otherwise between tables and pairs.
TEST(Interventional, TablesAndDeepLeavesAddUp) {
  const std::uint64_t fresh = FreshSeed();
  std::size_t mixed = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    RandomEnsembleOptions options;
    options.features = 2 + static_cast<int>(i % 7);
    options.depth = 3 + static_cast<int>(i % 5);
    options.groups = 1 + static_cast<int>(i % 2);
    options.categorical_probability = i % 3 == 0 ? 0.4 : 0;
    const TreeEnsemble model = RandomEnsemble(options, fresh + i);
    const auto values = RandomRows(model, 3, 0.2, fresh + i);
    const auto background = RandomRows(model, 6, 0.2, fresh + i + 1000);
    const RowBlock rows = Block(model, values);
    const RowBlock others = Block(model, background);
    const auto want = BruteForceInterventional(model, rows, others);
    for (const std::uint32_t bits : {0u, 1u, 3u, 5u, kPatternBits}) {
      for (const std::size_t bytes : {std::size_t{2000}, kPatternTableBytes}) {
        const PatternModel cut = MakePatternModel(model, {.bits = bits, .bytes = bytes});
        mixed += !cut.deep.trees.empty() && !cut.treelets.empty() ? 1 : 0;
        EXPECT_LE(cut.most_bits, bits);
        EXPECT_LE(cut.counts * 4 + cut.table * 8, bytes);
        EXPECT_LE(RelativeError(ByTables(cut, rows, others), want), 1e-12);
      }
    }
  }
  EXPECT_GT(mixed, 10u);
}

// A model of deep leaves has none for few background rows, and all for many.
TEST(Interventional, TablesAreWorthTheBackground) {
  const TreeEnsemble model = RandomEnsemble({.features = 10, .depth = 8, .leaf_probability = 0}, 5);
  EXPECT_TRUE(MakePatternModel(model, TableLimits::For(0)).table == 0);
  std::size_t before = 0;
  for (const std::size_t rows : {1, 10, 100, 1000}) {
    const PatternModel cut = MakePatternModel(model, TableLimits::For(rows));
    EXPECT_LE(cut.table, 64 * rows * LeafCount(model));
    EXPECT_GE(cut.leaves.size(), before);
    before = cut.leaves.size();
  }
  EXPECT_EQ(before, LeafCount(model));
}

TEST(Interventional, PathsAtTheBoundAndDeeper) {
  for (const int features : {11, 12, 13, 14}) {
    SCOPED_TRACE(features);
    const TreeEnsemble model = ChainEnsemble(features, features, 0.8, 7);
    const auto values = RandomRows(model, 3, 0.1, 8);
    const auto few = RandomRows(model, 4, 0.1, 9);
    std::vector<float> background;
    for (int i = 0; i < 64; ++i) background.insert(background.end(), few.begin(), few.end());
    const RowBlock rows = Block(model, values);
    const RowBlock others = Block(model, background);
    EXPECT_EQ(MakePatternModel(model).deep.trees.empty(), features <= 12);
    EXPECT_LE(RelativeError(Prepared(model, others)->values(rows),
                            BruteForceInterventional(model, rows, Block(model, few))),
              1e-12);
  }
}

TEST(Interventional, ThreadsAndOtherRowsChangeNoBit) {
  const TreeEnsemble model =
      RandomEnsemble({.trees = 9, .features = 20, .groups = 2, .depth = 7}, 3);
  const auto values = RandomRows(model, 1500, 0.1, 4);
  auto background = RandomRows(model, 2000, 0.1, 5);
  const RowBlock rows = Block(model, values);
  const Results all = Prepared(model, Block(model, background), 1)->values(rows);
  // Counts are whole numbers: the background's order does not matter.
  for (std::size_t b = 0; b < 1000; ++b) {
    std::swap_ranges(background.begin() + static_cast<std::ptrdiff_t>(b * 20),
                     background.begin() + static_cast<std::ptrdiff_t>(b * 20 + 20),
                     background.begin() + static_cast<std::ptrdiff_t>((1999 - b) * 20));
  }
  const auto other = Prepared(model, Block(model, background), 3);
  EXPECT_TRUE(other->values(rows) == all);
  const Results some = other->values(rows.slice(701, 37));
  EXPECT_TRUE(std::equal(some.begin(), some.end(),
                         all.begin() + static_cast<std::ptrdiff_t>(701 * ValuesPerRow(model))));
}

// Five million rows: several pieces, and large counts.
TEST(Interventional, ABackgroundRepeatedIsTheSame) {
  const TreeEnsemble model = RandomEnsemble({.features = 3, .depth = 4}, 6);
  const auto values = RandomRows(model, 50, 0.1, 7);
  const auto few = RandomRows(model, 7, 0.1, 8);
  std::vector<float> many;
  for (int i = 0; i < 800'000; ++i) many.insert(many.end(), few.begin(), few.end());
  const auto once = Prepared(model, Block(model, few))->values(Block(model, values));
  const auto often = Prepared(model, Block(model, many))->values(Block(model, values));
  EXPECT_LE(RelativeError(often, once), 1e-14);
}

// 4e10 traversals, were it rows x background: an hour. The sums are checked against margins.
TEST(Interventional, ManyRowsAgainstManyOthers) {
  SyntheticShape shape;
  shape.features = 127;
  shape.depth = 6;
  shape.rows = 4000;
  const TreeEnsemble model = SyntheticEnsemble(shape, 1);
  const auto values = SyntheticRows(shape, 20000, 2);
  const auto background = SyntheticRows(shape, 20000, 3);
  EXPECT_TRUE(MakePatternModel(model).deep.trees.empty());
  const RowBlock rows = Block(model, values);
  const auto phi = Prepared(model, Block(model, background))->values(rows);
  EXPECT_LE(AdditivityError(model, rows, phi, 100), 1e-12);
}

TEST(Interventional, NeedsABackground) {
  const TreeEnsemble model = RandomEnsemble({.features = 2}, 1);
  const std::vector<float> row = {0.1f, 0.2f};
  auto explainer = Registry<TreeExplainer>::Instance().Make("Interventional", Device::kCpu, {});
  explainer->prepare(model);
  EXPECT_THROW(explainer->values({row, 1, 2}), std::logic_error);
  EXPECT_THROW(explainer->set_background({{}, 0, 2}), std::invalid_argument);
  auto quadrature = Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu, {});
  EXPECT_THROW(quadrature->set_background({row, 1, 2}), std::logic_error);
}

}  // namespace
}  // namespace retable::treeshap

// The interaction tape and its interpreter, the body of the CUDA kernels, run on the CPU with
// arrays as memory.

#include "algorithms/treeshap/interactions/ancestor/tape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "algorithms/treeshap/interactions/ancestor/interpreter.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/testing/brute_force.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {
namespace {

std::uint32_t Listed(const Float4* list, std::uint32_t i) {
  const Float4 four = list[i / 4];
  const float words[4] = {four.x, four.y, four.z, four.w};
  return tape::Bits(words[i % 4]);
}

template <int Q, class Mask>
struct ArrayMemory {
  struct Slot {
    float g[Q], k[Q];
  };

  const InteractionTapeSet& set;
  const InteractionTape& tape;
  std::span<const float> x;
  const InteractionTile& tile;
  const Float4* words;
  const std::vector<std::array<float, Q>>& below;  // K of each tile
  std::vector<float> sums;
  std::vector<Slot> stack;
  bool general = true;

  ArrayMemory(const InteractionTapeSet& tapes, const InteractionTape& own,
              std::span<const float> row, const InteractionTile& one,
              const std::vector<Float4>& all, const std::vector<std::array<float, Q>>& tiles,
              std::uint32_t slots)
      : set(tapes),
        tape(own),
        x(row),
        tile(one),
        words(all.data() + one.first_word),
        below(tiles),
        sums(one.interactions, 0.0f) {
    stack.resize(slots);
    general = !set.sets.empty() ||
              std::any_of(x.begin(), x.end(), [](float value) { return std::isnan(value); });
  }

  float X(std::uint32_t bits) const {
    const std::uint32_t index = bits & tape::kFeatureMask;
    EXPECT_LT(index, tile.features);
    return ClampInfinity(x[Listed(words, index)]);
  }
  bool InSet(std::uint32_t offset, float value) const {
    return treeshap::InSet([this](std::uint32_t i) { return set.sets.at(i); }, offset, value);
  }
  Slot& At(int slot) { return stack.at(static_cast<std::size_t>(slot)); }
  void PushG(int slot, const float (&g)[Q]) { std::copy_n(g, Q, At(slot).g); }
  void PeekG(int slot, float (&g)[Q]) { std::copy_n(At(slot).g, Q, g); }
  void PushK(int slot, const float (&k)[Q]) { std::copy_n(k, Q, At(slot).k); }
  void PeekK(int slot, float (&k)[Q]) { std::copy_n(At(slot).k, Q, k); }
  float& Sum(std::uint32_t word) {
    return sums.at((word & ancestor::kSumMask) >> ancestor::kSumShift);
  }
  void Below(std::uint32_t number, float (&k)[Q]) { std::copy_n(below.at(number).begin(), Q, k); }

  // Runs the subtree for the row itself. That the rows of a row class agree is tested with
  // quadrature/tape/compiler.hpp.
  void Shared(const Float4* at, const Float4& head, float (&k)[Q]) {
    const InteractionTile& subtree = tape.subtree_tiles.at(tape::Bits(head.y));
    EXPECT_EQ(subtree.interactions, tape::Bits(head.z));
    ArrayMemory own(set, tape, x, subtree, tape.subtree_words, below, tape.subtree_sizes.slots);
    own.Evaluate(k);
    for (std::uint32_t i = 0; i < subtree.interactions; ++i) Sum(Listed(at, i)) += own.sums[i];
  }

  void Evaluate(float (&k)[Q]) {
    ancestor::Lane<Q, Mask> lane;
    if (general) {
      ancestor::Evaluate<true>(words, tile, lane, *this);
    } else {
      ancestor::Evaluate<false>(words, tile, lane, *this);
    }
    std::copy_n(lane.k, Q, k);
  }
};

template <int Q, class Mask>
void RunTape(const InteractionTapeSet& set, const InteractionTape& tape, const TreeEnsemble& model,
             const RowBlock& rows, std::vector<double>& phi, std::vector<double>& out) {
  const auto f = static_cast<std::size_t>(model.features);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    // Not a number until a tile has run: the order must be right.
    std::array<float, Q> none;
    none.fill(NAN);
    std::vector<std::array<float, Q>> below(tape.tiles.size(), none);
    for (std::size_t number = 0; number < tape.tiles.size(); ++number) {
      const InteractionTile& tile = tape.tiles[number];
      ArrayMemory<Q, Mask> memory(set, tape, rows.row(r), tile, tape.words, below,
                                  tape.sizes.slots);
      float k[Q];
      memory.Evaluate(k);
      std::copy_n(k, Q, below[number].begin());
      double* matrix = out.data() + r * InteractionsPerRow(model) + tile.group * (f + 1) * (f + 1);
      for (std::uint32_t i = 0; i < tile.interactions; ++i) {
        const InteractionSum& of = set.sums.at(Listed(memory.words + (tile.features + 3) / 4, i));
        EXPECT_EQ(of.group, tile.group);
        const std::uint32_t a = of.high;
        const std::uint32_t b = of.low;
        const double sum = static_cast<double>(memory.sums[i]);
        if (a == b) {
          phi[r * ValuesPerRow(model) + tile.group * (f + 1) + a] += sum;
        } else {
          matrix[a * (f + 1) + b] += sum / 2;
          matrix[b * (f + 1) + a] += sum / 2;
        }
      }
    }
  }
}

std::vector<double> Interactions(const TreeEnsemble& model, const RowBlock& rows,
                                 const InteractionOptions& options) {
  const InteractionTapeSet set = CompileInteractions(Annotate(model), options);
  std::vector<double> out(rows.rows * InteractionsPerRow(model), 0.0);
  const auto side = static_cast<std::size_t>(model.features) + 1;
  std::vector<double> phi(rows.rows * ValuesPerRow(model));
  WriteExpected({phi, side, ExpectedMargins(model)});
  for (const InteractionTape& tape : set.tapes) {
    if (tape.wide)
      RunTape<8, std::uint64_t>(set, tape, model, rows, phi, out);
    else if (tape.points == 4)
      RunTape<4, std::uint32_t>(set, tape, model, rows, phi, out);
    else if (tape.points == 6)
      RunTape<6, std::uint32_t>(set, tape, model, rows, phi, out);
    else
      RunTape<8, std::uint32_t>(set, tape, model, rows, phi, out);
  }
  FillInteractionDiagonal(side - 1, phi, out);
  return out;
}

TEST(InteractionTape, MatchesAllSubsets) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
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
    double most = 0;
    for (const double w : want) most = std::max(most, std::abs(w));
    for (const InteractionOptions& options :
         {InteractionOptions{0, 1 << 20, 2000}, InteractionOptions{0, 5, 20},
          InteractionOptions{6, 24, 160}, InteractionOptions{20, 3, 1}}) {
      const auto got = Interactions(model, rows, options);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 2e-6 * most) << "seed " << seed << " entry " << i;
      }
    }
  }
}

// Forty features on a path: masks of 64 bits, tiles in several levels.
TEST(InteractionTape, MatchesTheProcessorOnAChain) {
  const TreeEnsemble model = ChainEnsemble(40, 40, 0.8, 3);
  const auto values = RandomRows(model, 2, 0.1, 5);
  const RowBlock rows{values, 2, static_cast<std::size_t>(model.features)};
  const auto cpu = Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu,
                                                            {{"precision", std::string("double")}});
  cpu->prepare(model);
  const auto want = cpu->interactions(rows);
  const auto got = Interactions(model, rows, {});
  double most = 0;
  for (const double w : want) most = std::max(most, std::abs(w));
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-6 * most) << i;
}

TEST(InteractionTape, RefusesTooManyFeatures) {
  const TreeEnsemble chain = ChainEnsemble(65, 65, 0.9, 1);
  EXPECT_THROW(CompileInteractions(Annotate(chain), {}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap

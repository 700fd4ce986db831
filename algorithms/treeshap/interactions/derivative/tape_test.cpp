// The derivative tape and its interpreter, the body of the CUDA kernels, run on the CPU with arrays
// as memory.

#include "algorithms/treeshap/interactions/derivative/tape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "algorithms/treeshap/interactions/derivative/interpreter.hpp"
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

template <int Q>
using Vector = std::array<float, Q>;

template <int Q>
struct ArrayMemory {
  const DerivativeTapeSet& set;
  std::span<const float> x;
  const DerivativeTile& tile;
  const Float4* words;
  std::vector<Vector<Q>>& left;  // what all tiles leave
  std::vector<float> sums;       // the first belongs to no interaction
  std::vector<Vector<Q>> vectors;
  std::vector<Vector<Q>> stack;

  ArrayMemory(const DerivativeTapeSet& tapes, const DerivativeTape& tape,
              std::span<const float> row, const DerivativeTile& one, std::vector<Vector<Q>>& all)
      : set(tapes),
        x(row),
        tile(one),
        words(tape.words.data() + one.first_word),
        left(all),
        sums(one.interactions + 1 + one.values, 0.0f),
        vectors((tape.sizes.columns - one.interactions - 1) / Q),
        stack(tape.sizes.slots) {
    Vector<Q> none;
    none.fill(NAN);
    std::fill(vectors.begin(), vectors.end(), none);
  }

  float X(std::uint32_t bits) const {
    return ClampInfinity(x[(bits & tape::kFeatureMask) / derivatives::kColumn]);
  }
  bool InSet(std::uint32_t offset, float value) const {
    return treeshap::InSet([this](std::uint32_t i) { return set.sets.at(i); }, offset, value);
  }
  void Push(std::uint32_t slot, const float (&g)[Q]) { std::copy_n(g, Q, stack.at(slot).begin()); }
  void Peek(std::uint32_t slot, float (&g)[Q]) { std::copy_n(stack.at(slot).begin(), Q, g); }
  Vector<Q>& Of(std::uint32_t offset) { return vectors.at(offset / derivatives::kColumn / Q); }
  void Get(std::uint32_t offset, float (&d)[Q]) { std::copy_n(Of(offset).begin(), Q, d); }
  void Put(std::uint32_t offset, const float (&d)[Q]) { std::copy_n(d, Q, Of(offset).begin()); }
  float& Sum(std::uint32_t offset) { return sums.at((0u - offset) / derivatives::kColumn - 1); }
  void Value(std::uint32_t i, float phi) { sums.at(tile.interactions + 1 + i) = phi; }
  void Below(std::uint32_t vector, float (&d)[Q]) { std::copy_n(left.at(vector).begin(), Q, d); }
  void Leave(std::uint32_t i, const float (&d)[Q]) {
    std::copy_n(d, Q, left.at(tile.out + i).begin());
  }

  void Evaluate() {
    derivatives::Lane<Q> lane;
    if (!set.sets.empty() ||
        std::any_of(x.begin(), x.end(), [](float v) { return std::isnan(v); })) {
      derivatives::Evaluate<true>(words, tile, lane, *this);
    } else {
      derivatives::Evaluate<false>(words, tile, lane, *this);
    }
  }
};

template <int Q>
void RunTape(const DerivativeTapeSet& set, const DerivativeTape& tape, const TreeEnsemble& model,
             const RowBlock& rows, std::vector<double>& phi, std::vector<double>& out) {
  const auto f = static_cast<std::size_t>(model.features);
  // Not a number until a tile has run: the order must be right.
  Vector<Q> none;
  none.fill(NAN);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    std::vector<Vector<Q>> left(tape.vectors, none);
    for (const DerivativeTile& tile : tape.tiles) {
      ArrayMemory<Q> memory(set, tape, rows.row(r), tile, left);
      memory.Evaluate();
      double* matrix = out.data() + r * InteractionsPerRow(model) + tile.group * (f + 1) * (f + 1);
      for (std::uint32_t i = 0; i < tile.interactions + tile.values; ++i) {
        const InteractionSum& of = set.sums.at(Listed(memory.words, i));
        EXPECT_EQ(of.group, tile.group);
        const auto sum = static_cast<double>(memory.sums[i + 1]);
        if (of.high == of.low) {
          phi[r * ValuesPerRow(model) + tile.group * (f + 1) + of.high] += sum;
        } else {
          matrix[of.high * (f + 1) + of.low] += sum / 2;
          matrix[of.low * (f + 1) + of.high] += sum / 2;
        }
      }
    }
  }
}

std::vector<double> Interactions(const TreeEnsemble& model, const RowBlock& rows,
                                 const DerivativeOptions& options) {
  const DerivativeTapeSet set = CompileDerivatives(Annotate(model), options);
  std::vector<double> out(rows.rows * InteractionsPerRow(model), 0.0);
  const auto side = static_cast<std::size_t>(model.features) + 1;
  std::vector<double> phi(rows.rows * ValuesPerRow(model));
  WriteExpected({phi, side, ExpectedMargins(model)});
  for (const DerivativeTape& tape : set.tapes) {
    if (tape.points == 4)
      RunTape<4>(set, tape, model, rows, phi, out);
    else if (tape.points == 6)
      RunTape<6>(set, tape, model, rows, phi, out);
    else
      RunTape<8>(set, tape, model, rows, phi, out);
  }
  FillInteractionDiagonal(side - 1, phi, out);
  return out;
}

TEST(DerivativeTape, MatchesAllSubsets) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
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
    for (const DerivativeOptions& options :
         {DerivativeOptions{1 << 20, 5000}, DerivativeOptions{5, 60}, DerivativeOptions{24, 100},
          DerivativeOptions{3, 1}}) {
      const auto got = Interactions(model, rows, options);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 2e-6 * most) << "seed " << seed << " entry " << i;
      }
    }
  }
}

// Forty splits below each other: tiles as high as a stack is deep.
TEST(DerivativeTape, MatchesTheProcessorOnAChain) {
  const TreeEnsemble model = ChainEnsemble(40, 10, 0.8, 3);
  const auto values = RandomRows(model, 6, 0.1, 5);
  const RowBlock rows{values, 6, static_cast<std::size_t>(model.features)};
  const auto cpu = Registry<TreeExplainer>::Instance().Make("Quadrature", Device::kCpu,
                                                            {{"precision", std::string("double")}});
  cpu->prepare(model);
  const auto want = cpu->interactions(rows);
  const auto got = Interactions(model, rows, {1 << 20, 5000});
  double most = 0;
  for (const double w : want) most = std::max(most, std::abs(w));
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-6 * most) << i;
}

TEST(DerivativeTape, RefusesManyFeatures) {
  const TreeEnsemble chain = ChainEnsemble(17, 17, 0.9, 1);
  EXPECT_THROW(CompileDerivatives(Annotate(chain), {}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap

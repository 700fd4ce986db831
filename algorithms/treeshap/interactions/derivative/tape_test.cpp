// The derivative tape and its interpreter, the body of the CUDA kernels, run on the CPU with arrays
// as memory.

#include "algorithms/treeshap/interactions/derivative/tape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "algorithms/treeshap/interactions/common/tape_testing.hpp"
#include "algorithms/treeshap/interactions/derivative/interpreter.hpp"
#include "algorithms/treeshap/model/category_sets.hpp"
#include "algorithms/treeshap/testing/random_trees.hpp"

namespace retable::treeshap {
namespace {

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
void RunTape(const DerivativeTapeSet& set, const DerivativeTape& tape, const RowBlock& rows,
             const auto& add) {
  // Not a number until a tile has run: the order must be right.
  Vector<Q> none;
  none.fill(NAN);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    std::vector<Vector<Q>> left(tape.vectors, none);
    for (const DerivativeTile& tile : tape.tiles) {
      ArrayMemory<Q> memory(set, tape, rows.row(r), tile, left);
      memory.Evaluate();
      for (std::uint32_t i = 0; i < tile.interactions + tile.values; ++i) {
        add(r, tile, ListedIn(memory.words, i), memory.sums[i + 1]);
      }
    }
  }
}

std::vector<double> Interactions(const TreeEnsemble& model, const RowBlock& rows,
                                 const DerivativeOptions& options) {
  const DerivativeTapeSet set = CompileDerivatives(Annotate(model), options);
  return MatricesOf(set, model, rows, [&](const DerivativeTape& tape, const auto& add) {
    if (tape.points == 4)
      RunTape<4>(set, tape, rows, add);
    else if (tape.points == 6)
      RunTape<6>(set, tape, rows, add);
    else
      RunTape<8>(set, tape, rows, add);
  });
}

TEST(DerivativeTape, MatchesAllSubsets) {
  ExpectAllSubsets<DerivativeOptions>(24, {{1 << 20, 5000}, {5, 60}, {24, 100}, {3, 1}},
                                      Interactions);
}

// Forty splits below each other: tiles as high as a stack is deep.
TEST(DerivativeTape, MatchesTheProcessorOnAChain) {
  const TreeEnsemble model = ChainEnsemble(40, 10, 0.8, 3);
  ExpectProcessors(model, 6, [&](const RowBlock& rows) {
    return Interactions(model, rows, {1 << 20, 5000});
  });
}

TEST(DerivativeTape, RefusesManyFeatures) {
  const TreeEnsemble chain = ChainEnsemble(17, 17, 0.9, 1);
  EXPECT_THROW(CompileDerivatives(Annotate(chain), {}), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap

// The pair tape and its interpreter, the body of the CUDA kernels, run on the CPU with arrays as
// memory.

#include "algorithms/treeshap/pair_tape.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/treeshap/brute_force.hpp"
#include "algorithms/treeshap/pair_interpreter.hpp"
#include "algorithms/treeshap/random_trees.hpp"
#include "algorithms/treeshap/tree_explainer.hpp"

namespace retable::treeshap {
namespace {

template <int Q>
struct ArrayMemory {
  struct Slot {
    float g[Q], k[Q];
    std::uint64_t mask;
  };

  const PairTapeSet& set;
  const PairTape& tape;
  std::vector<float> x;  // by feature, or by place in a unit's list
  std::vector<double> sums;
  std::vector<Slot> stack;

  ArrayMemory(const PairTapeSet& tapes, const PairTape& own, std::vector<float> values,
              std::size_t pairs, int slots)
      : set(tapes), tape(own), x(std::move(values)), sums(pairs, 0.0) {
    stack.resize(static_cast<std::size_t>(slots));
  }

  float X(std::uint32_t bits) const { return ClampInfinity(x.at(bits & tape::kFeatureMask)); }
  bool InSet(std::uint32_t offset, float value) const {
    const std::uint32_t head = set.sets.at(offset);
    if (!(value >= 0) || value >= static_cast<float>((head & 0x7fffffffu) * 32)) {
      return (head >> 31) != 0;
    }
    const auto category = static_cast<std::uint32_t>(value);
    return ((set.sets.at(offset + 1 + category / 32) >> (category % 32)) & 1u) != 0;
  }
  Slot& At(int slot) { return stack.at(static_cast<std::size_t>(slot)); }
  void PushG(int slot, const float (&g)[Q], std::uint64_t mask) {
    std::copy_n(g, Q, At(slot).g);
    At(slot).mask = mask;
  }
  void PeekG(int slot, float (&g)[Q], std::uint64_t& mask) {
    std::copy_n(At(slot).g, Q, g);
    mask = At(slot).mask;
  }
  void PushK(int slot, const float (&k)[Q]) { std::copy_n(k, Q, At(slot).k); }
  void PeekK(int slot, float (&k)[Q]) { std::copy_n(At(slot).k, Q, k); }
  void AddPair(std::uint32_t pair, float value) { sums.at(pair) += static_cast<double>(value); }
  void EndTree() {}

  // Runs the unit for the row itself: that rows of a class agree is quadrature_tape_test's.
  const Float4* Shared(const Float4* at, const Float4& head, float (&k)[Q]) {
    const Unit& unit = tape.units.at(tape::Bits(head.y));
    std::vector<float> values;
    for (std::uint32_t i = 0; i < unit.features; ++i) {
      values.push_back(x.at(tape.unit_features.at(unit.first_feature + i)));
    }
    const std::uint32_t count = UnitPairs(unit.own, unit.features);
    EXPECT_EQ(count, tape::Bits(head.z));
    ArrayMemory own(set, tape, values, count, tape.unit_slots);
    pairs::Lane<Q> lane;
    pairs::Run<Q>(
        pairs::StartUnit<Q>(tape.unit_words.data() + unit.first_word, unit.path_factors, lane, own),
        lane, own);
    std::copy_n(lane.k, Q, k);
    for (std::uint32_t i = 0; i < count; ++i) {
      const Float4 ids = at[i / 4];
      const float id[4] = {ids.x, ids.y, ids.z, ids.w};
      sums.at(tape::Bits(id[i % 4])) += own.sums[i];
    }
    return at + (count + 3) / 4;
  }
};

template <int Q>
void RunTape(const PairTapeSet& set, const PairTape& tape, const TreeEnsemble& model,
             const RowBlock& rows, std::vector<double>& phi, std::vector<double>& out) {
  const auto f = static_cast<std::size_t>(model.features);
  for (const PairSegment& segment : tape.segments) {
    for (std::size_t r = 0; r < rows.rows; ++r) {
      ArrayMemory<Q> memory(set, tape, {rows.row(r).begin(), rows.row(r).end()}, f * (f + 1) / 2,
                            tape.slots);
      pairs::Lane<Q> lane;
      pairs::Run<Q>(tape.words.data() + segment.first_word, lane, memory);
      double* matrix =
          out.data() + r * InteractionsPerRow(model) + segment.group * (f + 1) * (f + 1);
      for (std::size_t a = 0; a < f; ++a) {
        phi[r * ValuesPerRow(model) + segment.group * (f + 1) + a] +=
            memory.sums[a * (a + 1) / 2 + a];
        for (std::size_t b = 0; b < a; ++b) {
          const double half = memory.sums[a * (a + 1) / 2 + b] / 2;
          matrix[a * (f + 1) + b] += half;
          matrix[b * (f + 1) + a] += half;
        }
      }
    }
  }
}

std::vector<double> Interactions(const TreeEnsemble& model, const RowBlock& rows,
                                 std::int32_t unit_leaves) {
  const PairTapeSet set = CompilePairs(Annotate(model), unit_leaves);
  std::vector<double> out(rows.rows * InteractionsPerRow(model), 0.0);
  std::vector<double> phi(rows.rows * ValuesPerRow(model), 0.0);
  for (const PairTape& tape : set.tapes) {
    if (tape.points == 4)
      RunTape<4>(set, tape, model, rows, phi, out);
    else if (tape.points == 6)
      RunTape<6>(set, tape, model, rows, phi, out);
    else
      RunTape<8>(set, tape, model, rows, phi, out);
  }
  const auto side = static_cast<std::size_t>(model.features) + 1;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    for (std::size_t g = 0; g < static_cast<std::size_t>(model.groups); ++g) {
      phi[r * ValuesPerRow(model) + (g + 1) * side - 1] = ExpectedMargins(model)[g];
    }
  }
  FillInteractionDiagonal(side - 1, phi, out);
  return out;
}

TEST(PairTape, MatchesAllSubsets) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    RandomEnsembleOptions shape;
    shape.features = 2 + static_cast<int>(seed % 8);
    shape.depth = 1 + static_cast<int>(seed % 7);
    shape.groups = 1 + static_cast<int>(seed % 2);
    shape.zero_cover_probability = seed % 5 == 0 ? 0.2 : 0;
    shape.categorical_probability = seed % 4 == 1 ? 0.3 : 0;
    const TreeEnsemble model = RandomEnsemble(shape, seed);
    const auto values = RandomRows(model, 3, 0.2, seed);
    const RowBlock rows{values, 3, static_cast<std::size_t>(model.features)};
    const auto want = BruteForceInteractions(model, rows);
    double most = 0;
    for (const double w : want) most = std::max(most, std::abs(w));
    for (const std::int32_t leaves : {0, 6, 1 << 20}) {
      const auto got = Interactions(model, rows, leaves);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 2e-6 * most) << "seed " << seed << " entry " << i;
      }
    }
  }
}

TEST(PairTape, RefusesTooManyFeatures) {
  const TreeEnsemble chain = ChainEnsemble(65, 65, 0.9, 1);
  EXPECT_THROW(CompilePairs(Annotate(chain), 0), std::invalid_argument);
}

}  // namespace
}  // namespace retable::treeshap
